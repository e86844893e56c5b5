//! The rows of `maintenance_windows`, of the nodes that they emptied, and of
//! who was told.

use contract::{
    Word,
    id::{MaintenanceWindowId, NodeId, OrganizationId},
    maintenance_windows::{
        AnnouncedWindow, AnnouncedWindowFilter, MaintenanceWindow, MaintenanceWindowFilter, MaintenanceWindowSpec,
        MaintenanceWindowState,
    },
};
use kernel::{Tx, clock, lifecycle::Versioned};
use uuid::Uuid;

use platform::rows;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    node_id: Option<Uuid>,
    pool_id: Option<Uuid>,
    starts_at: jiff_sqlx::Timestamp,
    ends_at: jiff_sqlx::Timestamp,
    reason: String,
    state: String,
    version: i64,
    created_at: jiff_sqlx::Timestamp,
}

#[derive(sqlx::FromRow)]
struct AnnouncedRow {
    id: Uuid,
    starts_at: jiff_sqlx::Timestamp,
    ends_at: jiff_sqlx::Timestamp,
    reason: String,
    state: String,
    projects: Vec<Uuid>,
}

const COLUMNS: &str = "id, node_id, pool_id, starts_at, ends_at, reason, state, version, created_at";

/// The nodes that window `$1` is about.
const TARGETS: &str = "SELECT nodes.id, nodes.state FROM maintenance_windows w
  JOIN nodes ON nodes.id = w.node_id OR nodes.pool_id = w.pool_id WHERE w.id = $1 AND nodes.state <> 'retired'";

/// Inserts a window unless what it is about does not exist.
pub async fn insert(tx: &mut Tx, spec: &MaintenanceWindowSpec) -> sqlx::Result<Option<MaintenanceWindow>> {
    let statement = format!(
        "INSERT INTO maintenance_windows (id, node_id, pool_id, starts_at, ends_at, reason, state)
         SELECT $1, $2, $3, $4, $5, $6, 'planned'
         WHERE EXISTS (SELECT FROM nodes WHERE id = $2 AND state <> 'retired') OR EXISTS (SELECT FROM pools WHERE id = $3)
         RETURNING {COLUMNS}"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(MaintenanceWindowId::generate().uuid())
        .bind(spec.node_id.map(|it| it.uuid()))
        .bind(spec.pool_id.map(|it| it.uuid()))
        .bind(clock::bind(spec.starts_at))
        .bind(clock::bind(spec.ends_at))
        .bind(spec.reason.as_str())
        .fetch_optional(tx.conn())
        .await?;
    row.map(window).transpose()
}

pub async fn get(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<MaintenanceWindow>> {
    read(tx, &format!("SELECT {COLUMNS} FROM maintenance_windows WHERE id = $1"), id).await
}

pub async fn lock(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<MaintenanceWindow>> {
    read(tx, &format!("SELECT {COLUMNS} FROM maintenance_windows WHERE id = $1 FOR NO KEY UPDATE"), id).await
}

async fn read(tx: &mut Tx, statement: &str, id: Uuid) -> sqlx::Result<Option<MaintenanceWindow>> {
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement.to_owned())).bind(id).fetch_optional(tx.conn()).await?;
    row.map(window).transpose()
}

pub async fn list(tx: &mut Tx, filter: &MaintenanceWindowFilter) -> sqlx::Result<Vec<MaintenanceWindow>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM maintenance_windows WHERE ($1::text IS NULL OR state = $1)
           AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(filter.state.map(|it| it.as_str()))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(window).collect()
}

/// Windows that projects of the organization were told of.
pub async fn announced(
    tx: &mut Tx,
    organization: OrganizationId,
    filter: &AnnouncedWindowFilter,
) -> sqlx::Result<Vec<AnnouncedWindow>> {
    let rows: Vec<AnnouncedRow> = sqlx::query_as(
        "SELECT w.id, w.starts_at, w.ends_at, w.reason, w.state, told.projects
         FROM (SELECT window_id, array_agg(project_id ORDER BY project_id) AS projects FROM maintenance_notices
               WHERE organization_id = $1 GROUP BY window_id) AS told
         JOIN maintenance_windows w ON w.id = told.window_id
         WHERE ($2::text IS NULL OR w.state = $2) AND ($3::uuid IS NULL OR w.id < $3) ORDER BY w.id DESC LIMIT $4",
    )
    .bind(organization.uuid())
    .bind(filter.state.map(|it| it.as_str()))
    .bind(filter.cursor.map(|it| it.0))
    .bind(filter.limit.probe())
    .fetch_all(tx.conn())
    .await?;
    let announced = |row: AnnouncedRow| {
        Ok(AnnouncedWindow {
            id: row.id.into(),
            project_ids: row.projects.into_iter().map(Into::into).collect(),
            starts_at: row.starts_at.to_jiff(),
            ends_at: row.ends_at.to_jiff(),
            reason: rows::text(&row.reason)?,
            state: rows::word(&row.state)?,
        })
    };
    rows.into_iter().map(announced).collect()
}

