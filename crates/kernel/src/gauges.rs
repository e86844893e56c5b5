//! Measures what should be small: dead letters, stuck work, readers that lag
//! and audit entries without a seal. Alert rules watch these numbers.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::tx::{Access, Db, Tx};

#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Dead letters that are delivered again by themselves.
    pub dead_letters_waiting: i64,
    /// Dead letters that need a person.
    pub dead_letters_exhausted: i64,
    /// Rows of the work queue that need a person.
    pub work_stuck: i64,
    /// How long the row that waits longest has been due.
    pub work_overdue_s: f64,
    /// The age of the oldest audit entry without a seal.
    pub unsealed_s: f64,
    /// By reader, the age of the oldest event that it has not read.
    pub readers: Vec<(String, f64)>,
}

/// Measures until stopped. Any number of replicas may do so.
pub async fn run(db: Db, every: Duration, stop: CancellationToken) {
    while !stop.is_cancelled() {
        match measure(&db).await {
            Ok(measured) => show(&measured),
            Err(error) => tracing::warn!(%error, "measuring failed; trying again later"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(every) => (),
        }
    }
}

pub async fn measure(db: &Db) -> sqlx::Result<Measured> {
    let mut tx = Tx::system(db, "gauges", Access::Read).await?;
    let (dead_letters_waiting, dead_letters_exhausted) = sqlx::query_as(
        "SELECT count(*) FILTER (WHERE state = 'waiting'), count(*) FILTER (WHERE state = 'exhausted')
         FROM dead_letters WHERE state IN ('waiting', 'exhausted')",
    )
    .fetch_one(tx.conn())
    .await?;
    let (work_stuck, work_overdue_s) = sqlx::query_as(
        "SELECT count(*) FILTER (WHERE needs_attention),
                greatest(0, extract(epoch FROM app_now() - min(due_at) FILTER (WHERE NOT needs_attention)))::float8
         FROM work WHERE needs_attention OR due_at <= app_now()",
    )
    .fetch_one(tx.conn())
    .await?;
    let unsealed_s = sqlx::query_scalar(
        "SELECT coalesce(extract(epoch FROM app_now() - (
           SELECT at FROM audit WHERE (epoch, xid) > (
             coalesce((SELECT last_epoch FROM seals ORDER BY number DESC LIMIT 1), 0),
             coalesce((SELECT last_xid FROM seals ORDER BY number DESC LIMIT 1), '0'))
           ORDER BY epoch, xid LIMIT 1)), 0)::float8",
    )
    .fetch_one(tx.conn())
    .await?;
    let readers = sqlx::query_as(
        "SELECT name, coalesce(extract(epoch FROM app_now() - (
           SELECT at FROM outbox
           WHERE (outbox.epoch, outbox.xid, outbox.place) > (consumers.epoch, consumers.xid, consumers.place)
           ORDER BY outbox.epoch, outbox.xid, outbox.place LIMIT 1)), 0)::float8
         FROM consumers",
    )
    .fetch_all(tx.conn())
    .await?;
    tx.commit().await?;
    Ok(Measured { dead_letters_waiting, dead_letters_exhausted, work_stuck, work_overdue_s, unsealed_s, readers })
}

fn show(measured: &Measured) {
    metrics::gauge!("gpuaas_dead_letters", "state" => "waiting").set(measured.dead_letters_waiting as f64);
    metrics::gauge!("gpuaas_dead_letters", "state" => "exhausted").set(measured.dead_letters_exhausted as f64);
    metrics::gauge!("gpuaas_work_stuck").set(measured.work_stuck as f64);
    metrics::gauge!("gpuaas_work_overdue_seconds").set(measured.work_overdue_s);
    metrics::gauge!("gpuaas_audit_unsealed_seconds").set(measured.unsealed_s);
    for (reader, lag_s) in &measured.readers {
        metrics::gauge!("gpuaas_events_lag_seconds", "reader" => reader.clone()).set(*lag_s);
    }
}
