//! The rows of `node_heartbeats`: written in batches, read to find who is silent.

use std::time::Duration;

use contract::{Timestamp, id::NodeId};
use kernel::Tx;
use uuid::Uuid;

/// That a node was heard, a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat {
    pub node: NodeId,
    pub ago: Duration,
    pub generation: u64,
    /// How many tasks its agent refused since it started.
    pub refused: u64,
}

/// A node whose health changed: what it is now, and why.
pub type Changed = (Uuid, String, Option<String>);

/// Writes all of them in one statement, in one order, so that two replicas
/// cannot wait for each other.
pub async fn write(tx: &mut Tx, beats: &[Heartbeat]) -> sqlx::Result<()> {
    let number = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
    sqlx::query(
        "INSERT INTO node_heartbeats (node_id, last_seen_at, generation, refused)
         SELECT node_id, app_now() - make_interval(secs => ago), generation, refused
         FROM unnest($1::uuid[], $2::float8[], $3::bigint[], $4::bigint[]) AS beats (node_id, ago, generation, refused)
         WHERE EXISTS (SELECT FROM nodes WHERE nodes.id = beats.node_id)
         ORDER BY node_id
         ON CONFLICT (node_id) DO UPDATE SET last_seen_at = greatest(node_heartbeats.last_seen_at, excluded.last_seen_at),
           generation = greatest(node_heartbeats.generation, excluded.generation), refused = excluded.refused",
    )
    .bind(beats.iter().map(|it| it.node.uuid()).collect::<Vec<_>>())
    .bind(beats.iter().map(|it| it.ago.as_secs_f64()).collect::<Vec<_>>())
    .bind(beats.iter().map(|it| number(it.generation)).collect::<Vec<_>>())
    .bind(beats.iter().map(|it| number(it.refused)).collect::<Vec<_>>())
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Those of these nodes whose last word is older than that.
pub async fn quiet(tx: &mut Tx, beats: &[Heartbeat], longer_than: Duration) -> sqlx::Result<Vec<NodeId>> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT node_id FROM node_heartbeats WHERE node_id = ANY($1) AND last_seen_at < app_now() - make_interval(secs => $2)",
    )
    .bind(beats.iter().map(|it| it.node.uuid()).collect::<Vec<_>>())
    .bind(longer_than.as_secs_f64())
    .fetch_all(tx.conn())
    .await?;
    Ok(ids.into_iter().map(NodeId::from).collect())
}

/// Nodes that were silent and spoke are again as they said they are.
pub async fn revive(tx: &mut Tx, beats: &[Heartbeat]) -> sqlx::Result<Vec<Changed>> {
    let ids: Vec<Uuid> = beats.iter().map(|it| it.node.uuid()).collect();
    sqlx::query_as(
        "UPDATE nodes SET health = CASE WHEN degraded_reason IS NULL THEN 'ok' ELSE 'degraded' END, health_reason = degraded_reason, health_since = app_now()
         FROM (SELECT id FROM nodes WHERE id = ANY($1) AND health = 'silent' FOR NO KEY UPDATE SKIP LOCKED) AS back
         WHERE nodes.id = back.id RETURNING nodes.id, health, health_reason",
    )
    .bind(ids)
    .fetch_all(tx.conn())
    .await
}

/// Marks the nodes that were not heard for too long, and says which. One that lies stays marked as lying.
pub async fn silence(tx: &mut Tx, after: Duration) -> sqlx::Result<Vec<Changed>> {
    sqlx::query_as(
        "UPDATE nodes SET health = 'silent', health_reason = 'not heard since ' || to_char(quiet.last_seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'),
                health_since = app_now()
         FROM (SELECT nodes.id, last_seen_at FROM nodes JOIN node_heartbeats ON node_heartbeats.node_id = nodes.id
               WHERE last_seen_at < app_now() - make_interval(secs => $1) AND health IN ('ok', 'degraded', 'unknown')
                 AND state <> 'retired' FOR NO KEY UPDATE OF nodes SKIP LOCKED) AS quiet
         WHERE nodes.id = quiet.id RETURNING nodes.id, health, health_reason",
    )
    .bind(after.as_secs_f64())
    .fetch_all(tx.conn())
    .await
}

/// Nodes that should serve and were not heard for that long, locked; whatever else
/// is said of their health. The longest silence first: of what has several of
/// them, the first one decides how much is refunded.
pub async fn lost(tx: &mut Tx, after: Duration, limit: i64) -> sqlx::Result<Vec<NodeId>> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT nodes.id FROM nodes JOIN node_heartbeats ON node_heartbeats.node_id = nodes.id
         WHERE last_seen_at < app_now() - make_interval(secs => $1)
           AND (state IN ('ready', 'cordoned', 'draining') OR (state = 'sanitizing'
             AND EXISTS (SELECT FROM slots WHERE slots.node_id = nodes.id AND slots.held_by IS NOT NULL)))
         ORDER BY last_seen_at, nodes.id LIMIT $2 FOR NO KEY UPDATE OF nodes SKIP LOCKED",
    )
    .bind(after.as_secs_f64())
    .bind(limit)
    .fetch_all(tx.conn())
    .await?;
    Ok(ids.into_iter().map(NodeId::from).collect())
}

/// When the node was last heard, by our clock.
pub async fn last(tx: &mut Tx, node: NodeId) -> sqlx::Result<Option<Timestamp>> {
    let at: Option<jiff_sqlx::Timestamp> =
        sqlx::query_scalar("SELECT last_seen_at FROM node_heartbeats WHERE node_id = $1")
            .bind(node.uuid())
            .fetch_optional(tx.conn())
            .await?;
    Ok(at.map(|it| it.to_jiff()))
}

/// When a node was last heard, and since when its health is what it is.
#[derive(Debug, Clone, Copy)]
pub struct Presence {
    pub node: NodeId,
    pub last_seen_at: Timestamp,
    pub health_since: Timestamp,
}

/// Of those that were ever heard.
pub async fn presence(tx: &mut Tx, nodes: &[NodeId]) -> sqlx::Result<Vec<Presence>> {
    let rows: Vec<(Uuid, jiff_sqlx::Timestamp, jiff_sqlx::Timestamp)> = sqlx::query_as(
        "SELECT nodes.id, last_seen_at, health_since FROM nodes JOIN node_heartbeats ON node_heartbeats.node_id = nodes.id
         WHERE nodes.id = ANY($1)",
    )
    .bind(nodes.iter().map(|it| it.uuid()).collect::<Vec<_>>())
    .fetch_all(tx.conn())
    .await?;
    let presence = |(id, seen, since): (Uuid, jiff_sqlx::Timestamp, jiff_sqlx::Timestamp)| Presence {
        node: id.into(),
        last_seen_at: seen.to_jiff(),
        health_since: since.to_jiff(),
    };
    Ok(rows.into_iter().map(presence).collect())
}

/// Whether the node ever spoke after it enrolled.
pub async fn ever(tx: &mut Tx, node: NodeId) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM node_heartbeats WHERE node_id = $1)")
        .bind(node.uuid())
        .fetch_one(tx.conn())
        .await
}
