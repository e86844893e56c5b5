//! The planner alone, by its own example.

use std::process::Command;

use super::super::daemon::programs;
use super::super::figure::Unit;
use super::super::report::Report;

pub fn measure(report: &mut Report) -> Result<(), String> {
    let program = programs()?.join("examples/decisions");
    let output = Command::new(&program).output();
    let output =
        output.map_err(|error| format!("cannot run {}: {error}; `make bench` builds it", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let found: serde_json::Value =
        serde_json::from_str(text.trim()).map_err(|error| format!("the planner's example printed no JSON: {error}"))?;
    let figure = |name: &str| found[name].as_f64().ok_or(format!("the planner's example does not print {name}"));
    report.value("planner_decisions_per_second", Unit::PerSecond, figure("decisions_per_second")?);
    report.value("planner_p999_ms", Unit::Milliseconds, figure("p999_us")? / 1000.0);
    // What a request that found no room costs: could it run, and which nodes are kept for it.
    report.value("planner_searches_per_second", Unit::PerSecond, figure("searches_per_second")?);
    report.value("planner_search_p999_ms", Unit::Milliseconds, figure("search_p999_us")? / 1000.0);
    report.fact("planner_nodes", Unit::Count, figure("nodes")?);
    report.fact("planner_slots", Unit::Count, figure("slots")?);
    Ok(())
}