/// Notes some of the affected projects that were not told; which ones.
pub async fn announce(tx: &mut Tx, id: MaintenanceWindowId, most: i64) -> sqlx::Result<Vec<(Uuid, Uuid)>> {
    let statement = format!(
        "INSERT INTO maintenance_notices (organization_id, project_id, window_id, notified_state)
         SELECT DISTINCT a.organization_id, a.project_id, $1::uuid, 'planned' FROM ({TARGETS}) AS target
         JOIN allocation_parts p ON p.node_id = target.id JOIN allocations a ON a.id = p.allocation_id
         WHERE a.state NOT IN ('released', 'failed')
           AND NOT EXISTS (SELECT FROM maintenance_notices n WHERE n.window_id = $1 AND n.project_id = a.project_id)
         LIMIT $2 ON CONFLICT DO NOTHING RETURNING organization_id, project_id"
    );
    sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).bind(most).fetch_all(tx.conn()).await
}

/// Notes some of those who were told of the window as having been told of its
/// state too; which ones.
pub async fn tell(tx: &mut Tx, window: &MaintenanceWindow, most: i64) -> sqlx::Result<Vec<(Uuid, Uuid)>> {
    sqlx::query_as(
        "UPDATE maintenance_notices SET notified_state = $2 WHERE window_id = $1 AND project_id IN (
           SELECT project_id FROM maintenance_notices WHERE window_id = $1 AND notified_state IS DISTINCT FROM $2 ORDER BY project_id LIMIT $3)
         RETURNING organization_id, project_id",
    )
    .bind(window.id.uuid())
    .bind(window.state.as_str())
    .bind(most)
    .fetch_all(tx.conn())
    .await
}

/// Nodes in service that the window did not empty yet. One that somebody put
/// back into service during the window stays there.
pub async fn to_empty(tx: &mut Tx, id: MaintenanceWindowId, most: i64) -> sqlx::Result<Vec<NodeId>> {
    let statement = format!(
        "SELECT target.id FROM ({TARGETS}) AS target WHERE target.state IN ('ready', 'cordoned')
           AND NOT EXISTS (SELECT FROM maintenance_nodes m WHERE m.window_id = $1 AND m.node_id = target.id)
         ORDER BY target.id LIMIT $2"
    );
    let ids: Vec<Uuid> =
        sqlx::query_scalar(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).bind(most).fetch_all(tx.conn()).await?;
    Ok(ids.into_iter().map(Into::into).collect())
}

pub async fn emptied(tx: &mut Tx, id: MaintenanceWindowId, node: NodeId, was_cordoned: bool) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO maintenance_nodes (window_id, node_id, was_cordoned) VALUES ($1, $2, $3)")
        .bind(id.uuid())
        .bind(node.uuid())
        .bind(was_cordoned)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Nodes that the window emptied and did not give back.
pub async fn to_restore(tx: &mut Tx, id: MaintenanceWindowId, most: i64) -> sqlx::Result<Vec<(NodeId, bool)>> {
    let rows: Vec<(Uuid, bool)> = sqlx::query_as(
        "SELECT node_id, was_cordoned FROM maintenance_nodes WHERE window_id = $1 AND restored_at IS NULL
         ORDER BY node_id LIMIT $2",
    )
    .bind(id.uuid())
    .bind(most)
    .fetch_all(tx.conn())
    .await?;
    Ok(rows.into_iter().map(|(node, was_cordoned)| (node.into(), was_cordoned)).collect())
}

pub async fn restored(tx: &mut Tx, id: MaintenanceWindowId, node: NodeId) -> sqlx::Result<()> {
    sqlx::query("UPDATE maintenance_nodes SET restored_at = app_now() WHERE window_id = $1 AND node_id = $2")
        .bind(id.uuid())
        .bind(node.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Windows that somebody should be looking after.
pub async fn overdue(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT id FROM maintenance_windows WHERE state IN ('planned', 'active')
         UNION SELECT window_id FROM maintenance_nodes JOIN maintenance_windows w ON w.id = window_id
           WHERE restored_at IS NULL AND w.state IN ('over', 'canceled')
         UNION SELECT window_id FROM maintenance_notices n JOIN maintenance_windows w ON w.id = window_id
           WHERE n.notified_state <> w.state LIMIT $1",
    )
    .bind(limit)
    .fetch_all(tx.conn())
    .await
}

pub fn versioned(window: &MaintenanceWindow) -> sqlx::Result<Versioned<MaintenanceWindowState>> {
    let state = rows::known(window.state.as_str())?;
    Ok(Versioned { id: window.id.uuid(), organization: None, state, version: window.version })
}

fn window(row: Row) -> sqlx::Result<MaintenanceWindow> {
    Ok(MaintenanceWindow {
        id: row.id.into(),
        node_id: row.node_id.map(Into::into),
        pool_id: row.pool_id.map(Into::into),
        starts_at: row.starts_at.to_jiff(),
        ends_at: row.ends_at.to_jiff(),
        reason: rows::text(&row.reason)?,
        state: rows::word(&row.state)?,
        version: row.version,
        created_at: row.created_at.to_jiff(),
    })
}
