//! The rows of `nodes` and what belongs to them.

pub mod certificates;
pub mod heartbeats;
pub mod slots;

use contract::{
    Timestamp, Word,
    id::{NodeId, PoolId, RegionId},
    nodes::{HostName, Node, NodeFilter, NodeHealth, NodeHost, NodeState},
    pools::Pool,
};
use kernel::{Tx, clock, lifecycle::Versioned};
use protocol::{DriverKind, Inventory};
use sqlx::types::Json;
use uuid::Uuid;

use platform::rows;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    name: String,
    region_id: Uuid,
    pool_id: Uuid,
    provider: String,
    state: String,
    version: i64,
    health: String,
    health_reason: Option<String>,
    serves: Option<Uuid>,
    fabric_domain: Option<String>,
    agent_version: Option<String>,
    drain_deadline_at: Option<jiff_sqlx::Timestamp>,
    created_at: jiff_sqlx::Timestamp,
    last_seen_at: Option<jiff_sqlx::Timestamp>,
    gpus: i64,
    gpus_free: i64,
    gpu_model: Option<String>,
    agent_wanted: Option<String>,
    agent_update: Option<String>,
    agent_update_reason: Option<String>,
}

const NODES: &str =
    "SELECT nodes.id, nodes.name, nodes.region_id, nodes.pool_id, pools.provider, nodes.state, nodes.version,
         nodes.health, nodes.health_reason, nodes.serves, nodes.fabric_domain, nodes.agent_version,
         nodes.drain_deadline_at, nodes.created_at, node_heartbeats.last_seen_at, totals.*, newest.*
  FROM nodes JOIN pools ON pools.id = nodes.pool_id
  LEFT JOIN node_heartbeats ON node_heartbeats.node_id = nodes.id
  CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE condition <> 'missing') AS gpus,
           count(*) FILTER (WHERE condition = 'clean' AND held_by IS NULL) AS gpus_free, min(model) AS gpu_model
    FROM slots WHERE slots.node_id = nodes.id) AS totals
  LEFT JOIN LATERAL (
    SELECT u.agent_version AS agent_wanted, u.state AS agent_update, u.reason AS agent_update_reason
    FROM agent_updates u WHERE u.node_id = nodes.id ORDER BY u.number DESC LIMIT 1) AS newest ON true";

/// What a host reports as wrong with itself, until it reports that it recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Degradation {
    /// For people.
    pub reason: String,
    /// The UUID of the GPU that this is about; none where it is about the host.
    pub gpu: Option<String>,
}

/// What decides about a node's next move, read with its row locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    pub id: NodeId,
    pub region: RegionId,
    pub state: NodeState,
    pub version: i64,
    pub health: NodeHealth,
    pub degraded: Option<Degradation>,
    pub inventory_hash: Option<String>,
    pub drain_deadline_at: Option<Timestamp>,
    /// Whether the host can wipe itself when it is told to.
    pub wipes_itself: bool,
    pub is_simulated: bool,
}

type KnownColumns = (
    Uuid,
    Uuid,
    String,
    i64,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<jiff_sqlx::Timestamp>,
    bool,
    Option<String>,
);

const KNOWN: &str = "SELECT id, region_id, state, version, health, degraded_reason, degraded_gpu, inventory_hash, drain_deadline_at, has_wipe_script, inventory->>'driver' FROM nodes";

pub async fn get(tx: &mut Tx, id: NodeId) -> sqlx::Result<Option<Node>> {
    let statement = format!("{NODES} WHERE nodes.id = $1");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(node).transpose()
}

