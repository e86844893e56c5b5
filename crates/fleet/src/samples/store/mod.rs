//! The rows of samples and their roll-ups: writing and showing them here,
//! rolling them up and forgetting them beside.

mod rollups;

pub use rollups::*;

use contract::{
    Timestamp,
    id::NodeId,
    telemetry::{GpuPoint, HostPoint, Resolution},
};
use jiff::SignedDuration;
use kernel::{Tx, clock};
use uuid::Uuid;

use super::write::Batch;

/// The time that a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// A sample: one a second is kept.
    Second,
    Minute,
    Hour,
}

impl Span {
    pub fn of(resolution: Resolution) -> Self {
        match resolution {
            Resolution::Raw => Span::Second,
            Resolution::Minute => Span::Minute,
            Resolution::Hour => Span::Hour,
        }
    }

    pub fn seconds(self) -> i32 {
        match self {
            Span::Second => 1,
            Span::Minute => 60,
            Span::Hour => 3_600,
        }
    }

    pub fn length(self) -> SignedDuration {
        SignedDuration::from_secs(i64::from(self.seconds()))
    }
}

/// Writes a batch with one statement, and notes the minutes that were rolled up
/// without it. GPUs that the node does not have, and what is too old to be
/// kept, are left out.
pub async fn write(tx: &mut Tx, batch: &Batch) -> sqlx::Result<()> {
    sqlx::query("SELECT pg_advisory_xact_lock_shared(hashtextextended('telemetry', 0))").execute(tx.conn()).await?;
    sqlx::query(
        "WITH said AS (
           SELECT DISTINCT ON (node_id, at) node_id, at, cpu_percent, memory_used_bytes, place FROM (
             SELECT it.node_id, date_trunc('second', it.at) AS at, it.cpu_percent, it.memory_used_bytes, it.place::integer - 1 AS place
             FROM unnest($1::uuid[], $2::timestamptz[], $3::integer[], $4::bigint[])
               WITH ORDINALITY AS it (node_id, at, cpu_percent, memory_used_bytes, place)
             JOIN nodes ON nodes.id = it.node_id
             WHERE it.at >= coalesce((SELECT until FROM telemetry_progress WHERE span_s = 1), '-infinity')) AS seconds
           ORDER BY node_id, at, place
         ), kept AS (
           INSERT INTO node_samples (node_id, at, cpu_percent, memory_used_bytes)
           SELECT node_id, at, cpu_percent, memory_used_bytes FROM said
           ON CONFLICT DO NOTHING RETURNING node_id, at
         ), late AS (
           INSERT INTO telemetry_late (node_id, at)
           SELECT DISTINCT node_id, date_trunc('minute', at) FROM kept
           WHERE at < (SELECT until FROM telemetry_progress WHERE span_s = 60)
           ON CONFLICT DO NOTHING
         )
         INSERT INTO gpu_samples (slot_id, at, utilization_percent, memory_used_bytes, temperature_c, power_mw)
         SELECT slots.id, said.at, it.utilization_percent, it.memory_used_bytes, it.temperature_c, it.power_mw
         FROM unnest($5::integer[], $6::text[], $7::integer[], $8::bigint[], $9::integer[], $10::integer[])
           AS it (place, gpu_uuid, utilization_percent, memory_used_bytes, temperature_c, power_mw)
         JOIN said ON said.place = it.place
         JOIN kept ON kept.node_id = said.node_id AND kept.at = said.at
         JOIN slots ON slots.node_id = said.node_id AND slots.gpu_uuid = it.gpu_uuid
         ON CONFLICT DO NOTHING",
    )
    .bind(&batch.nodes)
    .bind(&batch.at)
    .bind(&batch.cpu_percent)
    .bind(&batch.memory)
    .bind(&batch.gpus.sample)
    .bind(&batch.gpus.uuid)
    .bind(&batch.gpus.utilization)
    .bind(&batch.gpus.memory)
    .bind(&batch.gpus.temperature)
    .bind(&batch.gpus.power)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Points of one resolution from a moment on, until before another.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    pub span: Span,
    pub since: Timestamp,
    pub until: Timestamp,
}

#[derive(sqlx::FromRow)]
struct HostRow {
    at: jiff_sqlx::Timestamp,
    samples: i64,
    cpu_percent_avg: i32,
    cpu_percent_max: i32,
    memory_used_bytes_avg: i64,
    memory_used_bytes_max: i64,
}

#[derive(sqlx::FromRow)]
struct GpuRow {
    node_id: Uuid,
    slot_id: Uuid,
    place: i32,
    gpu_uuid: String,
    at: jiff_sqlx::Timestamp,
    samples: i64,
    utilization_percent_avg: i32,
    utilization_percent_max: i32,
    memory_used_bytes_avg: i64,
    memory_used_bytes_max: i64,
    temperature_c_avg: i32,
    temperature_c_max: i32,
    power_mw_avg: i32,
    power_mw_max: i32,
}

/// A point and whose it is.
pub struct OfGpu {
    pub node: NodeId,
    pub slot: Uuid,
    pub index: u32,
    pub gpu_uuid: String,
    pub point: GpuPoint,
}

const HOST_SAMPLES: &str =
    "SELECT at, 1::bigint AS samples, cpu_percent AS cpu_percent_avg, cpu_percent AS cpu_percent_max,
    memory_used_bytes AS memory_used_bytes_avg, memory_used_bytes AS memory_used_bytes_max
  FROM node_samples WHERE node_id = $1 AND at >= $2 AND at < $3 AND $4 = 1 ORDER BY at LIMIT $5";
