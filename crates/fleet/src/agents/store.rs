//! The rows of `agent_updates`.

use contract::{
    Timestamp,
    agents::AgentUpdateState,
    id::{AgentUpdateId, NodeId, PoolId},
    nodes::{NodeHealth, NodeState},
};
use kernel::{Tx, lifecycle::Versioned};
use uuid::Uuid;

use platform::rows;

/// An update with what its node is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    pub id: AgentUpdateId,
    pub number: i64,
    pub node: NodeId,
    pub pool: PoolId,
    pub wanted: String,
    pub is_called_off: bool,
    pub state: AgentUpdateState,
    pub version: i64,
    pub state_since: Timestamp,
    pub node_state: NodeState,
    pub node_health: NodeHealth,
    /// What the node runs now, and the platform that it needs.
    pub runs: Option<String>,
    pub target: Option<String>,
    /// Whether another of those that were ordered with it did not work.
    pub is_doomed: bool,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    number: i64,
    node_id: Uuid,
    pool_id: Uuid,
    agent_version: String,
    is_called_off: bool,
    state: String,
    version: i64,
    state_since: jiff_sqlx::Timestamp,
    node_state: String,
    node_health: String,
    runs: Option<String>,
    target: Option<String>,
    is_doomed: bool,
}

const UPDATES: &str = "SELECT u.id, u.number, u.node_id, u.pool_id, u.agent_version, u.is_called_off, u.state, u.version,
    u.state_since, nodes.state AS node_state, nodes.health AS node_health, nodes.agent_version AS runs,
    nodes.inventory->>'agent_target' AS target,
    EXISTS (SELECT FROM agent_updates o WHERE o.rollout_id = u.rollout_id AND o.state IN ('rolled_back', 'failed')) AS is_doomed
  FROM agent_updates u JOIN nodes ON nodes.id = u.node_id";

pub async fn get(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<Update>> {
    read(tx, &format!("{UPDATES} WHERE u.id = $1"), id).await
}

/// The update of a node that is not over, if there is one.
pub async fn live(tx: &mut Tx, node: NodeId) -> sqlx::Result<Option<Update>> {
    read(tx, &format!("{UPDATES} WHERE u.node_id = $1 AND u.state IN ('waiting', 'updating')"), node.uuid()).await
}

async fn read(tx: &mut Tx, statement: &str, id: Uuid) -> sqlx::Result<Option<Update>> {
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement.to_owned())).bind(id).fetch_optional(tx.conn()).await?;
    row.map(update).transpose()
}

/// Adds an update of one node.
pub async fn insert(tx: &mut Tx, node: NodeId, pool: PoolId, wanted: &str) -> sqlx::Result<AgentUpdateId> {
    let id = AgentUpdateId::generate();
    sqlx::query(
        "INSERT INTO agent_updates (id, node_id, pool_id, rollout_id, agent_version, state)
         VALUES ($1, $2, $3, $1, $4, 'waiting')",
    )
    .bind(id.uuid())
    .bind(node.uuid())
    .bind(pool.uuid())
    .bind(wanted)
    .execute(tx.conn())
    .await?;
    Ok(id)
}

/// Adds an update of every node of the pool that runs something else and is
/// not being updated; how many.
pub async fn insert_for_pool(tx: &mut Tx, pool: PoolId, wanted: &str) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "INSERT INTO agent_updates (id, node_id, pool_id, rollout_id, agent_version, state)
         SELECT gen_random_uuid(), id, pool_id, $2, $3, 'waiting' FROM nodes
         WHERE pool_id = $1 AND state NOT IN ('enrolling', 'retired') AND agent_version IS DISTINCT FROM $3
           AND NOT EXISTS (SELECT FROM agent_updates u WHERE u.node_id = nodes.id AND u.state IN ('waiting', 'updating'))
         ORDER BY id",
    )
    .bind(pool.uuid())
    .bind(AgentUpdateId::generate().uuid())
    .bind(wanted)
    .execute(tx.conn())
    .await?;
    Ok(done.rows_affected())
}

/// The platforms of a pool's nodes, as far as they said them.
pub async fn targets_in(tx: &mut Tx, pool: PoolId) -> sqlx::Result<Vec<Option<String>>> {
    sqlx::query_scalar(
        "SELECT DISTINCT inventory->>'agent_target' FROM nodes WHERE pool_id = $1 AND state NOT IN ('enrolling', 'retired')",
    )
    .bind(pool.uuid())
    .fetch_all(tx.conn())
    .await
}