pub async fn list(tx: &mut Tx, filter: &NodeFilter) -> sqlx::Result<Vec<Node>> {
    let statement = format!(
        "{NODES} WHERE CASE WHEN $1::text IS NULL THEN nodes.state <> 'retired' ELSE nodes.state = $1 END
           AND ($2::text IS NULL OR nodes.health = $2) AND ($3::uuid IS NULL OR nodes.region_id = $3)
           AND ($4::uuid IS NULL OR nodes.pool_id = $4) AND ($5::text IS NULL OR nodes.name = $5)
           AND ($6::uuid IS NULL OR nodes.id < $6)
         ORDER BY nodes.id DESC LIMIT $7"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(filter.state.map(|it| it.as_str()))
        .bind(filter.health.map(|it| it.as_str()))
        .bind(filter.region_id.map(|it| it.uuid()))
        .bind(filter.pool_id.map(|it| it.uuid()))
        .bind(filter.name.as_ref().map(HostName::as_str))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(node).collect()
}

// bound: changed nodes of one answer; a picture of the fleet is made anew when there are more
const MOST_CHANGED: usize = 500;

/// The nodes that changed since a mark, and the next mark. A transaction that ran
/// when the mark was made may have changed some before it: those come again.
pub async fn changed(tx: &mut Tx, since: Option<i64>) -> sqlx::Result<(i64, Vec<Node>, bool)> {
    let (mark, mut ids): (i64, Vec<Uuid>) = sqlx::query_as(
        "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
                ARRAY(SELECT node_id FROM node_changes WHERE xid >= $1::bigint::text::xid8 ORDER BY xid LIMIT $2)",
    )
    .bind(since.unwrap_or(i64::MAX))
    .bind(MOST_CHANGED as i64 + 1)
    .fetch_one(tx.conn())
    .await?;
    let is_cut = ids.len() > MOST_CHANGED;
    ids.truncate(MOST_CHANGED);
    if ids.is_empty() {
        return Ok((mark, Vec::new(), is_cut));
    }
    let statement = format!("{NODES} WHERE nodes.id = ANY ($1)");
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(ids).fetch_all(tx.conn()).await?;
    Ok((mark, rows.into_iter().map(node).collect::<sqlx::Result<_>>()?, is_cut))
}

/// What the host said it is made of.
pub async fn host(tx: &mut Tx, id: NodeId) -> sqlx::Result<Option<NodeHost>> {
    let inventory: Option<Json<Inventory>> =
        sqlx::query_scalar("SELECT inventory FROM nodes WHERE id = $1 AND inventory IS NOT NULL")
            .bind(id.uuid())
            .fetch_optional(tx.conn())
            .await?;
    Ok(inventory.map(|Json(it)| NodeHost {
        os: it.os,
        kernel: it.kernel,
        cpus: it.cpus,
        memory_bytes: it.memory_bytes,
        driver_version: it.gpus.into_iter().find_map(|it| it.driver_version),
    }))
}

/// What is known of a node, without waiting for others who change it.
pub async fn known(tx: &mut Tx, id: NodeId) -> sqlx::Result<Option<NodeFacts>> {
    read_known(tx, &format!("{KNOWN} WHERE id = $1"), id.uuid()).await
}

/// What is known of a node; nobody else changes it until the commit.
pub async fn lock(tx: &mut Tx, id: NodeId) -> sqlx::Result<Option<NodeFacts>> {
    read_known(tx, &format!("{KNOWN} WHERE id = $1 FOR NO KEY UPDATE"), id.uuid()).await
}

async fn read_known(tx: &mut Tx, statement: &str, id: Uuid) -> sqlx::Result<Option<NodeFacts>> {
    let row: Option<KnownColumns> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement.to_owned())).bind(id).fetch_optional(tx.conn()).await?;
    row.map(known_row).transpose()
}

/// The node of that name that did not retire, locked.
pub async fn lock_named(tx: &mut Tx, pool: PoolId, name: &HostName) -> sqlx::Result<Option<NodeFacts>> {
    let statement = format!("{KNOWN} WHERE pool_id = $1 AND name = $2 AND state <> 'retired' FOR NO KEY UPDATE");
    let row: Option<KnownColumns> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(pool.uuid())
        .bind(name.as_str())
        .fetch_optional(tx.conn())
        .await?;
    row.map(known_row).transpose()
}

/// Inserts a node unless the pool has one of that name.
pub async fn insert(tx: &mut Tx, pool: &Pool, name: &HostName) -> sqlx::Result<Option<NodeId>> {
    let id = NodeId::generate();
    let done = sqlx::query(
        "INSERT INTO nodes (id, region_id, pool_id, name, state) VALUES ($1, $2, $3, $4, 'enrolling')
         ON CONFLICT (pool_id, name) WHERE state <> 'retired' DO NOTHING",
    )
    .bind(id.uuid())
    .bind(pool.region_id.uuid())
    .bind(pool.id.uuid())
    .bind(name.as_str())
    .execute(tx.conn())
    .await?;
    Ok((done.rows_affected() == 1).then_some(id))
}

pub async fn set_inventory(tx: &mut Tx, id: NodeId, inventory: &Inventory) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE nodes SET inventory = $2, inventory_hash = $3, fabric_domain = $4, agent_version = $5,
                has_wipe_script = $6, machine_id = $7 WHERE id = $1",
    )
    .bind(id.uuid())
    .bind(Json(inventory))
    .bind(inventory.hash())
    .bind(&inventory.fabric_domain)
    .bind(&inventory.agent_version)
    .bind(inventory.wipe_script)
    .bind(&inventory.machine_id)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Writes what is observed; whether that is news.
