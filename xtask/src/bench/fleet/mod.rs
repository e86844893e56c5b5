//! The fleet under load: from a request to a proven GPU, placement in a large
//! fleet, and many agents held by one process.

mod agents;
mod allocations;
mod large;
mod planner;

use std::path::{Path, PathBuf};

use super::report::Report;

pub async fn measure(root: &Path, report: &mut Report) -> Result<(), String> {
    planner::measure(root, report)?;
    allocations::measure(root, report).await?;
    large::measure(root, report).await?;
    agents::measure(root, report).await
}

/// Where the release build's programs are.
fn programs(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from).join("release")
}