/// The platform of a node, if it said it.
pub async fn target_of(tx: &mut Tx, node: NodeId) -> sqlx::Result<Option<String>> {
    let target: Option<Option<String>> =
        sqlx::query_scalar("SELECT inventory->>'agent_target' FROM nodes WHERE id = $1")
            .bind(node.uuid())
            .fetch_optional(tx.conn())
            .await?;
    Ok(target.flatten())
}

/// A version other than this that nodes of the pool are being given.
pub async fn other_in(tx: &mut Tx, pool: PoolId, wanted: &str) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "SELECT agent_version FROM agent_updates
         WHERE pool_id = $1 AND agent_version <> $2 AND state IN ('waiting', 'updating') LIMIT 1",
    )
    .bind(pool.uuid())
    .bind(wanted)
    .fetch_optional(tx.conn())
    .await
}

/// Calls off what has not begun.
pub async fn call_off(tx: &mut Tx, pool: PoolId, reason: &str) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "UPDATE agent_updates SET is_called_off = true, reason = $2 WHERE pool_id = $1 AND state = 'waiting'",
    )
    .bind(pool.uuid())
    .bind(reason)
    .execute(tx.conn())
    .await?;
    Ok(done.rows_affected())
}

pub async fn set_reason(tx: &mut Tx, id: AgentUpdateId, reason: &str) -> sqlx::Result<()> {
    sqlx::query("UPDATE agent_updates SET reason = left($2, 500) WHERE id = $1")
        .bind(id.uuid())
        .bind(reason)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Which updates of a pool may begin next. A silent node holds up nobody.
pub async fn next_in(tx: &mut Tx, pool: PoolId, most: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT u.id FROM agent_updates u JOIN nodes ON nodes.id = u.node_id
         WHERE u.pool_id = $1 AND u.state = 'waiting' AND (nodes.health <> 'silent' OR u.is_called_off)
         ORDER BY u.number LIMIT $2",
    )
    .bind(pool.uuid())
    .bind(most)
    .fetch_all(tx.conn())
    .await
}

/// Waits until nobody else orders or begins updates of the pool, until the commit.
pub async fn take_turn(tx: &mut Tx, pool: PoolId) -> sqlx::Result<()> {
    sqlx::query("SELECT FROM pools WHERE id = $1 FOR NO KEY UPDATE").bind(pool.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// How many nodes of a pool are being updated.
pub async fn updating_in(tx: &mut Tx, pool: PoolId) -> sqlx::Result<u64> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM agent_updates WHERE pool_id = $1 AND state = 'updating'")
        .bind(pool.uuid())
        .fetch_one(tx.conn())
        .await?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// Updates that the safety net should look at: those under way, and those of
/// each pool that may begin.
pub async fn overdue(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    // bound: one that begins or ends brings the next of its pool
    const OF_EACH_POOL: i64 = 16;
    sqlx::query_scalar(
        "SELECT id FROM (
           SELECT u.id, u.state, row_number() OVER (PARTITION BY u.pool_id, u.state ORDER BY u.number) AS place
           FROM agent_updates u JOIN nodes ON nodes.id = u.node_id
           WHERE u.state = 'updating'
              OR (u.state = 'waiting' AND (nodes.health <> 'silent' OR nodes.state = 'retired' OR u.is_called_off))
         ) AS live WHERE state = 'updating' OR place <= $1 LIMIT $2",
    )
    .bind(OF_EACH_POOL)
    .bind(limit)
    .fetch_all(tx.conn())
    .await
}

impl Update {
    pub fn versioned(&self) -> Versioned<AgentUpdateState> {
        Versioned { id: self.id.uuid(), organization: None, state: self.state, version: self.version }
    }
}

fn update(row: Row) -> sqlx::Result<Update> {
    Ok(Update {
        id: row.id.into(),
        number: row.number,
        node: row.node_id.into(),
        pool: row.pool_id.into(),
        wanted: row.agent_version,
        is_called_off: row.is_called_off,
        state: rows::known(&row.state)?,
        version: row.version,
        state_since: row.state_since.to_jiff(),
        node_state: rows::known(&row.node_state)?,
        node_health: rows::known(&row.node_health)?,
        runs: row.runs,
        target: row.target,
        is_doomed: row.is_doomed,
    })
}
