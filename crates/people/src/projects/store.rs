//! The rows of `projects`.

use std::collections::HashMap;

use contract::{
    Name, Word,
    id::{OrganizationId, ProjectId},
    organizations::OrganizationState,
    projects::{Project, ProjectFilter, ProjectState},
};
use kernel::{Tx, lifecycle::Versioned};
use uuid::Uuid;

use crate::organizations;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    name: String,
    state: String,
    version: i64,
    created_at: jiff_sqlx::Timestamp,
}

const COLUMNS: &str = "id, organization_id, name, state, version, created_at";

#[derive(Debug, Clone, PartialEq)]
pub enum InsertOutcome {
    Project(Project),
    NameTaken,
    LimitReached,
    /// The organization was suspended or closed a moment ago.
    NotActive,
}

/// Inserts a project unless the organization has `most` already. Creations in
/// one organization take turns, or two at once could pass the limit.
pub async fn insert(tx: &mut Tx, organization: OrganizationId, name: &Name, most: u64) -> sqlx::Result<InsertOutcome> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    if organizations::lock(tx, organization).await? != Some(OrganizationState::Active) {
        return Ok(InsertOutcome::NotActive);
    }
    let row: Option<Row> = sqlx::query_as(
        "INSERT INTO projects (id, organization_id, name, state)
         SELECT $1, $2, $3, 'active'
         WHERE (SELECT count(*) FROM (SELECT FROM projects WHERE organization_id = $2 AND state <> 'deleted' LIMIT $4) AS present) < $4
         ON CONFLICT (organization_id, lower(name)) WHERE state <> 'deleted' DO NOTHING
         RETURNING id, organization_id, name, state, version, created_at",
    )
    .bind(ProjectId::generate().uuid())
    .bind(organization.uuid())
    .bind(name.as_str())
    .bind(most)
    .fetch_optional(tx.conn())
    .await?;
    match row {
        Some(row) => Ok(InsertOutcome::Project(project(row)?)),
        None if by_name(tx, organization, name).await?.is_some() => Ok(InsertOutcome::NameTaken),
        None => Ok(InsertOutcome::LimitReached),
    }
}

async fn by_name(tx: &mut Tx, organization: OrganizationId, name: &Name) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar(
        "SELECT id FROM projects WHERE organization_id = $1 AND lower(name) = lower($2) AND state <> 'deleted'",
    )
    .bind(organization.uuid())
    .bind(name.as_str())
    .fetch_optional(tx.conn())
    .await
}

pub async fn get(tx: &mut Tx, id: ProjectId) -> sqlx::Result<Option<Project>> {
    let row: Option<Row> =
        sqlx::query_as("SELECT id, organization_id, name, state, version, created_at FROM projects WHERE id = $1")
            .bind(id.uuid())
            .fetch_optional(tx.conn())
            .await?;
    row.map(project).transpose()
}

/// The same, and nobody moves it before this transaction ends.
pub async fn get_for_update(tx: &mut Tx, id: ProjectId) -> sqlx::Result<Option<Project>> {
    let statement = format!("SELECT {COLUMNS} FROM projects WHERE id = $1 FOR NO KEY UPDATE");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(project).transpose()
}

/// The states of these, which stay so until the commit.
pub async fn share_states(tx: &mut Tx, ids: &[Uuid]) -> sqlx::Result<HashMap<Uuid, ProjectState>> {
    // By id, in one order: whoever changes several of them waits and never blocks.
    let states: Vec<(Uuid, String)> =
        sqlx::query_as("SELECT id, state FROM projects WHERE id = ANY($1) ORDER BY id FOR SHARE")
            .bind(ids)
            .fetch_all(tx.conn())
            .await?;
    states.into_iter().map(|(id, state)| Ok((id, platform::rows::known(&state)?))).collect()
}

/// Whether the organization has that project and it is active; then it stays so until the commit.
pub async fn lock_active(tx: &mut Tx, organization: OrganizationId, id: ProjectId) -> sqlx::Result<bool> {
    let statement =
        "SELECT FROM projects WHERE organization_id = $1 AND id = $2 AND state = 'active' FOR NO KEY UPDATE";
    let row = sqlx::query(statement).bind(organization.uuid()).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    Ok(row.is_some())
}

pub async fn list(tx: &mut Tx, organization: OrganizationId, filter: &ProjectFilter) -> sqlx::Result<Vec<Project>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM projects WHERE organization_id = $1
           AND CASE WHEN $2::text IS NULL THEN state <> 'deleted' ELSE state = $2 END AND ($3::text IS NULL OR lower(name) = lower($3)) AND ($4::uuid IS NULL OR id < $4)
         ORDER BY id DESC LIMIT $5"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organization.uuid())
        .bind(filter.state.map(|it| it.as_str()))
        .bind(filter.name.as_ref().map(|it| it.as_str()))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(project).collect()
}

#[derive(Debug, Clone, PartialEq)]
pub enum Renamed {
    Project(Project),
    NameTaken,
    /// It is being deleted, or never was.
    NotActive,
}

pub async fn rename(tx: &mut Tx, id: ProjectId, name: &Name) -> sqlx::Result<Renamed> {
    let statement = format!(
        "UPDATE projects SET name = $2, version = version + 1 WHERE id = $1 AND state = 'active' RETURNING {COLUMNS}"
    );
    let renamed: sqlx::Result<Option<Row>> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(id.uuid())
        .bind(name.as_str())
        .fetch_optional(tx.conn())
        .await;
    match renamed {
        Ok(Some(row)) => project(row).map(Renamed::Project),
        Ok(None) => Ok(Renamed::NotActive),
        Err(sqlx::Error::Database(error)) if error.is_unique_violation() => Ok(Renamed::NameTaken),
        Err(error) => Err(error),
    }
}

/// Projects that the safety net should look at.
pub async fn deleting(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar("SELECT id FROM projects WHERE state = 'deleting' LIMIT $1")
        .bind(limit)
        .fetch_all(tx.conn())
        .await
}

pub async fn active_in(tx: &mut Tx, organization: Uuid) -> sqlx::Result<Vec<Project>> {
    let statement =
        format!("SELECT {COLUMNS} FROM projects WHERE organization_id = $1 AND state = 'active' FOR UPDATE");
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(organization).fetch_all(tx.conn()).await?;
    rows.into_iter().map(project).collect()
}

pub fn versioned(project: &Project) -> sqlx::Result<Versioned<ProjectState>> {
    Ok(Versioned {
        id: project.id.uuid(),
        organization: Some(project.organization_id.uuid()),
        state: platform::rows::known(project.state.as_str())?,
        version: project.version,
    })
}

fn project(row: Row) -> sqlx::Result<Project> {
    Ok(Project {
        id: row.id.into(),
        organization_id: row.organization_id.into(),
        name: platform::rows::text(&row.name)?,
        state: platform::rows::word(&row.state)?,
        version: row.version,
        created_at: row.created_at.to_jiff(),
    })
}
