//! Holding, cleaning and quarantining rows of `slots`.

use std::collections::HashMap;

use contract::id::{AllocationId, NodeId, OrganizationId};
use kernel::Tx;
use uuid::Uuid;

use super::HeldSlot;

type Columns = (Uuid, Uuid, Uuid, String, String, String);

/// A choice of slots, and for whom.
#[derive(Debug, Clone, Copy)]
pub struct Reservation<'a> {
    pub organization: OrganizationId,
    pub allocation: AllocationId,
    pub placement: &'a planner::Placement,
}

/// Holds every slot of each choice, or none of it when one of them is no longer to be
/// had: another replica was faster, its node went out of service, or it is kept
/// for another request. Choices that came to nothing are not in the answer.
pub async fn reserve(tx: &mut Tx, choices: &[Reservation<'_>]) -> sqlx::Result<HashMap<AllocationId, Vec<HeldSlot>>> {
    let mut asked: (Vec<Uuid>, Vec<Uuid>, Vec<Uuid>, Vec<Uuid>) = Default::default();
    for choice in choices {
        for part in &choice.placement.parts {
            for slot in &part.slots {
                asked.0.push(choice.allocation.uuid());
                asked.1.push(choice.organization.uuid());
                asked.2.push(Uuid::from_u128(part.node.0));
                asked.3.push(Uuid::from_u128(slot.0));
            }
        }
    }
    // Nodes and slots are locked in one order everywhere, so that two transactions wait and never
    // block each other. Of choices of one transaction that want the same slot, or whose
    // organizations want the same host that serves one at a time, one wins.
    let rows: Vec<Columns> = sqlx::query_as(
        "WITH asked AS (
           SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[]) AS asked (allocation, organization, node, slot)),
         hosts AS MATERIALIZED (
           SELECT n.id, p.isolates_vms AND coalesce(n.inventory @> '{\"isolates_vms\": true}', false) AS isolates_vms, p.isolation,
             n.serves, n.kept_for
           FROM nodes n JOIN pools p ON p.id = n.pool_id
           WHERE n.id = ANY($3) AND n.state = 'ready' AND n.health = 'ok' ORDER BY n.id FOR NO KEY UPDATE OF n),
         tenants AS (
           SELECT DISTINCT ON (hosts.id) hosts.id, coalesce(hosts.serves, asked.organization) AS organization
           FROM hosts JOIN asked ON asked.node = hosts.id ORDER BY hosts.id, asked.organization),
         free AS MATERIALIZED (
           SELECT s.id, s.node_id FROM slots s JOIN hosts ON hosts.id = s.node_id
           WHERE s.id = ANY($4) AND s.held_by IS NULL AND s.condition = 'clean' ORDER BY s.id FOR UPDATE OF s),
         granted AS (
           SELECT DISTINCT ON (free.id) free.id, asked.allocation, asked.organization
           FROM free JOIN asked ON asked.slot = free.id AND asked.node = free.node_id
           JOIN hosts ON hosts.id = free.node_id JOIN tenants ON tenants.id = free.node_id
           WHERE (hosts.isolates_vms OR tenants.organization = asked.organization)
             AND (hosts.kept_for IS NULL OR hosts.kept_for = asked.allocation)
           ORDER BY free.id, asked.allocation),
         complete AS (
           SELECT allocation FROM granted GROUP BY allocation
           HAVING count(*) = (SELECT count(*) FROM asked WHERE asked.allocation = granted.allocation)),
         taken AS (
           UPDATE slots SET held_by = granted.allocation, condition = 'dirty' FROM granted JOIN complete USING (allocation)
           WHERE slots.id = granted.id
           RETURNING granted.allocation, granted.organization, slots.node_id, slots.id, slots.gpu_uuid, slots.pci, slots.place),
         bound AS (
           UPDATE nodes SET serves = taken.organization FROM taken JOIN hosts ON hosts.id = taken.node_id
           WHERE nodes.id = taken.node_id AND NOT hosts.isolates_vms AND nodes.serves IS NULL)
         SELECT taken.allocation, taken.node_id, taken.id, taken.gpu_uuid, taken.pci, hosts.isolation
         FROM taken JOIN hosts ON hosts.id = taken.node_id ORDER BY taken.node_id, taken.place",
    )
    .bind(asked.0)
    .bind(asked.1)
    .bind(asked.2)
    .bind(asked.3)
    .fetch_all(tx.conn())
    .await?;
    by_allocation(rows)
}

/// What an allocation holds, by node.
pub async fn held(tx: &mut Tx, allocation: AllocationId) -> sqlx::Result<Vec<HeldSlot>> {
    Ok(held_by(tx, &[allocation.uuid()]).await?.remove(&allocation).unwrap_or_default())
}

/// What these allocations hold, by node.
pub async fn held_by(tx: &mut Tx, allocations: &[Uuid]) -> sqlx::Result<HashMap<AllocationId, Vec<HeldSlot>>> {
    let rows: Vec<Columns> = sqlx::query_as(
        "SELECT s.held_by, s.node_id, s.id, s.gpu_uuid, s.pci, p.isolation FROM slots s
         JOIN nodes n ON n.id = s.node_id JOIN pools p ON p.id = n.pool_id
         WHERE s.held_by = ANY($1) ORDER BY s.node_id, s.place",
    )
    .bind(allocations)
    .fetch_all(tx.conn())
    .await?;
    by_allocation(rows)
}

fn by_allocation(rows: Vec<Columns>) -> sqlx::Result<HashMap<AllocationId, Vec<HeldSlot>>> {
    let mut held: HashMap<AllocationId, Vec<HeldSlot>> = HashMap::new();
    for (allocation, node, slot, gpu_uuid, pci, isolation) in rows {
        let isolation = platform::rows::known(&isolation)?;
        let slot = HeldSlot { node: node.into(), slot: slot.into(), gpu_uuid, pci, isolation };
        held.entry(allocation.into()).or_default().push(slot);
    }
    Ok(held)
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
           AND (n.kept_for IS NULL OR n.kept_for = $6)
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
    sqlx::query("UPDATE slots SET condition = 'quarantined', condition_before = NULL, condition_reason = left($2, 500) WHERE held_by = $1")
        .bind(allocation.uuid())
        .bind(reason)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Lets go of slots that stay quarantined.
pub async fn abandon(tx: &mut Tx, allocation: AllocationId) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE slots SET held_by = NULL, condition = 'quarantined', condition_before = NULL WHERE held_by = $1",
    )
    .bind(allocation.uuid())
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Lets go of what an allocation holds on nodes that are lost, which stays
/// quarantined; whether there was something.
pub async fn abandon_on_lost_nodes(tx: &mut Tx, allocation: AllocationId) -> sqlx::Result<bool> {
    let gone = sqlx::query(
        "UPDATE slots SET held_by = NULL, condition = 'quarantined', condition_before = NULL FROM nodes
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
        "UPDATE slots SET held_by = NULL, condition = 'quarantined', condition_before = NULL
         WHERE node_id = $1 AND held_by IS NOT NULL",
    )
    .bind(node.uuid())
    .execute(tx.conn())
    .await?;
    Ok(())
}
