//! The rows of `slots`. Who holds one is written by placement alone.

use contract::{
    id::{NodeId, SlotId},
    nodes::{Slot, SlotCondition},
};
use kernel::Tx;
use protocol::Inventory;
use uuid::Uuid;

use crate::nodes::inventory::KnownSlot;
use platform::rows;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    place: i32,
    gpu_uuid: String,
    pci: String,
    model: String,
    memory_bytes: i64,
    numa: Option<i32>,
    fabric: Option<String>,
    nvme: Vec<String>,
    condition: String,
    condition_reason: Option<String>,
    is_wiped: bool,
    held_by: Option<Uuid>,
}

const COLUMNS: &str = "id, place, gpu_uuid, pci, model, memory_bytes, numa, fabric, nvme, condition, condition_reason,
    wiped_at IS NOT NULL AS is_wiped, held_by";

/// A slot whose condition changed.
pub type Changed = (SlotId, SlotCondition);

pub async fn list(tx: &mut Tx, node: NodeId) -> sqlx::Result<Vec<Slot>> {
    let statement = format!("SELECT {COLUMNS} FROM slots WHERE node_id = $1 ORDER BY place, id");
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(node.uuid()).fetch_all(tx.conn()).await?;
    rows.into_iter().map(slot).collect()
}

/// A slot of a node; nobody else changes it until the commit.
pub async fn lock(tx: &mut Tx, node: NodeId, id: SlotId) -> sqlx::Result<Option<Slot>> {
    let statement = format!("SELECT {COLUMNS} FROM slots WHERE node_id = $1 AND id = $2 FOR NO KEY UPDATE");
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(node.uuid())
        .bind(id.uuid())
        .fetch_optional(tx.conn())
        .await?;
    row.map(slot).transpose()
}

pub async fn known(tx: &mut Tx, node: NodeId) -> sqlx::Result<Vec<KnownSlot>> {
    let rows: Vec<(String, String, String, i64, bool)> = sqlx::query_as(
        "SELECT gpu_uuid, pci, model, memory_bytes, condition = 'missing' FROM slots WHERE node_id = $1",
    )
    .bind(node.uuid())
    .fetch_all(tx.conn())
    .await?;
    let known =
        |(gpu_uuid, pci, model, memory_bytes, is_missing)| KnownSlot { gpu_uuid, pci, model, memory_bytes, is_missing };
    Ok(rows.into_iter().map(known).collect())
}

/// One of these GPUs that another node has, if any does.
pub async fn elsewhere(tx: &mut Tx, node: Option<NodeId>, inventory: &Inventory) -> sqlx::Result<Option<String>> {
    let uuids: Vec<&str> = inventory.gpus.iter().map(|it| it.uuid.as_str()).collect();
    sqlx::query_scalar(
        "SELECT gpu_uuid FROM slots JOIN nodes ON nodes.id = slots.node_id
         WHERE gpu_uuid = ANY($1) AND slots.node_id IS DISTINCT FROM $2 AND condition <> 'missing' AND nodes.state <> 'retired'
         LIMIT 1",
    )
    .bind(uuids)
    .bind(node.map(|it| it.uuid()))
    .fetch_optional(tx.conn())
    .await
}

/// Writes the GPUs that are there. A GPU that came back is as it was when it went.
pub async fn upsert(tx: &mut Tx, node: NodeId, inventory: &Inventory) -> sqlx::Result<()> {
    let mut statement = sqlx::QueryBuilder::<sqlx::Postgres>::new(
        "INSERT INTO slots (id, node_id, place, gpu_uuid, pci, model, memory_bytes, numa, fabric, nvme) ",
    );
    if inventory.gpus.is_empty() {
        return Ok(());
    }
    statement.push_values(&inventory.gpus, |mut values, gpu| {
        values
            .push_bind(SlotId::generate().uuid())
            .push_bind(node.uuid())
            .push_bind(i32::try_from(gpu.index).unwrap_or(i32::MAX))
            .push_bind(&gpu.uuid)
            .push_bind(&gpu.pci)
            .push_bind(&gpu.model)
            .push_bind(i64::try_from(gpu.memory_bytes).unwrap_or(i64::MAX))
            .push_bind(gpu.numa.and_then(|it| i32::try_from(it).ok()))
            .push_bind(&gpu.fabric)
            .push_bind(&gpu.nvme);
    });
    statement.push(
        " ON CONFLICT (node_id, gpu_uuid) DO UPDATE SET place = excluded.place, pci = excluded.pci, model = excluded.model,
            memory_bytes = excluded.memory_bytes, numa = excluded.numa, fabric = excluded.fabric, nvme = excluded.nvme,
            condition = coalesce(slots.condition_before, slots.condition), condition_before = NULL,
            condition_reason = CASE WHEN slots.condition = 'missing' THEN 'it was gone for a while' ELSE slots.condition_reason END
          WHERE (slots.place, slots.pci, slots.model, slots.memory_bytes, slots.numa, slots.fabric, slots.nvme)
                IS DISTINCT FROM (excluded.place, excluded.pci, excluded.model, excluded.memory_bytes, excluded.numa, excluded.fabric, excluded.nvme)
             OR slots.condition = 'missing'",
    );
    statement.build().execute(tx.conn()).await?;
    Ok(())
}

