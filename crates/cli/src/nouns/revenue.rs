//! `gpuaas revenue`: what was earned from usage, by day and SKU.

use clap::Args;
use contract::{
    Nothing, Timestamp,
    revenue::{DayRange, GetRevenue, RevenueLine},
};

use crate::{
    arguments,
    context::Context,
    failure::Done,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas revenue
  gpuaas revenue --since 7d
  gpuaas revenue --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z -o json

Days follow UTC and count usage when it was posted. A reversal counts on the day
it was made.";

/// Show revenue by day and SKU (platform staff)
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Revenue {
    /// Start of the time range: a timestamp, or an age such as 7d [default: 30d]
    #[arg(long, value_parser = arguments::past)]
    since: Option<Timestamp>,
    /// End of the time range: a timestamp, or an age [default: now]
    #[arg(long, value_parser = arguments::past)]
    until: Option<Timestamp>,
}

const COLUMNS: Columns = columns!(RevenueLine: day, sku, amount_micros, currency);

impl Revenue {
    pub async fn run(self, context: &Context) -> Done {
        let query = DayRange { since: self.since, until: self.until };
        let answer = context.query::<GetRevenue>(Nothing {}, query).await?;
        if !context.output.is_for_people() {
            return context.output.document(&answer);
        }
        context.output.list(answer["lines"].as_array().cloned().unwrap_or_default(), COLUMNS)
    }
}
