//! Counting the rows of `slots`.

use contract::{
    Label,
    capacity::{CapacityFilter, CapacityLine, CapacityUnit},
    skus::Shape,
};
use kernel::Tx;
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    sku_id: Uuid,
    sku: String,
    shape: String,
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
/// its node; out of service with it; being prepared or cleaned; free. A node that
/// is sold whole is what the first of its slots in that order is, and suits where
/// all its slots are GPUs of one model, as many as the SKU has; nodes are looked at
/// only where such a SKU is asked for. Sums per region and model come first, so the
/// 80,000 slots are looked at once and not once per SKU. A place in the list is a
/// hash of its pair of ids: neither SKUs nor regions are ever deleted or renamed, so
/// it can always be found again.
const LINES: &str = "
    WITH slot AS MATERIALIZED (
      SELECT n.region_id, s.node_id, s.kind, s.model, CASE
        WHEN s.condition IN ('quarantined', 'missing') THEN 1
        WHEN a.id IS NOT NULL THEN 2
        WHEN n.state = 'sanitizing' THEN 3
        WHEN n.state <> 'ready' OR n.health <> 'ok' THEN 4
        WHEN s.held_by IS NOT NULL OR s.condition <> 'clean' THEN 5
        ELSE 6 END AS place
      FROM slots s
      JOIN nodes n ON n.id = s.node_id
      LEFT JOIN allocations a ON a.id = s.held_by AND a.state IN ('active', 'stopping', 'stopped', 'starting')
      WHERE n.state <> 'retired'
    ), node AS (
      SELECT region_id, min(model) AS model, count(*) AS size, min(place) AS place
      FROM slot
      WHERE EXISTS (SELECT FROM skus WHERE shape = 'baremetal' AND retired_at IS NULL AND ($1::text IS NULL OR name = $1))
      GROUP BY region_id, node_id
      HAVING bool_and(kind = 'gpu') AND min(model) = max(model)
    ), counted AS (
      SELECT region_id, kind, model, NULL::bigint AS size, place, count(*) AS number FROM slot GROUP BY region_id, kind, model, place
      UNION ALL
      SELECT region_id, 'gpu', model, size, place, count(*) FROM node GROUP BY region_id, model, size, place
    ), pairs AS (
      SELECT sku.id AS sku_id, sku.name AS sku, sku.shape, sku.gpu_model, sku.gpu_counts, sku.retired_at,
        region.id AS region_id, region.name AS region,
        encode(substring(sha256(uuid_send(sku.id) || uuid_send(region.id)) FOR 16), 'hex')::uuid AS position
      FROM skus sku CROSS JOIN regions region
    )
    SELECT p.sku_id, p.sku, p.shape, p.region_id, p.region, p.position,
      coalesce(sum(c.number) FILTER (WHERE c.place = 6), 0)::bigint AS free,
      coalesce(sum(c.number) FILTER (WHERE c.place IN (3, 5)), 0)::bigint AS held,
      coalesce(sum(c.number) FILTER (WHERE c.place = 2), 0)::bigint AS used,
      coalesce(sum(c.number) FILTER (WHERE c.place IN (1, 4)), 0)::bigint AS broken
    FROM pairs p
    LEFT JOIN counted c ON c.region_id = p.region_id AND (p.gpu_model IS NULL OR p.gpu_model = c.model)
      AND (p.shape = 'mig_slice') = (c.kind <> 'gpu')
      AND CASE WHEN p.shape = 'baremetal' THEN c.size = ANY(p.gpu_counts) ELSE c.size IS NULL END
    WHERE p.retired_at IS NULL AND ($1::text IS NULL OR p.sku = $1) AND ($2::text IS NULL OR p.region = $2)
      AND ($3::uuid IS NULL OR (p.sku, p.region) > (SELECT it.sku, it.region FROM pairs it WHERE it.position = $3))
    GROUP BY p.sku_id, p.sku, p.shape, p.region_id, p.region, p.position
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
    let unit = match platform::rows::known(&row.shape)? {
        Shape::Baremetal => CapacityUnit::Node,
        Shape::GpuSlice | Shape::Container => CapacityUnit::Gpu,
        Shape::MigSlice => CapacityUnit::MigSlice,
    };
    let number = |it: i64| u64::try_from(it).map_err(|error| sqlx::Error::Decode(error.into()));
    let line = CapacityLine {
        sku_id: row.sku_id.into(),
        sku: platform::rows::text(&row.sku)?,
        region_id: row.region_id.into(),
        region: platform::rows::text(&row.region)?,
        unit: unit.into(),
        free: number(row.free)?,
        held: number(row.held)?,
        used: number(row.used)?,
        broken: number(row.broken)?,
    };
    Ok(Placed { position: row.position, line })
}