/// Marks the GPUs that are no longer there, and says which. That the host was wiped says
/// nothing of a GPU that went: it may be elsewhere meanwhile.
pub async fn miss(tx: &mut Tx, node: NodeId, inventory: &Inventory) -> sqlx::Result<Vec<Changed>> {
    let uuids: Vec<&str> = inventory.gpus.iter().map(|it| it.uuid.as_str()).collect();
    let gone: Vec<Uuid> = sqlx::query_scalar(
        "UPDATE slots SET condition = 'missing', condition_before = condition, wiped_at = NULL,
           condition_reason = 'no longer reported, was ' || condition
         WHERE node_id = $1 AND condition <> 'missing' AND NOT gpu_uuid = ANY($2) RETURNING id",
    )
    .bind(node.uuid())
    .bind(uuids)
    .fetch_all(tx.conn())
    .await?;
    Ok(gone.into_iter().map(|it| (it.into(), SlotCondition::Missing)).collect())
}

/// Takes a GPU off offer until a person looked.
pub async fn quarantine(tx: &mut Tx, node: NodeId, gpu: &str, reason: &str) -> sqlx::Result<Vec<Changed>> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "UPDATE slots SET condition = 'quarantined', condition_reason = $3
         WHERE node_id = $1 AND gpu_uuid = $2 AND condition IN ('clean', 'dirty') RETURNING id",
    )
    .bind(node.uuid())
    .bind(gpu)
    .bind(reason)
    .fetch_all(tx.conn())
    .await?;
    Ok(ids.into_iter().map(|it| (it.into(), SlotCondition::Quarantined)).collect())
}

/// One slot goes back on offer.
pub async fn clean(tx: &mut Tx, id: SlotId) -> sqlx::Result<()> {
    sqlx::query("UPDATE slots SET condition = 'clean', condition_reason = NULL, wiped_at = NULL WHERE id = $1")
        .bind(id.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// What was used goes back on offer, because the whole host was wiped.
pub async fn clean_used(tx: &mut Tx, node: NodeId) -> sqlx::Result<Vec<Changed>> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "UPDATE slots SET condition = 'clean', condition_reason = NULL
         WHERE node_id = $1 AND condition = 'dirty' AND held_by IS NULL RETURNING id",
    )
    .bind(node.uuid())
    .fetch_all(tx.conn())
    .await?;
    Ok(ids.into_iter().map(|it| (it.into(), SlotCondition::Clean)).collect())
}

/// Notes at what stays quarantined that the whole host was wiped. GPUs that another
/// node had before were wiped with it.
pub async fn note_wiped(tx: &mut Tx, node: NodeId) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE slots SET wiped_at = app_now()
         WHERE gpu_uuid IN (SELECT gpu_uuid FROM slots WHERE node_id = $1) AND held_by IS NULL AND condition = 'quarantined'
           AND wiped_at IS NULL",
    )
    .bind(node.uuid())
    .execute(tx.conn())
    .await?;
    Ok(())
}

pub async fn held(tx: &mut Tx, node: NodeId) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM slots WHERE node_id = $1 AND held_by IS NOT NULL")
        .bind(node.uuid())
        .fetch_one(tx.conn())
        .await
}

/// Why a slot is in its condition, for people.
fn said(reason: Option<String>, is_wiped: bool) -> Option<String> {
    if !is_wiped {
        return reason;
    }
    Some(format!("sanitized since: {}", reason.as_deref().unwrap_or("it was abandoned")))
}

fn slot(row: Row) -> sqlx::Result<Slot> {
    Ok(Slot {
        id: row.id.into(),
        index: u32::try_from(row.place).unwrap_or_default(),
        gpu_uuid: row.gpu_uuid,
        pci: row.pci,
        model: row.model,
        memory_bytes: u64::try_from(row.memory_bytes).unwrap_or_default(),
        numa: row.numa.and_then(|it| u32::try_from(it).ok()),
        fabric: row.fabric,
        nvme: row.nvme,
        condition: rows::word(&row.condition)?,
        condition_reason: said(row.condition_reason, row.is_wiped),
        held_by: row.held_by.map(Into::into),
    })
}
