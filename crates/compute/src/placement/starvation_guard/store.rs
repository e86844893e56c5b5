//! The column `kept_for` of `nodes`, and `kept_at` of the request that it names.

use contract::id::AllocationId;
use kernel::Tx;
use planner::{AllocationKey, NodeKey};
use uuid::Uuid;

use super::Leases;

/// The nodes that are kept for a request.
pub async fn kept(tx: &mut Tx, allocation: AllocationId) -> sqlx::Result<Vec<NodeKey>> {
    let nodes: Vec<Uuid> = sqlx::query_scalar("SELECT id FROM nodes WHERE kept_for = $1 ORDER BY id")
        .bind(allocation.uuid())
        .fetch_all(tx.conn())
        .await?;
    Ok(nodes.into_iter().map(|it| NodeKey(it.as_u128())).collect())
}

/// When leases end, the soonest first.
pub async fn leases(tx: &mut Tx) -> sqlx::Result<Leases> {
    // bound: what ends later than so many others does not decide where a request fits soonest
    const MOST: i64 = 20_000;
    let rows: Vec<(Uuid, i64)> = sqlx::query_as(
        "SELECT id, extract(epoch FROM lease_ends_at)::bigint FROM allocations
         WHERE lease_ends_at IS NOT NULL AND ended_at IS NULL ORDER BY lease_ends_at LIMIT $1",
    )
    .bind(MOST)
    .fetch_all(tx.conn())
    .await?;
    Ok(rows.into_iter().map(|(id, ends)| (AllocationKey(id.as_u128()), ends)).collect())
}

/// Locks nodes in the order in which everybody does.
pub async fn lock(tx: &mut Tx, nodes: &[NodeKey]) -> sqlx::Result<()> {
    let nodes: Vec<Uuid> = nodes.iter().map(|it| Uuid::from_u128(it.0)).collect();
    sqlx::query("SELECT FROM nodes WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE")
        .bind(&nodes)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Keeps these nodes for a request, and no others any longer. Nodes that are kept
/// for somebody else stay so. Whether a node was given up.
pub async fn keep(tx: &mut Tx, allocation: AllocationId, nodes: &[NodeKey]) -> sqlx::Result<bool> {
    let mut all = kept(tx, allocation).await?;
    let gives_up = all.iter().any(|it| !nodes.contains(it));
    all.extend(nodes);
    lock(tx, &all).await?;
    let waits = sqlx::query(
        "UPDATE allocations SET kept_at = coalesce(kept_at, app_now()) WHERE id = $1 AND state = 'requested'",
    )
    .bind(allocation.uuid())
    .execute(tx.conn())
    .await?;
    // Somebody canceled it at this moment.
    let nodes: Vec<Uuid> = match waits.rows_affected() {
        0 => Vec::new(),
        _ => nodes.iter().map(|it| Uuid::from_u128(it.0)).collect(),
    };
    sqlx::query(
        "UPDATE nodes SET kept_for = CASE WHEN id = ANY($2) THEN $1::uuid END
         WHERE (id = ANY($2) AND kept_for IS NULL) OR (kept_for = $1 AND NOT id = ANY($2))",
    )
    .bind(allocation.uuid())
    .bind(&nodes)
    .execute(tx.conn())
    .await?;
    Ok(gives_up)
}

/// Keeps nothing for it any longer.
pub async fn end(tx: &mut Tx, allocation: AllocationId) -> sqlx::Result<()> {
    let nodes = kept(tx, allocation).await?;
    lock(tx, &nodes).await?;
    sqlx::query("UPDATE nodes SET kept_for = NULL WHERE kept_for = $1")
        .bind(allocation.uuid())
        .execute(tx.conn())
        .await?;
    sqlx::query("UPDATE allocations SET kept_at = NULL WHERE id = $1")
        .bind(allocation.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}
