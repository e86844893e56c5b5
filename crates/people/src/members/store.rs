//! The rows of `memberships`.

use contract::{
    Email, Role, Word,
    id::{OrganizationId, UserId},
    members::{Member, MemberFilter},
};
use kernel::Tx;
use uuid::Uuid;

type Columns = (Uuid, String, String, String, jiff_sqlx::Timestamp);

const SELECT: &str =
    "SELECT m.user_id, u.email, u.name, m.role, m.created_at FROM memberships m JOIN users u ON u.id = m.user_id";

pub async fn insert(tx: &mut Tx, organization: OrganizationId, user: UserId, role: Role) -> sqlx::Result<bool> {
    let added = sqlx::query(
        "INSERT INTO memberships (organization_id, user_id, role) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    )
    .bind(organization.uuid())
    .bind(user.uuid())
    .bind(role.as_str())
    .execute(tx.conn())
    .await?;
    Ok(added.rows_affected() == 1)
}

pub async fn list(tx: &mut Tx, organization: OrganizationId, filter: &MemberFilter) -> sqlx::Result<Vec<Member>> {
    let statement = format!(
        "{SELECT} WHERE m.organization_id = $1 AND ($2::text IS NULL OR m.role = $2)
           AND ($3::text IS NULL OR u.email = $3) AND ($4::uuid IS NULL OR m.user_id < $4)
         ORDER BY m.user_id DESC LIMIT $5"
    );
    let rows: Vec<Columns> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organization.uuid())
        .bind(filter.role.map(|it| it.as_str()))
        .bind(filter.email.as_ref().map(Email::folded))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(member).collect()
}

/// One member, locked, with every owner of the organization locked too: two
/// owners must not step down at once.
pub async fn lock(tx: &mut Tx, organization: OrganizationId, user: UserId) -> sqlx::Result<Option<Member>> {
    sqlx::query("SELECT FROM memberships WHERE organization_id = $1 AND role = 'owner' ORDER BY user_id FOR UPDATE")
        .bind(organization.uuid())
        .execute(tx.conn())
        .await?;
    let statement = format!("{SELECT} WHERE m.organization_id = $1 AND m.user_id = $2 FOR UPDATE OF m");
    let row: Option<Columns> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organization.uuid())
        .bind(user.uuid())
        .fetch_optional(tx.conn())
        .await?;
    row.map(member).transpose()
}

pub async fn role_of(tx: &mut Tx, organization: OrganizationId, user: UserId) -> sqlx::Result<Option<Role>> {
    let role: Option<String> =
        sqlx::query_scalar("SELECT role FROM memberships WHERE organization_id = $1 AND user_id = $2")
            .bind(organization.uuid())
            .bind(user.uuid())
            .fetch_optional(tx.conn())
            .await?;
    role.map(|it| platform::rows::known(&it)).transpose()
}

pub async fn owners(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM memberships WHERE organization_id = $1 AND role = 'owner'")
        .bind(organization.uuid())
        .fetch_one(tx.conn())
        .await
}

pub async fn change(tx: &mut Tx, organization: OrganizationId, user: UserId, role: Role) -> sqlx::Result<()> {
    sqlx::query("UPDATE memberships SET role = $3 WHERE organization_id = $1 AND user_id = $2")
        .bind(organization.uuid())
        .bind(user.uuid())
        .bind(role.as_str())
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn remove(tx: &mut Tx, organization: OrganizationId, user: UserId) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM memberships WHERE organization_id = $1 AND user_id = $2")
        .bind(organization.uuid())
        .bind(user.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn sole_owner_of(tx: &mut Tx, user: UserId) -> sqlx::Result<Vec<OrganizationId>> {
    // Owners of the same organizations must not leave at the same moment.
    sqlx::query(
        "SELECT FROM memberships WHERE role = 'owner' AND organization_id IN
           (SELECT organization_id FROM memberships WHERE user_id = $1 AND role = 'owner') ORDER BY organization_id, user_id FOR UPDATE",
    )
    .bind(user.uuid())
    .execute(tx.conn())
    .await?;
    let rows: Vec<Uuid> = sqlx::query_scalar(
        "SELECT m.organization_id FROM memberships m JOIN organizations o ON o.id = m.organization_id
         WHERE m.user_id = $1 AND m.role = 'owner' AND o.state <> 'closed'
           AND NOT EXISTS (SELECT FROM memberships x WHERE x.organization_id = m.organization_id AND x.role = 'owner' AND x.user_id <> $1)",
    )
    .bind(user.uuid())
    .fetch_all(tx.conn())
    .await?;
    Ok(rows.into_iter().map(OrganizationId::from).collect())
}

pub async fn remove_everywhere(tx: &mut Tx, user: UserId) -> sqlx::Result<Vec<OrganizationId>> {
    let rows: Vec<Uuid> = sqlx::query_scalar("DELETE FROM memberships WHERE user_id = $1 RETURNING organization_id")
        .bind(user.uuid())
        .fetch_all(tx.conn())
        .await?;
    Ok(rows.into_iter().map(OrganizationId::from).collect())
}

fn member((user_id, email, name, role, joined_at): Columns) -> sqlx::Result<Member> {
    Ok(Member {
        user_id: user_id.into(),
        email: platform::rows::text(&email)?,
        name: platform::rows::text(&name)?,
        role: platform::rows::word(&role)?,
        joined_at: joined_at.to_jiff(),
    })
}
