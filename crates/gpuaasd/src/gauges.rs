//! Measures what needs a person, as each resource registered it. Alert rules
//! watch these numbers.

use std::time::Duration;

use kernel::{Access, Db, Tx};
use platform::registry::Gauge;
use tokio_util::sync::CancellationToken;

/// Measures until stopped. Any number of replicas may do so.
pub async fn run(db: Db, gauges: Vec<Gauge>, every: Duration, stop: CancellationToken) {
    while !stop.is_cancelled() {
        match measure(&db, &gauges).await {
            Ok(measured) => measured.into_iter().for_each(|(name, value)| metrics::gauge!(name).set(value as f64)),
            Err(error) => tracing::warn!(%error, "counting the items that need attention failed; trying again later"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(every) => (),
        }
    }
}

/// Each gauge and its value now.
pub async fn measure(db: &Db, gauges: &[Gauge]) -> sqlx::Result<Vec<(&'static str, i64)>> {
    let mut tx = Tx::system(db, "gauges", Access::Read).await?;
    let mut measured = Vec::with_capacity(gauges.len());
    for gauge in gauges {
        measured.push((gauge.name, (gauge.measure)(&mut tx).await?));
    }
    tx.commit().await?;
    Ok(measured)
}
