//! `gpuaas usage`: what was metered and what it came to, divided any way.

use clap::{Args, Subcommand, ValueEnum};
use client::Request;
use contract::{
    Label, Nothing, Timestamp, Word,
    ledger::Month,
    organizations::OrganizationPath,
    prices::PriceUnit,
    usage::{
        ExportAnyUsage, ExportPlace, ExportRange, ExportUsage, GetAnyUsage, GetUsage, UsageBy, UsageExport, UsageLine,
        UsageRange,
    },
};
use serde_json::Value;

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
  gpuaas usage --by meter
  gpuaas usage --by sku --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z -o json
  gpuaas usage export --month 2026-11 --format focus > focus.csv

For platform staff:
  gpuaas usage --for-organization acme --by project
  gpuaas usage export --month 2026-11 --for-organization acme

Usage counts the time that an allocation is active; provisioning, stopped and
sanitizing time is free. Days and months follow UTC.";

/// Show usage and its cost
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
const METERS: Columns = columns!(UsageLine: key, quantity, unit, amount_micros, currency, intervals);

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
        let mut lines = answer["lines"].as_array().cloned().unwrap_or_default();
        if self.by != UsageBy::Meter {
            return context.output.list(lines, COLUMNS);
        }
        lines.iter_mut().for_each(in_units);
        context.output.list(lines, METERS)
    }
}

/// Hours, as prices are, where the answer has seconds.
fn in_units(line: &mut Value) {
    let unit = line["unit"].as_str().and_then(PriceUnit::parse);
    if let (Some(true), Some(seconds)) = (unit.map(PriceUnit::is_rate), line["quantity"].as_i64()) {
        line["quantity"] = format!("{}.{:02}", seconds / 3600, seconds % 3600 * 100 / 3600).into();
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_over_time_are_hours_and_others_stay() {
        let shown = |unit: &str, quantity: i64| {
            let mut line = json!({ "unit": unit, "quantity": quantity });
            in_units(&mut line);
            line["quantity"].clone()
        };
        assert_eq!(shown("gpu_hour", 5400), json!("1.50"));
        assert_eq!(shown("gib_hour", 36), json!("0.01"));
        assert_eq!(shown("token", 5400), json!(5400));
    }
}
