//! The rows of `service_accounts`.

use contract::{
    Name, Role, Word,
    id::{OrganizationId, ServiceAccountId},
    service_accounts::{ServiceAccount, ServiceAccountFilter},
};
use kernel::Tx;
use uuid::Uuid;

type Columns = (Uuid, String, String, jiff_sqlx::Timestamp);

/// `None` when the name is taken.
pub async fn insert(
    tx: &mut Tx,
    organization: OrganizationId,
    name: &Name,
    role: Role,
) -> sqlx::Result<Option<ServiceAccount>> {
    let row: Option<Columns> = sqlx::query_as(
        "INSERT INTO service_accounts (id, organization_id, name, role) VALUES ($1, $2, $3, $4)
         ON CONFLICT (organization_id, lower(name)) WHERE deleted_at IS NULL DO NOTHING RETURNING id, name, role, created_at",
    )
    .bind(ServiceAccountId::generate().uuid())
    .bind(organization.uuid())
    .bind(name.as_str())
    .bind(role.as_str())
    .fetch_optional(tx.conn())
    .await?;
    row.map(account).transpose()
}

pub async fn count(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM service_accounts WHERE organization_id = $1 AND deleted_at IS NULL")
        .bind(organization.uuid())
        .fetch_one(tx.conn())
        .await
}

pub async fn list(
    tx: &mut Tx,
    organization: OrganizationId,
    filter: &ServiceAccountFilter,
) -> sqlx::Result<Vec<ServiceAccount>> {
    let rows: Vec<Columns> = sqlx::query_as(
        "SELECT id, name, role, created_at FROM service_accounts
         WHERE organization_id = $1 AND deleted_at IS NULL AND ($2::text IS NULL OR role = $2)
           AND ($3::text IS NULL OR lower(name) = lower($3)) AND ($4::uuid IS NULL OR id < $4)
         ORDER BY id DESC LIMIT $5",
    )
    .bind(organization.uuid())
    .bind(filter.role.map(|it| it.as_str()))
    .bind(filter.name.as_ref().map(Name::as_str))
    .bind(filter.cursor.map(|it| it.0))
    .bind(filter.limit.probe())
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter().map(account).collect()
}

pub async fn get(tx: &mut Tx, id: ServiceAccountId) -> sqlx::Result<Option<ServiceAccount>> {
    let row: Option<Columns> =
        sqlx::query_as("SELECT id, name, role, created_at FROM service_accounts WHERE id = $1 AND deleted_at IS NULL")
            .bind(id.uuid())
            .fetch_optional(tx.conn())
            .await?;
    row.map(account).transpose()
}

pub async fn delete(tx: &mut Tx, id: ServiceAccountId) -> sqlx::Result<()> {
    sqlx::query("UPDATE service_accounts SET deleted_at = app_now() WHERE id = $1")
        .bind(id.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

fn account((id, name, role, created_at): Columns) -> sqlx::Result<ServiceAccount> {
    Ok(ServiceAccount {
        id: id.into(),
        name: platform::rows::text(&name)?,
        role: platform::rows::word(&role)?,
        created_at: created_at.to_jiff(),
    })
}
