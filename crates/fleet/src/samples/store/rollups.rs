//! Rolling rows up and deleting old ones. Callers hold the lock that keeps
//! writers out, where a comment does not say otherwise.

use std::time::Duration;

use contract::Timestamp;
use kernel::{Tx, clock};
use uuid::Uuid;

use super::Span;

// bound: late minutes that one look rolls up
pub const LATE_AT_ONCE: usize = 60;

/// Waits for writers that are under way, and makes new ones wait.
pub async fn lock_out_writers(tx: &mut Tx) -> sqlx::Result<()> {
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('telemetry', 0))").execute(tx.conn()).await?;
    Ok(())
}

/// Up to when a resolution is complete.
pub async fn until(tx: &mut Tx, span: Span) -> sqlx::Result<Option<Timestamp>> {
    let until: Option<jiff_sqlx::Timestamp> =
        sqlx::query_scalar("SELECT until FROM telemetry_progress WHERE span_s = $1")
            .bind(span.seconds())
            .fetch_optional(tx.conn())
            .await?;
    Ok(until.map(|it| it.to_jiff()))
}

pub async fn done_until(tx: &mut Tx, span: Span, until: Timestamp) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO telemetry_progress (span_s, until) VALUES ($1, $2)
         ON CONFLICT (span_s) DO UPDATE SET until = greatest(telemetry_progress.until, excluded.until)",
    )
    .bind(span.seconds())
    .bind(clock::bind(until))
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// The first minute that has samples, is not rolled up and is over for so long.
pub async fn next_minute(tx: &mut Tx, settled: Duration) -> sqlx::Result<Option<Timestamp>> {
    let minute: Option<jiff_sqlx::Timestamp> = sqlx::query_scalar(
        "SELECT date_trunc('minute', min(at)) FROM node_samples
         WHERE at >= coalesce((SELECT until FROM telemetry_progress WHERE span_s = 60), '-infinity')
           AND at < date_trunc('minute', app_now() - make_interval(secs => $1))",
    )
    .bind(settled.as_secs_f64())
    .fetch_one(tx.conn())
    .await?;
    Ok(minute.map(|it| it.to_jiff()))
}

/// Notes that nothing is left to roll up of what is over for so long.
pub async fn minutes_done(tx: &mut Tx, settled: Duration) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO telemetry_progress (span_s, until) VALUES (60, date_trunc('minute', app_now() - make_interval(secs => $1)))
         ON CONFLICT (span_s) DO UPDATE SET until = greatest(telemetry_progress.until, excluded.until)",
    )
    .bind(settled.as_secs_f64())
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// The first hour that has minutes, all of them complete, and is not rolled up.
pub async fn next_hour(tx: &mut Tx) -> sqlx::Result<Option<Timestamp>> {
    let hour: Option<jiff_sqlx::Timestamp> = sqlx::query_scalar(
        "SELECT date_trunc('hour', min(at), 'UTC') FROM node_rollups WHERE span_s = 60
           AND at >= coalesce((SELECT until FROM telemetry_progress WHERE span_s = 3600), '-infinity')
           AND at < (SELECT date_trunc('hour', until, 'UTC') FROM telemetry_progress WHERE span_s = 60)",
    )
    .fetch_one(tx.conn())
    .await?;
    Ok(hour.map(|it| it.to_jiff()))
}

/// Computes one minute from its samples, or one hour from its minutes, anew: of
/// all nodes, or of some.
pub async fn roll(tx: &mut Tx, span: Span, at: Timestamp, nodes: Option<&[Uuid]>) -> sqlx::Result<()> {
    let (of_nodes, of_gpus) = match span {
        Span::Second => return Ok(()),
        Span::Minute => (NODE_MINUTE, GPU_MINUTE),
        Span::Hour => (NODE_HOUR, GPU_HOUR),
    };
    for statement in [of_nodes, of_gpus] {
        sqlx::query(statement).bind(clock::bind(at)).bind(nodes).execute(tx.conn()).await?;
    }
    Ok(())
}