pub async fn set_health(tx: &mut Tx, id: NodeId, health: NodeHealth, reason: Option<&str>) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "UPDATE nodes SET health = $2, health_reason = $3, health_since = app_now()
         WHERE id = $1 AND (health, coalesce(health_reason, '')) IS DISTINCT FROM ($2, coalesce($3, ''))",
    )
    .bind(id.uuid())
    .bind(health.as_str())
    .bind(reason)
    .execute(tx.conn())
    .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn set_degraded(tx: &mut Tx, id: NodeId, degraded: Option<&Degradation>) -> sqlx::Result<()> {
    sqlx::query("UPDATE nodes SET degraded_reason = $2, degraded_gpu = $3 WHERE id = $1")
        .bind(id.uuid())
        .bind(degraded.map(|it| it.reason.as_str()))
        .bind(degraded.and_then(|it| it.gpu.as_deref()))
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn set_deadline(tx: &mut Tx, id: NodeId, at: Option<Timestamp>) -> sqlx::Result<()> {
    sqlx::query("UPDATE nodes SET drain_deadline_at = $2 WHERE id = $1")
        .bind(id.uuid())
        .bind(at.map(clock::bind))
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// The node may serve any organization again.
pub async fn serve_anyone(tx: &mut Tx, id: NodeId) -> sqlx::Result<()> {
    sqlx::query("UPDATE nodes SET serves = NULL WHERE id = $1").bind(id.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// Nodes that the safety net should look at.
pub async fn driven(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar("SELECT id FROM nodes WHERE state IN ('draining', 'sanitizing') LIMIT $1")
        .bind(limit)
        .fetch_all(tx.conn())
        .await
}

impl NodeFacts {
    pub fn versioned(&self) -> Versioned<NodeState> {
        Versioned { id: self.id.uuid(), organization: None, state: self.state, version: self.version }
    }
}

fn known_row(row: KnownColumns) -> sqlx::Result<NodeFacts> {
    let (id, region, state, version, health, reason, gpu, inventory_hash, deadline, has_wipe_script, driver) = row;
    let simulated = serde_json::to_value(DriverKind::Sim).ok();
    let is_simulated = driver.is_some_and(|it| simulated == Some(it.into()));
    Ok(NodeFacts {
        id: id.into(),
        region: region.into(),
        state: rows::known(&state)?,
        version,
        health: rows::known(&health)?,
        degraded: reason.map(|reason| Degradation { reason, gpu }),
        inventory_hash,
        drain_deadline_at: deadline.map(|it| it.to_jiff()),
        wipes_itself: has_wipe_script || is_simulated,
        is_simulated,
    })
}

fn node(row: Row) -> sqlx::Result<Node> {
    Ok(Node {
        id: row.id.into(),
        name: row.name,
        region_id: row.region_id.into(),
        pool_id: row.pool_id.into(),
        provider: rows::word(&row.provider)?,
        state: rows::word(&row.state)?,
        version: row.version,
        health: rows::word(&row.health)?,
        health_reason: row.health_reason,
        serves: row.serves.map(Into::into),
        gpus: u32::try_from(row.gpus).unwrap_or(u32::MAX),
        gpus_free: u32::try_from(row.gpus_free).unwrap_or(u32::MAX),
        gpu_model: row.gpu_model,
        agent_version: row.agent_version,
        agent_wanted: row.agent_wanted,
        agent_update: row.agent_update.as_deref().map(rows::word).transpose()?,
        agent_update_reason: row.agent_update_reason,
        fabric_domain: row.fabric_domain,
        last_seen_at: row.last_seen_at.map(|it| it.to_jiff()),
        drain_deadline_at: row.drain_deadline_at.map(|it| it.to_jiff()),
        created_at: row.created_at.to_jiff(),
    })
}

/// How many nodes a pool has that were not retired.
pub async fn count_in(tx: &mut Tx, pool: PoolId) -> sqlx::Result<usize> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM nodes WHERE pool_id = $1 AND state <> 'retired'")
        .bind(pool.uuid())
        .fetch_one(tx.conn())
        .await?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// How many nodes need a person.
pub async fn count_failed(tx: &mut Tx) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM nodes WHERE state = 'failed'").fetch_one(tx.conn()).await
}
