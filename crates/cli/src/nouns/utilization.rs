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

A GPU is there from when its node enrolled until it retires, whatever its state.
Days are those of UTC.";

/// Utilization: GPU-hours sold beside GPU-hours there, by day (platform staff)
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Utilization {
    /// From when on: a time, or how long ago like 7d; 30 days ago when absent
    #[arg(long, value_parser = arguments::past)]
    since: Option<Timestamp>,
    /// Until when: a time, or how long ago; now when absent
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
