//! `gpuaas utilization`: how long GPUs were sold and how long they were there.

use clap::Args;
use contract::{
    Nothing, Timestamp,
    revenue::{DayRange, GetUtilization, UtilizationLine},
};

use crate::{
    arguments,
    context::Context,
    failure::Done,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas utilization
  gpuaas utilization --since 7d
  gpuaas utilization -o json

A GPU counts as available from its node's enrollment until its retirement,
whatever its state. Days follow UTC.";

/// Show GPU-hours sold and available by day (platform staff)
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Utilization {
    /// Start of the time range: a timestamp, or an age such as 7d [default: 30d]
    #[arg(long, value_parser = arguments::past)]
    since: Option<Timestamp>,
    /// End of the time range: a timestamp, or an age [default: now]
    #[arg(long, value_parser = arguments::past)]
    until: Option<Timestamp>,
}

const COLUMNS: Columns = columns!(UtilizationLine: day, sold_gpu_seconds, there_gpu_seconds);

impl Utilization {
    pub async fn run(self, context: &Context) -> Done {
        let query = DayRange { since: self.since, until: self.until };
        let answer = context.query::<GetUtilization>(Nothing {}, query).await?;
        if !context.output.is_for_people() {
            return context.output.document(&answer);
        }
        context.output.list(answer["lines"].as_array().cloned().unwrap_or_default(), COLUMNS)
    }
}