const HOST_ROLLUPS: &str =
    "SELECT at, samples, round(cpu_percent_sum::numeric / samples)::integer AS cpu_percent_avg, cpu_percent_max,
    round(memory_used_bytes_sum::numeric / samples)::bigint AS memory_used_bytes_avg, memory_used_bytes_max
  FROM node_rollups WHERE node_id = $1 AND at >= $2 AND at < $3 AND span_s = $4 ORDER BY at LIMIT $5";
const GPU_SAMPLES: &str = "SELECT s.node_id, s.id AS slot_id, s.place, s.gpu_uuid, g.at, 1::bigint AS samples,
    g.utilization_percent AS utilization_percent_avg, g.utilization_percent AS utilization_percent_max,
    g.memory_used_bytes AS memory_used_bytes_avg, g.memory_used_bytes AS memory_used_bytes_max,
    g.temperature_c AS temperature_c_avg, g.temperature_c AS temperature_c_max,
    g.power_mw AS power_mw_avg, g.power_mw AS power_mw_max
  FROM gpu_samples g JOIN slots s ON s.id = g.slot_id
  WHERE g.slot_id = ANY($1) AND g.at >= $2 AND g.at < $3 AND $4 = 1 ORDER BY g.at, g.slot_id LIMIT $5";
const GPU_ROLLUPS: &str = "SELECT s.node_id, s.id AS slot_id, s.place, s.gpu_uuid, g.at, g.samples,
    round(g.utilization_percent_sum::numeric / g.samples)::integer AS utilization_percent_avg, g.utilization_percent_max,
    round(g.memory_used_bytes_sum::numeric / g.samples)::bigint AS memory_used_bytes_avg, g.memory_used_bytes_max,
    round(g.temperature_c_sum::numeric / g.samples)::integer AS temperature_c_avg, g.temperature_c_max,
    round(g.power_mw_sum::numeric / g.samples)::integer AS power_mw_avg, g.power_mw_max
  FROM gpu_rollups g JOIN slots s ON s.id = g.slot_id
  WHERE g.slot_id = ANY($1) AND g.at >= $2 AND g.at < $3 AND g.span_s = $4 ORDER BY g.at, g.slot_id LIMIT $5";

pub async fn host_points(tx: &mut Tx, node: NodeId, range: Range, most: i64) -> sqlx::Result<Vec<HostPoint>> {
    let statement = if range.span == Span::Second { HOST_SAMPLES } else { HOST_ROLLUPS };
    let rows: Vec<HostRow> = sqlx::query_as(statement)
        .bind(node.uuid())
        .bind(clock::bind(range.since))
        .bind(clock::bind(range.until))
        .bind(range.span.seconds())
        .bind(most)
        .fetch_all(tx.conn())
        .await?;
    let point = |row: HostRow| {
        Ok(HostPoint {
            at: row.at.to_jiff(),
            samples: count(row.samples)?,
            cpu_percent_avg: small(row.cpu_percent_avg)?,
            cpu_percent_max: small(row.cpu_percent_max)?,
            memory_used_bytes_avg: count(row.memory_used_bytes_avg)?,
            memory_used_bytes_max: count(row.memory_used_bytes_max)?,
        })
    };
    rows.into_iter().map(point).collect()
}

/// Points of some slots, oldest first.
pub async fn gpu_points(tx: &mut Tx, slots: &[Uuid], range: Range, most: i64) -> sqlx::Result<Vec<OfGpu>> {
    let statement = if range.span == Span::Second { GPU_SAMPLES } else { GPU_ROLLUPS };
    let rows: Vec<GpuRow> = sqlx::query_as(statement)
        .bind(slots)
        .bind(clock::bind(range.since))
        .bind(clock::bind(range.until))
        .bind(range.span.seconds())
        .bind(most)
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(of_gpu).collect()
}

fn of_gpu(row: GpuRow) -> sqlx::Result<OfGpu> {
    let point = GpuPoint {
        at: row.at.to_jiff(),
        samples: count(row.samples)?,
        utilization_percent_avg: small(row.utilization_percent_avg)?,
        utilization_percent_max: small(row.utilization_percent_max)?,
        memory_used_bytes_avg: count(row.memory_used_bytes_avg)?,
        memory_used_bytes_max: count(row.memory_used_bytes_max)?,
        temperature_c_avg: row.temperature_c_avg,
        temperature_c_max: row.temperature_c_max,
        power_mw_avg: small(row.power_mw_avg)?,
        power_mw_max: small(row.power_mw_max)?,
    };
    Ok(OfGpu { node: row.node_id.into(), slot: row.slot_id, index: small(row.place)?, gpu_uuid: row.gpu_uuid, point })
}

/// The slots of a node; none when there is no such node.
pub async fn slots_of(tx: &mut Tx, node: NodeId) -> sqlx::Result<Option<Vec<Uuid>>> {
    sqlx::query_scalar(
        "SELECT coalesce(array_agg(slots.id) FILTER (WHERE slots.id IS NOT NULL), '{}')
         FROM nodes LEFT JOIN slots ON slots.node_id = nodes.id WHERE nodes.id = $1 GROUP BY nodes.id",
    )
    .bind(node.uuid())
    .fetch_optional(tx.conn())
    .await
}

fn count(number: i64) -> sqlx::Result<u64> {
    u64::try_from(number).map_err(|error| sqlx::Error::Decode(error.into()))
}

fn small(number: i32) -> sqlx::Result<u32> {
    u32::try_from(number).map_err(|error| sqlx::Error::Decode(error.into()))
}
