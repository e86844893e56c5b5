//! The planner alone, by its own example.

use std::path::Path;
use std::process::Command;

use super::super::report::{Bar, Report};

pub fn measure(root: &Path, report: &mut Report) -> Result<(), String> {
    let program = super::programs(root).join("examples/decisions");
    let output = Command::new(&program).output();
    let output =
        output.map_err(|error| format!("cannot run {}: {error}; `make bench` builds it", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let found: serde_json::Value =
        serde_json::from_str(text.trim()).map_err(|error| format!("the planner's example printed no JSON: {error}"))?;
    let figure = |name: &str| found[name].as_f64().ok_or(format!("the planner's example does not print {name}"));
    report.value("planner_decisions_per_second", figure("decisions_per_second")?, Bar::AtLeast(2000.0));
    report.value("planner_p999_ms", figure("p999_us")? / 1000.0, Bar::Below(20.0));
    // What a request that found no room costs: could it run, and which nodes are kept for it.
    report.note("planner_searches_per_second", figure("searches_per_second")?);
    report.value("planner_search_p999_ms", figure("search_p999_us")? / 1000.0, Bar::Below(20.0));
    report.note("planner_nodes", figure("nodes")?);
    report.note("planner_slots", figure("slots")?);
    Ok(())
}
