//! `gpuaas usage`: how long GPUs ran and what it came to, cut any way.

use clap::Args;
use contract::{
    Label, Timestamp,
    usage::{GetAnyUsage, GetUsage, UsageBy, UsageLine, UsageRange},
};

use crate::{
    arguments,
    context::Context,
    failure::Done,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas usage
  gpuaas usage --by day --since 7d
  gpuaas usage --by tag --tag team
  gpuaas usage --by sku --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z -o json

For platform staff:
  gpuaas usage --of acme --by project

Usage is the time in which an allocation is active: preparing, stopped and
cleaning time costs nothing. Days and months are those of UTC.";

/// Usage: how long GPUs ran, and what that came to
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Usage {
    /// How to cut it
    #[arg(long, default_value = "project", value_parser = arguments::word::<UsageBy>())]
    by: UsageBy,
    /// By the values of which tag, with `--by tag`
    #[arg(long, value_parser = arguments::text::<Label>)]
    tag: Option<Label>,
    /// From when on: a time, or how long ago like 7d; the beginning of this month when absent
    #[arg(long, value_parser = arguments::past)]
    since: Option<Timestamp>,
    /// Until when: a time, or how long ago; now when absent
    #[arg(long, value_parser = arguments::past)]
    until: Option<Timestamp>,
    /// Another organization, by id or name (platform staff)
    #[arg(long, value_name = "ORGANIZATION")]
    of: Option<String>,
}

const COLUMNS: Columns = columns!(UsageLine: key, gpu_seconds, amount_micros, currency, intervals);

impl Usage {
    pub async fn run(self, context: &Context) -> Done {
        let query =
            UsageRange { by: Some(self.by), tag: self.tag, project_id: None, since: self.since, until: self.until };
        let answer = match self.of {
            None => context.query::<GetUsage>(context.organization().await?, query).await?,
            Some(of) => context.query::<GetAnyUsage>(context.any_organization_named(&of).await?, query).await?,
        };
        if !context.output.is_for_people() {
            return context.output.document(&answer);
        }
        context.output.list(answer["lines"].as_array().cloned().unwrap_or_default(), COLUMNS)
    }
}
