//! Measures what needs a person: failed nodes and machines, allocations that
//! could not be cleaned, and payments that differ from the provider's. Alert
//! rules watch these numbers.

use std::time::Duration;

use kernel::{Access, Db, Tx};
use tokio_util::sync::CancellationToken;

use crate::{allocations, machines, nodes, payments};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    pub nodes_failed: i64,
    pub machines_failed: i64,
    pub allocations_needing_attention: i64,
    pub payment_drift: i64,
}

/// Measures until stopped. Any number of replicas may do so.
pub async fn run(db: Db, every: Duration, stop: CancellationToken) {
    while !stop.is_cancelled() {
        match measure(&db).await {
            Ok(measured) => show(measured),
            Err(error) => tracing::warn!(%error, "measuring the fleet failed; trying again later"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(every) => (),
        }
    }
}

pub async fn measure(db: &Db) -> sqlx::Result<Measured> {
    let mut tx = Tx::system(db, "gauges", Access::Read).await?;
    let measured = Measured {
        nodes_failed: nodes::count_failed(&mut tx).await?,
        machines_failed: machines::count_failed(&mut tx).await?,
        allocations_needing_attention: allocations::count_needing_attention(&mut tx).await?,
        payment_drift: payments::count_drift(&mut tx).await?,
    };
    tx.commit().await?;
    Ok(measured)
}

fn show(measured: Measured) {
    metrics::gauge!("gpuaas_nodes_failed").set(measured.nodes_failed as f64);
    metrics::gauge!("gpuaas_payment_drift").set(measured.payment_drift as f64);
    metrics::gauge!("gpuaas_machines_failed").set(measured.machines_failed as f64);
    metrics::gauge!("gpuaas_allocations_needing_attention").set(measured.allocations_needing_attention as f64);
}
