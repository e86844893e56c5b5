//! `gpuaas usage`: how long GPUs ran and what it came to, cut any way.

use clap::{Args, Subcommand, ValueEnum};
use client::Request;
use contract::{
    Label, Nothing, Timestamp,
    ledger::Month,
    organizations::OrganizationPath,
    usage::{
        ExportAnyUsage, ExportPlace, ExportRange, ExportUsage, GetAnyUsage, GetUsage, UsageBy, UsageExport, UsageLine,
        UsageRange,
    },
};

use crate::{
    arguments,
    context::Context,
    failure::{Class, Done, Failure},
    focus,
    table::{Columns, columns},
};

const EXAMPLES: &str = "\
Examples:
  gpuaas usage
  gpuaas usage --by day --since 7d
  gpuaas usage --by tag --tag team
  gpuaas usage --by sku --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z -o json
  gpuaas usage export --month 2026-11 --format focus > focus.csv

For platform staff:
  gpuaas usage --for-organization acme --by project
  gpuaas usage export --month 2026-11 --for-organization acme

Usage counts the time that an allocation is active; provisioning, stopped and
sanitizing time is free. Days and months follow UTC.";

/// Show GPU usage and its cost
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Usage {
    #[command(subcommand)]
    other: Option<Other>,
    /// Dimension to group by
    #[arg(long, default_value = "project", value_parser = arguments::word::<UsageBy>())]
    by: UsageBy,
    /// Tag to group by; requires `--by tag`
    #[arg(long, value_parser = arguments::text::<Label>)]
    tag: Option<Label>,
    /// Start of the time range: a timestamp, or an age such as 7d [default: start of the month]
    #[arg(long, value_parser = arguments::past)]
    since: Option<Timestamp>,
    /// End of the time range: a timestamp, or an age [default: now]
    #[arg(long, value_parser = arguments::past)]
    until: Option<Timestamp>,
    /// Act on another organization, by ID or name (platform staff)
    #[arg(long, value_name = "ORGANIZATION")]
    for_organization: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Other {
    /// Export a month of usage, one row per interval
    Export {
        /// Month to export, such as 2026-11
        #[arg(long, value_parser = arguments::text::<Month>)]
        month: Month,
        /// Export format
        #[arg(long, default_value = "focus")]
        format: ExportFormat,
        /// Act on another organization, by ID or name (platform staff)
        #[arg(long, value_name = "ORGANIZATION")]
        for_organization: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// FOCUS 1.0 CSV
    Focus,
}

const COLUMNS: Columns = columns!(UsageLine: key, gpu_seconds, amount_micros, currency, intervals);

impl Usage {
    pub async fn run(self, context: &Context) -> Done {
        if let Some(Other::Export { month, format: ExportFormat::Focus, for_organization }) = self.other {
            return export(context, month, for_organization).await;
        }
        let query =
            UsageRange { by: Some(self.by), tag: self.tag, project_id: None, since: self.since, until: self.until };
        let answer = match self.for_organization {
            None => context.query::<GetUsage>(context.organization().await?, query).await?,
            Some(name) => context.query::<GetAnyUsage>(context.any_organization_named(&name).await?, query).await?,
        };
        if !context.output.is_for_people() {
            return context.output.document(&answer);
        }
        context.output.list(answer["lines"].as_array().cloned().unwrap_or_default(), COLUMNS)
    }
}

/// Part by part, so that a month of any size fits.
async fn export(context: &Context, month: Month, for_organization: Option<String>) -> Done {
    let path = match &for_organization {
        None => context.organization().await?,
        Some(name) => context.any_organization_named(name).await?,
    };
    context.output.bytes(focus::heading().as_bytes())?;
    let mut after: Option<ExportPlace> = None;
    loop {
        let range = ExportRange { month: month.clone(), after: after.clone() };
        let part = part(context, &path, range, for_organization.is_some()).await?;
        context.output.bytes(focus::lines(&part).as_bytes())?;
        if part.next_after.is_none() {
            return Ok(());
        }
        if part.next_after == after {
            return Err(Failure::new(Class::Server, "the server returned the same page twice", ""));
        }
        after = part.next_after;
    }
}

async fn part(
    context: &Context,
    path: &OrganizationPath,
    range: ExportRange,
    is_any: bool,
) -> Result<UsageExport, Failure> {
    if is_any {
        return context.send_request(&Request::<ExportAnyUsage>::new(path.clone(), range, Nothing {})).await;
    }
    context.send_request(&Request::<ExportUsage>::new(path.clone(), range, Nothing {})).await
}
