//! Counting the rows of `slots`.

use contract::{
    Label,
    capacity::{CapacityFilter, CapacityLine},
};
use kernel::Tx;
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    sku_id: Uuid,
    sku: String,
    region_id: Uuid,
    region: String,
    position: Uuid,
    free: i64,
    held: i64,
    used: i64,
    broken: i64,
}

/// A line and its place in the list.
pub struct Placed {
    pub position: Uuid,
    pub line: CapacityLine,
}

/// Every slot is counted once, as the first of these that fits: gone or
/// quarantined; used, also where the node takes nothing new; being cleaned with
/// its node; out of service with it; being prepared or cleaned; free. Sums per
/// region and model come first, so the 80,000 slots are looked at once and not
/// once per SKU. A place in the list is a hash of its pair of ids: neither SKUs
/// nor regions are ever deleted or renamed, so it can always be found again.
const LINES: &str = "
    WITH counted AS (
      SELECT region_id, kind, model, fate, count(*) AS gpus
      FROM (
        SELECT n.region_id, s.kind, s.model, CASE
          WHEN s.condition IN ('quarantined', 'missing') THEN 'broken'
          WHEN a.id IS NOT NULL THEN 'used'
          WHEN n.state = 'sanitizing' THEN 'held'
          WHEN n.state <> 'ready' OR n.health <> 'ok' THEN 'broken'
          WHEN s.held_by IS NOT NULL OR s.condition <> 'clean' THEN 'held'
          ELSE 'free' END AS fate
        FROM slots s
        JOIN nodes n ON n.id = s.node_id
        LEFT JOIN allocations a ON a.id = s.held_by AND a.state IN ('active', 'stopping', 'stopped', 'starting')
        WHERE n.state <> 'retired') AS slot
      GROUP BY region_id, kind, model, fate
    ), pairs AS (
      SELECT sku.id AS sku_id, sku.name AS sku, sku.shape, sku.gpu_model, sku.retired_at,
        region.id AS region_id, region.name AS region,
        encode(substring(sha256(uuid_send(sku.id) || uuid_send(region.id)) FOR 16), 'hex')::uuid AS position
      FROM skus sku CROSS JOIN regions region
    )
    SELECT p.sku_id, p.sku, p.region_id, p.region, p.position,
      coalesce(sum(c.gpus) FILTER (WHERE c.fate = 'free'), 0)::bigint AS free,
      coalesce(sum(c.gpus) FILTER (WHERE c.fate = 'held'), 0)::bigint AS held,
      coalesce(sum(c.gpus) FILTER (WHERE c.fate = 'used'), 0)::bigint AS used,
      coalesce(sum(c.gpus) FILTER (WHERE c.fate = 'broken'), 0)::bigint AS broken
    FROM pairs p
    LEFT JOIN counted c ON c.region_id = p.region_id AND (p.gpu_model IS NULL OR p.gpu_model = c.model)
      AND (p.shape = 'mig_slice') = (c.kind <> 'gpu')
    WHERE p.retired_at IS NULL AND ($1::text IS NULL OR p.sku = $1) AND ($2::text IS NULL OR p.region = $2)
      AND ($3::uuid IS NULL OR (p.sku, p.region) > (SELECT it.sku, it.region FROM pairs it WHERE it.position = $3))
    GROUP BY p.sku_id, p.sku, p.region_id, p.region, p.position
    ORDER BY p.sku, p.region LIMIT $4";

pub async fn list(tx: &mut Tx, filter: &CapacityFilter) -> sqlx::Result<Vec<Placed>> {
    let rows: Vec<Row> = sqlx::query_as(LINES)
        .bind(filter.sku.as_ref().map(Label::as_str))
        .bind(filter.region.as_ref().map(Label::as_str))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(placed).collect()
}

fn placed(row: Row) -> sqlx::Result<Placed> {
    let gpus = |it: i64| u64::try_from(it).map_err(|error| sqlx::Error::Decode(error.into()));
    let line = CapacityLine {
        sku_id: row.sku_id.into(),
        sku: crate::rows::text(&row.sku)?,
        region_id: row.region_id.into(),
        region: crate::rows::text(&row.region)?,
        free: gpus(row.free)?,
        held: gpus(row.held)?,
        used: gpus(row.used)?,
        broken: gpus(row.broken)?,
    };
    Ok(Placed { position: row.position, line })
}
