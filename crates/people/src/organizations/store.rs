//! The rows of `organizations`.

use std::collections::HashMap;

use contract::{
    Name, Role, Word,
    id::{OrganizationId, UserId},
    organizations::{Organization, OrganizationFilter, OrganizationState},
};
use kernel::{Tx, lifecycle::Versioned};
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    name: String,
    state: String,
    version: i64,
    created_at: jiff_sqlx::Timestamp,
}

const COLUMNS: &str = "id, name, state, version, created_at";

pub async fn insert(tx: &mut Tx, id: OrganizationId, name: &Name) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO organizations (id, name, state) VALUES ($1, $2, 'active')")
        .bind(id.uuid())
        .bind(name.as_str())
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn get(tx: &mut Tx, id: OrganizationId) -> sqlx::Result<Option<Organization>> {
    let statement = format!("SELECT {COLUMNS} FROM organizations WHERE id = $1");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(organization).transpose()
}

/// Those that the scope shows, newest first.
pub async fn list(tx: &mut Tx, filter: &OrganizationFilter) -> sqlx::Result<Vec<Organization>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM organizations WHERE CASE WHEN $1::text IS NULL THEN state <> 'closed' ELSE state = $1 END
           AND ($2::text IS NULL OR lower(name) = lower($2)) AND ($3::uuid IS NULL OR id < $3)
         ORDER BY id DESC LIMIT $4"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(filter.state.map(|it| it.as_str()))
        .bind(filter.name.as_ref().map(Name::as_str))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(organization).collect()
}

pub async fn rename(tx: &mut Tx, id: OrganizationId, name: &Name) -> sqlx::Result<Option<Organization>> {
    let statement =
        format!("UPDATE organizations SET name = $2, version = version + 1 WHERE id = $1 RETURNING {COLUMNS}");
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(id.uuid())
        .bind(name.as_str())
        .fetch_optional(tx.conn())
        .await?;
    row.map(organization).transpose()
}

/// Makes what counts against an organization's limits take turns, until the commit.
pub async fn lock(tx: &mut Tx, id: OrganizationId) -> sqlx::Result<Option<OrganizationState>> {
    let state: Option<String> = sqlx::query_scalar("SELECT state FROM organizations WHERE id = $1 FOR NO KEY UPDATE")
        .bind(id.uuid())
        .fetch_optional(tx.conn())
        .await?;
    state.as_deref().map(platform::rows::known).transpose()
}

/// The states of these, which stay so until the commit.
pub async fn share_states(tx: &mut Tx, ids: &[Uuid]) -> sqlx::Result<HashMap<Uuid, OrganizationState>> {
    // By id, in one order: whoever changes several of them waits and never blocks.
    let states: Vec<(Uuid, String)> =
        sqlx::query_as("SELECT id, state FROM organizations WHERE id = ANY($1) ORDER BY id FOR SHARE")
            .bind(ids)
            .fetch_all(tx.conn())
            .await?;
    states.into_iter().map(|(id, state)| Ok((id, platform::rows::known(&state)?))).collect()
}

/// How many organizations the person owns that are not closed.
pub async fn owned_by(tx: &mut Tx, user: UserId) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "SELECT count(*) FROM memberships m JOIN organizations o ON o.id = m.organization_id
         WHERE m.user_id = $1 AND m.role = $2 AND o.state <> 'closed'",
    )
    .bind(user.uuid())
    .bind(Role::Owner.as_str())
    .fetch_one(tx.conn())
    .await
}

pub fn versioned(organization: &Organization) -> sqlx::Result<Versioned<OrganizationState>> {
    Ok(Versioned {
        id: organization.id.uuid(),
        organization: Some(organization.id.uuid()),
        state: platform::rows::known(organization.state.as_str())?,
        version: organization.version,
    })
}

fn organization(row: Row) -> sqlx::Result<Organization> {
    Ok(Organization {
        id: row.id.into(),
        name: platform::rows::text(&row.name)?,
        state: platform::rows::word(&row.state)?,
        role: None,
        version: row.version,
        created_at: row.created_at.to_jiff(),
    })
}
