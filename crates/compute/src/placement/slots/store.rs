//! Holding, cleaning and quarantining rows of `slots`.

use contract::id::{AllocationId, NodeId, OrganizationId};
use kernel::Tx;
use uuid::Uuid;

use super::HeldSlot;

type Columns = (Uuid, Uuid, String, String, String);

/// Holds every slot of a choice, or none when one of them is no longer to be
/// had: another replica was faster, its node went out of service, or it is kept
/// for another request.
pub async fn reserve(
    tx: &mut Tx,
    organization: OrganizationId,
    allocation: AllocationId,
    placement: &planner::Placement,
) -> sqlx::Result<Option<Vec<HeldSlot>>> {
    let nodes: Vec<Uuid> = placement.parts.iter().map(|it| Uuid::from_u128(it.node.0)).collect();
    let slots: Vec<Uuid> = placement.parts.iter().flat_map(|it| &it.slots).map(|it| Uuid::from_u128(it.0)).collect();
    // Nodes and slots are locked in one order everywhere, so that two choices wait and never block each other.
    let rows: Vec<Columns> = sqlx::query_as(
        "WITH hosts AS MATERIALIZED (
           SELECT n.id, p.isolates_vms AND coalesce(n.inventory @> '{\"isolates_vms\": true}', false) AS isolates_vms, p.isolation
           FROM nodes n JOIN pools p ON p.id = n.pool_id
           WHERE n.id = ANY($1) AND n.state = 'ready' AND n.health = 'ok'
             AND ((p.isolates_vms AND n.inventory @> '{\"isolates_vms\": true}') OR n.serves IS NULL OR n.serves = $3)
             AND (n.reserved_for IS NULL OR n.reserved_for = $4)
           ORDER BY n.id FOR NO KEY UPDATE OF n),
         wanted AS MATERIALIZED (
           SELECT s.id FROM slots s JOIN hosts ON hosts.id = s.node_id
           WHERE s.id = ANY($2) AND s.held_by IS NULL AND s.condition = 'clean' ORDER BY s.id FOR UPDATE OF s),
         complete AS (SELECT count(*) = cardinality($2) AS is_so FROM wanted),
         taken AS (
           UPDATE slots SET held_by = $4, condition = 'dirty'
           WHERE id IN (SELECT id FROM wanted) AND (SELECT is_so FROM complete)
           RETURNING node_id, id, gpu_uuid, pci, place),
         bound AS (
           UPDATE nodes SET serves = $3 WHERE id IN (SELECT id FROM hosts WHERE NOT isolates_vms)
             AND serves IS NULL AND (SELECT is_so FROM complete))
         SELECT taken.node_id, taken.id, taken.gpu_uuid, taken.pci, hosts.isolation
         FROM taken JOIN hosts ON hosts.id = taken.node_id ORDER BY taken.node_id, taken.place",
    )
    .bind(&nodes)
    .bind(&slots)
    .bind(organization.uuid())
    .bind(allocation.uuid())
    .fetch_all(tx.conn())
    .await?;
    if rows.is_empty() {
        return Ok(None);
    }
    rows.into_iter().map(held_row).collect::<sqlx::Result<_>>().map(Some)
}

/// What an allocation holds, by node.
pub async fn held(tx: &mut Tx, allocation: AllocationId) -> sqlx::Result<Vec<HeldSlot>> {
    let rows: Vec<Columns> = sqlx::query_as(
        "SELECT s.node_id, s.id, s.gpu_uuid, s.pci, p.isolation FROM slots s
         JOIN nodes n ON n.id = s.node_id JOIN pools p ON p.id = n.pool_id
         WHERE s.held_by = $1 ORDER BY s.node_id, s.place",
    )
    .bind(allocation.uuid())
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter().map(held_row).collect()
}

fn held_row((node, slot, gpu_uuid, pci, isolation): Columns) -> sqlx::Result<HeldSlot> {
    Ok(HeldSlot { node: node.into(), slot: slot.into(), gpu_uuid, pci, isolation: platform::rows::known(&isolation)? })
}