// bound: minutes and hours have the length that they have
const NODE_MINUTE: &str = "
    INSERT INTO node_rollups (node_id, span_s, at, samples, cpu_percent_sum, cpu_percent_max, memory_used_bytes_sum, memory_used_bytes_max)
    SELECT node_id, 60, $1, count(*), sum(cpu_percent), max(cpu_percent), sum(memory_used_bytes), max(memory_used_bytes)
    FROM node_samples WHERE at >= $1 AND at < $1 + interval '1 minute' AND ($2::uuid[] IS NULL OR node_id = ANY($2))
    GROUP BY node_id
    ON CONFLICT (node_id, span_s, at) DO UPDATE SET samples = excluded.samples,
      cpu_percent_sum = excluded.cpu_percent_sum, cpu_percent_max = excluded.cpu_percent_max,
      memory_used_bytes_sum = excluded.memory_used_bytes_sum, memory_used_bytes_max = excluded.memory_used_bytes_max";
// bound: minutes and hours have the length that they have
const NODE_HOUR: &str = "
    INSERT INTO node_rollups (node_id, span_s, at, samples, cpu_percent_sum, cpu_percent_max, memory_used_bytes_sum, memory_used_bytes_max)
    SELECT node_id, 3600, $1, sum(samples), sum(cpu_percent_sum), max(cpu_percent_max), sum(memory_used_bytes_sum), max(memory_used_bytes_max)
    FROM node_rollups WHERE span_s = 60 AND at >= $1 AND at < $1 + interval '1 hour' AND ($2::uuid[] IS NULL OR node_id = ANY($2))
    GROUP BY node_id
    ON CONFLICT (node_id, span_s, at) DO UPDATE SET samples = excluded.samples,
      cpu_percent_sum = excluded.cpu_percent_sum, cpu_percent_max = excluded.cpu_percent_max,
      memory_used_bytes_sum = excluded.memory_used_bytes_sum, memory_used_bytes_max = excluded.memory_used_bytes_max";
// bound: minutes and hours have the length that they have
const GPU_MINUTE: &str = "
    INSERT INTO gpu_rollups (slot_id, span_s, at, samples, utilization_percent_sum, utilization_percent_max,
      memory_used_bytes_sum, memory_used_bytes_max, temperature_c_sum, temperature_c_max, power_mw_sum, power_mw_max)
    SELECT slot_id, 60, $1, count(*), sum(utilization_percent), max(utilization_percent),
      sum(memory_used_bytes), max(memory_used_bytes), sum(temperature_c), max(temperature_c), sum(power_mw), max(power_mw)
    FROM gpu_samples WHERE at >= $1 AND at < $1 + interval '1 minute'
      AND ($2::uuid[] IS NULL OR slot_id IN (SELECT id FROM slots WHERE node_id = ANY($2)))
    GROUP BY slot_id
    ON CONFLICT (slot_id, span_s, at) DO UPDATE SET samples = excluded.samples,
      utilization_percent_sum = excluded.utilization_percent_sum, utilization_percent_max = excluded.utilization_percent_max,
      memory_used_bytes_sum = excluded.memory_used_bytes_sum, memory_used_bytes_max = excluded.memory_used_bytes_max,
      temperature_c_sum = excluded.temperature_c_sum, temperature_c_max = excluded.temperature_c_max,
      power_mw_sum = excluded.power_mw_sum, power_mw_max = excluded.power_mw_max";
// bound: minutes and hours have the length that they have
const GPU_HOUR: &str = "
    INSERT INTO gpu_rollups (slot_id, span_s, at, samples, utilization_percent_sum, utilization_percent_max,
      memory_used_bytes_sum, memory_used_bytes_max, temperature_c_sum, temperature_c_max, power_mw_sum, power_mw_max)
    SELECT slot_id, 3600, $1, sum(samples), sum(utilization_percent_sum), max(utilization_percent_max),
      sum(memory_used_bytes_sum), max(memory_used_bytes_max), sum(temperature_c_sum), max(temperature_c_max),
      sum(power_mw_sum), max(power_mw_max)
    FROM gpu_rollups WHERE span_s = 60 AND at >= $1 AND at < $1 + interval '1 hour'
      AND ($2::uuid[] IS NULL OR slot_id IN (SELECT id FROM slots WHERE node_id = ANY($2)))
    GROUP BY slot_id
    ON CONFLICT (slot_id, span_s, at) DO UPDATE SET samples = excluded.samples,
      utilization_percent_sum = excluded.utilization_percent_sum, utilization_percent_max = excluded.utilization_percent_max,
      memory_used_bytes_sum = excluded.memory_used_bytes_sum, memory_used_bytes_max = excluded.memory_used_bytes_max,
      temperature_c_sum = excluded.temperature_c_sum, temperature_c_max = excluded.temperature_c_max,
      power_mw_sum = excluded.power_mw_sum, power_mw_max = excluded.power_mw_max";

