//! Placement through the API with ten thousand nodes in the database. They
//! are rows without hosts, so an allocation goes as far as `provisioning`.

use std::time::Duration;

use super::super::daemon::Daemon;
use super::super::figure::Unit;
use super::super::pgbench::Database;
use super::super::report::Report;
use super::super::sample::Sample;
use super::allocations::{Asking, at_rate};

const SKU: &str = "large-slice";

pub async fn measure(report: &mut Report) -> Result<(), String> {
    let mut daemon = Daemon::start(0).await?;
    daemon.raise_limits().await?;
    let database = Database::of(&daemon)?;
    database.execute(include_str!("large.sql"))?;
    let asking = Asking { sku: SKU, ..Asking::of(&daemon)? };
    // The first decision reads the whole fleet; what comes later reads changes.
    at_rate(&asking, 1, Duration::from_secs(2), &["provisioning"]).await?;
    let latencies = at_rate(&asking, 50, Duration::from_secs(10), &["provisioning"]).await?;
    let sample = Sample::new(latencies.len(), 10.0, latencies);
    report.value("large_fleet_request_to_placed_p50_ms", Unit::Milliseconds, sample.p50_ms);
    report.value("large_fleet_request_to_placed_p99_ms", Unit::Milliseconds, sample.p99_ms);
    daemon.stop().await
}
