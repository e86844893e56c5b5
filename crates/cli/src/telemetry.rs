//! What was measured, as people read it: a line per moment and GPU.

use clap::Args;
use contract::{
    Timestamp,
    telemetry::{GpuSeries, HostPoint, Resolution},
};
use serde_json::{Value, json};

use crate::{arguments, context::Context, failure::Done, table::Columns};

#[derive(Debug, Args)]
pub struct Range {
    /// Time interval per row
    #[arg(long, default_value = "minute", value_parser = arguments::word::<Resolution>())]
    pub resolution: Resolution,
    /// Start of the time range: a timestamp, or an age such as 30m, 6h or 7d
    #[arg(long, value_parser = arguments::past)]
    pub since: Option<Timestamp>,
    /// End of the time range: a timestamp, or an age
    #[arg(long, value_parser = arguments::past)]
    pub until: Option<Timestamp>,
}

const HOST: Columns = &["time", "samples", "cpu", "cpu_max", "memory", "memory_max"];
const GPU: Columns = &[
    "time",
    "gpu",
    "samples",
    "use",
    "use_max",
    "memory",
    "memory_max",
    "temperature",
    "temperature_max",
    "power",
    "power_max",
];

pub fn print_host(context: &Context, points: &[HostPoint]) -> Done {
    let line = |it: &HostPoint| {
        json!({
            "time": time(it.at),
            "samples": it.samples,
            "cpu": percent(it.cpu_percent_avg),
            "cpu_max": percent(it.cpu_percent_max),
            "memory": gibibytes(it.memory_used_bytes_avg),
            "memory_max": gibibytes(it.memory_used_bytes_max),
        })
    };
    if points.is_empty() {
        return Ok(());
    }
    context.output.list(points.iter().map(line).collect(), HOST)?;
    if context.output.quiet { Ok(()) } else { context.output.line("") }
}

pub fn print_gpus(context: &Context, all: &[GpuSeries], next_since: Option<Timestamp>) -> Done {
    context.output.list(all.iter().flat_map(lines).collect(), GPU)?;
    if let Some(since) = next_since {
        context.output.warn(format!("More results are available. Continue with --since {since}."));
    }
    Ok(())
}

fn lines(series: &GpuSeries) -> Vec<Value> {
    let line = |it: &contract::telemetry::GpuPoint| {
        json!({
            "time": time(it.at),
            "gpu": format!("{} {}", series.index, series.gpu_uuid),
            "samples": it.samples,
            "use": percent(it.utilization_percent_avg),
            "use_max": percent(it.utilization_percent_max),
            "memory": gibibytes(it.memory_used_bytes_avg),
            "memory_max": gibibytes(it.memory_used_bytes_max),
            "temperature": format!("{} °C", it.temperature_c_avg),
            "temperature_max": format!("{} °C", it.temperature_c_max),
            "power": watts(it.power_mw_avg),
            "power_max": watts(it.power_mw_max),
        })
    };
    series.points.iter().map(line).collect()
}

/// To the second: lines that all say "3m ago" could not be distinguished.
fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

fn percent(number: u32) -> String {
    format!("{number} %")
}

fn watts(milliwatts: u32) -> String {
    format!("{} W", (u64::from(milliwatts) + 500) / 1_000)
}

/// With one decimal, rounded.
pub fn gibibytes(bytes: u64) -> String {
    let tenths = (u128::from(bytes) * 10 + (1 << 29)) >> 30;
    format!("{}.{} GiB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_power_are_rounded_for_people() {
        assert_eq!([gibibytes(0), gibibytes(3 << 29), gibibytes(141 << 30)], ["0.0 GiB", "1.5 GiB", "141.0 GiB"]);
        assert_eq!([watts(0), watts(349_500)], ["0 W", "350 W"]);
    }
}