/// Puts the cleaned slots of an allocation on a node back on offer. A slot
/// that the host no longer reports, or that was quarantined, stays so.
pub async fn clean(tx: &mut Tx, allocation: AllocationId, node: NodeId) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE slots SET held_by = NULL, condition = CASE WHEN condition = 'dirty' THEN 'clean' ELSE condition END
         WHERE held_by = $1 AND node_id = $2",
    )
    .bind(allocation.uuid())
    .bind(node.uuid())
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Nodes of those given that nobody holds anything on, and that must be wiped
/// before they serve again: their pool says so, or a tenant had the whole host.
pub async fn vacated(tx: &mut Tx, nodes: &[NodeId], had_whole_host: bool) -> sqlx::Result<Vec<NodeId>> {
    let nodes: Vec<Uuid> = nodes.iter().map(|it| it.uuid()).collect();
    let found: Vec<Uuid> = sqlx::query_scalar(
        "SELECT n.id FROM nodes n JOIN pools p ON p.id = n.pool_id
         CROSS JOIN LATERAL (SELECT p.isolates_vms AND coalesce(n.inventory @> '{\"isolates_vms\": true}', false) AS is_so) vms
         WHERE n.id = ANY($1) AND ((p.isolation = 'full_reimage' AND NOT vms.is_so) OR (vms.is_so AND $2))
           AND NOT EXISTS (SELECT FROM slots s WHERE s.node_id = n.id AND s.held_by IS NOT NULL)
         ORDER BY n.id",
    )
    .bind(&nodes)
    .bind(had_whole_host)
    .fetch_all(tx.conn())
    .await?;
    Ok(found.into_iter().map(Into::into).collect())
}

/// Idle nodes that serve another organization and would do for a request once
/// they are wiped, as many as it needs.
pub async fn idle_elsewhere(
    tx: &mut Tx,
    organization: OrganizationId,
    allocation: AllocationId,
    request: &planner::Ask,
) -> sqlx::Result<Vec<NodeId>> {
    let found: Vec<Uuid> = sqlx::query_scalar(
        "SELECT n.id FROM nodes n JOIN pools p ON p.id = n.pool_id JOIN regions r ON r.id = n.region_id
         WHERE n.state = 'ready' AND n.health = 'ok' AND n.serves <> $1
           AND NOT (p.isolates_vms AND coalesce(n.inventory @> '{\"isolates_vms\": true}', false))
           AND (n.reserved_for IS NULL OR n.reserved_for = $6)
           AND ($2::text IS NULL OR r.name = $2)
           AND (SELECT count(*) FROM slots s WHERE s.node_id = n.id AND s.condition = 'clean' AND s.held_by IS NULL
                  AND ($3::text IS NULL OR s.model = $3)) >= $4
           AND NOT EXISTS (SELECT FROM slots s WHERE s.node_id = n.id AND s.held_by IS NOT NULL)
         ORDER BY n.state_since LIMIT $5",
    )
    .bind(organization.uuid())
    .bind(request.region.as_deref())
    .bind(request.sku.model.as_deref())
    .bind(i64::from(request.slots_per_node()))
    .bind(i64::from(request.nodes))
    .bind(allocation.uuid())
    .fetch_all(tx.conn())
    .await?;
    Ok(found.into_iter().map(Into::into).collect())
}

/// Marks what an allocation still holds as not to be given out.
pub async fn quarantine(tx: &mut Tx, allocation: AllocationId, reason: &str) -> sqlx::Result<()> {
    sqlx::query("UPDATE slots SET condition = 'quarantined', condition_reason = left($2, 500) WHERE held_by = $1")
        .bind(allocation.uuid())
        .bind(reason)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Lets go of slots that stay quarantined.
pub async fn abandon(tx: &mut Tx, allocation: AllocationId) -> sqlx::Result<()> {
    sqlx::query("UPDATE slots SET held_by = NULL, condition = 'quarantined' WHERE held_by = $1")
        .bind(allocation.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Lets go of what an allocation holds on nodes that are lost, which stays
/// quarantined; whether there was something.
pub async fn abandon_on_lost_nodes(tx: &mut Tx, allocation: AllocationId) -> sqlx::Result<bool> {
    let gone = sqlx::query(
        "UPDATE slots SET held_by = NULL, condition = 'quarantined' FROM nodes
         WHERE nodes.id = slots.node_id AND slots.held_by = $1 AND nodes.state IN ('failed', 'retired')",
    )
    .bind(allocation.uuid())
    .execute(tx.conn())
    .await?;
    Ok(gone.rows_affected() > 0)
}

/// Marks what is held on a node that is lost as not to be given out.
pub async fn quarantine_on_node(tx: &mut Tx, node: NodeId, reason: &str) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE slots SET condition = 'quarantined', condition_reason = left($2, 500)
         WHERE node_id = $1 AND held_by IS NOT NULL AND condition IN ('clean', 'dirty')",
    )
    .bind(node.uuid())
    .bind(reason)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Lets go of every slot of a node that is gone for good.
pub async fn let_go_of_node(tx: &mut Tx, node: NodeId) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE slots SET held_by = NULL, condition = 'quarantined' WHERE node_id = $1 AND held_by IS NOT NULL",
    )
    .bind(node.uuid())
    .execute(tx.conn())
    .await?;
    Ok(())
}
