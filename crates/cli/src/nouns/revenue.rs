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

A day is that of UTC on which usage was posted. What was taken back counts
against the day on which it was.";

/// Revenue: what was earned from usage, by day and SKU (platform staff)
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Revenue {
    /// From when on: a time, or how long ago like 7d; 30 days ago when absent
    #[arg(long, value_parser = arguments::past)]
    since: Option<Timestamp>,
    /// Until when: a time, or how long ago; now when absent
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