/// The oldest minutes that must be computed again, each with its nodes.
pub async fn late(tx: &mut Tx) -> sqlx::Result<Vec<(Timestamp, Vec<Uuid>)>> {
    let rows: Vec<(jiff_sqlx::Timestamp, Vec<Uuid>)> = sqlx::query_as(
        "SELECT at, array_agg(node_id) FROM telemetry_late
             WHERE at < (SELECT until FROM telemetry_progress WHERE span_s = 60) GROUP BY at ORDER BY at LIMIT $1",
    )
    .bind(LATE_AT_ONCE as i64)
    .fetch_all(tx.conn())
    .await?;
    Ok(rows.into_iter().map(|(at, nodes)| (at.to_jiff(), nodes)).collect())
}

pub async fn no_longer_late(tx: &mut Tx, minute: Timestamp, nodes: &[Uuid]) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM telemetry_late WHERE at = $1 AND node_id = ANY($2)")
        .bind(clock::bind(minute))
        .bind(nodes)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Says that samples older than this are no longer kept, as far as they are rolled up.
pub async fn forget_samples_before(tx: &mut Tx, kept: Duration) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO telemetry_progress (span_s, until)
         SELECT 1, least(date_trunc('minute', app_now() - make_interval(secs => $1)), until, (SELECT min(at) FROM telemetry_late))
         FROM telemetry_progress WHERE span_s = 60
         ON CONFLICT (span_s) DO UPDATE SET until = greatest(telemetry_progress.until, excluded.until)",
    )
    .bind(kept.as_secs_f64())
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Deletes a bite of what nobody will look at again; how many rows went. Needs
/// no lock: no such row is written any more.
pub async fn delete_old(tx: &mut Tx, minutes: Duration, hours: Duration, bite: i64) -> sqlx::Result<u64> {
    const SAMPLES: [&str; 2] = [
        "DELETE FROM node_samples WHERE ctid = ANY(ARRAY(SELECT ctid FROM node_samples
           WHERE at < (SELECT until FROM telemetry_progress WHERE span_s = 1) LIMIT $1))",
        "DELETE FROM gpu_samples WHERE ctid = ANY(ARRAY(SELECT ctid FROM gpu_samples
           WHERE at < (SELECT until FROM telemetry_progress WHERE span_s = 1) LIMIT $1))",
    ];
    const MINUTES: [&str; 2] = [
        "DELETE FROM node_rollups WHERE ctid = ANY(ARRAY(SELECT ctid FROM node_rollups WHERE span_s = 60
           AND at < least(app_now() - make_interval(secs => $2), (SELECT until FROM telemetry_progress WHERE span_s = 3600)) LIMIT $1))",
        "DELETE FROM gpu_rollups WHERE ctid = ANY(ARRAY(SELECT ctid FROM gpu_rollups WHERE span_s = 60
           AND at < least(app_now() - make_interval(secs => $2), (SELECT until FROM telemetry_progress WHERE span_s = 3600)) LIMIT $1))",
    ];
    const HOURS: [&str; 2] = [
        "DELETE FROM node_rollups WHERE ctid = ANY(ARRAY(SELECT ctid FROM node_rollups WHERE span_s = 3600
           AND at < app_now() - make_interval(secs => $2) LIMIT $1))",
        "DELETE FROM gpu_rollups WHERE ctid = ANY(ARRAY(SELECT ctid FROM gpu_rollups WHERE span_s = 3600
           AND at < app_now() - make_interval(secs => $2) LIMIT $1))",
    ];
    let mut gone = 0;
    for statement in SAMPLES {
        gone += sqlx::query(statement).bind(bite).execute(tx.conn()).await?.rows_affected();
    }
    for (statements, kept) in [(MINUTES, minutes), (HOURS, hours)] {
        for statement in statements {
            let done = sqlx::query(statement).bind(bite).bind(kept.as_secs_f64()).execute(tx.conn()).await?;
            gone += done.rows_affected();
        }
    }
    Ok(gone)
}
