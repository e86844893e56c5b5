//! The rows of `invitations`.

use contract::{
    Email, Role, Timestamp, Word,
    id::{InvitationId, OrganizationId},
    invitations::{Invitation, InvitationFilter, InvitationState},
};
use kernel::{Tx, lifecycle::Versioned, secrets::TokenHash};
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    email: String,
    role: String,
    state: String,
    version: i64,
    created_at: jiff_sqlx::Timestamp,
    expires_at: jiff_sqlx::Timestamp,
    made_by: Option<String>,
}

/// An invitation with the organization that it is for.
#[derive(Debug, Clone)]
pub struct StoredInvitation {
    pub invitation: Invitation,
    pub organization: OrganizationId,
    /// As audit entries name them.
    pub made_by: Option<String>,
}

const COLUMNS: &str = "id, organization_id, email, role, state, version, created_at, expires_at, made_by";

pub struct New<'a> {
    pub id: InvitationId,
    pub organization: OrganizationId,
    pub email: &'a Email,
    pub role: Role,
    pub token: TokenHash,
    /// The hash of the token that is mailed, and that token sealed.
    pub mailed: (TokenHash, Vec<u8>),
    pub made_by: &'a str,
    pub expires_at: Timestamp,
}

pub async fn insert(tx: &mut Tx, new: New<'_>) -> sqlx::Result<StoredInvitation> {
    let statement = format!(
        "INSERT INTO invitations (id, organization_id, email, role, token_hash, state, expires_at, mail_token_hash, mail_token, made_by)
         VALUES ($1, $2, $3, $4, $5, 'pending', $6, $7, $8, $9) RETURNING {COLUMNS}"
    );
    let row: Row = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(new.id.uuid())
        .bind(new.organization.uuid())
        .bind(new.email.folded())
        .bind(new.role.as_str())
        .bind(&new.token.as_bytes()[..])
        .bind(kernel::clock::bind(new.expires_at))
        .bind(&new.mailed.0.as_bytes()[..])
        .bind(new.mailed.1)
        .bind(new.made_by)
        .fetch_one(tx.conn())
        .await?;
    found(row)
}

/// The sealed token of a pending invitation's mail.
pub async fn mail_token(tx: &mut Tx, id: InvitationId) -> sqlx::Result<Option<Vec<u8>>> {
    let found: Option<Option<Vec<u8>>> =
        sqlx::query_scalar("SELECT mail_token FROM invitations WHERE id = $1 AND state = 'pending'")
            .bind(id.uuid())
            .fetch_optional(tx.conn())
            .await?;
    Ok(found.flatten())
}

/// Forgets the token itself once its mail was sent; its hash stays.
pub async fn forget_mail_token(tx: &mut Tx, id: InvitationId) -> sqlx::Result<()> {
    sqlx::query("UPDATE invitations SET mail_token = NULL WHERE id = $1").bind(id.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// What somebody made and nobody accepted yet, locked.
pub async fn made_by(tx: &mut Tx, organization: OrganizationId, maker: &str) -> sqlx::Result<Vec<StoredInvitation>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM invitations WHERE organization_id = $1 AND made_by = $2 AND state = 'pending' ORDER BY id FOR UPDATE"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organization.uuid())
        .bind(maker)
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(found).collect()
}

pub async fn pending(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM invitations WHERE organization_id = $1 AND state = 'pending'")
        .bind(organization.uuid())
        .fetch_one(tx.conn())
        .await
}

pub async fn list(
    tx: &mut Tx,
    organization: OrganizationId,
    filter: &InvitationFilter,
) -> sqlx::Result<Vec<Invitation>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM invitations WHERE organization_id = $1 AND ($2::text IS NULL OR state = $2)
           AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organization.uuid())
        .bind(filter.state.map(|it| it.as_str()))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(|row| found(row).map(|it| it.invitation)).collect()
}

pub async fn get(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<StoredInvitation>> {
    let statement = format!("SELECT {COLUMNS} FROM invitations WHERE id = $1");
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id).fetch_optional(tx.conn()).await?;
    row.map(found).transpose()
}

/// A pending invitation by one of its tokens, for the address it was made for.
pub async fn by_token(tx: &mut Tx, token: &TokenHash, email: &str) -> sqlx::Result<Option<StoredInvitation>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM invitations WHERE (token_hash = $1 OR mail_token_hash = $1) AND email = $2
           AND state = 'pending' AND expires_at > app_now()"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(&token.as_bytes()[..])
        .bind(email)
        .fetch_optional(tx.conn())
        .await?;
    row.map(found).transpose()
}

/// The address of the pending invitation whose mail carried the token. The one that
/// the inviter sees proves no address.
pub async fn mailed_to(tx: &mut Tx, token: &TokenHash) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "SELECT email FROM invitations WHERE mail_token_hash = $1 AND state = 'pending' AND expires_at > app_now()",
    )
    .bind(&token.as_bytes()[..])
    .fetch_optional(tx.conn())
    .await
}

/// Whether somebody with this address is invited anywhere.
pub async fn is_awaited(tx: &mut Tx, email: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM invitations WHERE email = $1 AND state = 'pending' AND expires_at > app_now())",
    )
    .bind(email)
    .fetch_one(tx.conn())
    .await
}

/// Invitations whose time is up.
pub async fn overdue(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar("SELECT id FROM invitations WHERE state = 'pending' AND expires_at <= app_now() LIMIT $1")
        .bind(limit)
        .fetch_all(tx.conn())
        .await
}

/// Forgets an address in every invitation.
pub async fn erase(tx: &mut Tx, email: &str) -> sqlx::Result<()> {
    sqlx::query("UPDATE invitations SET email = 'erased@invalid' WHERE email = $1")
        .bind(email)
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub fn versioned(found: &StoredInvitation) -> sqlx::Result<Versioned<InvitationState>> {
    Ok(Versioned {
        id: found.invitation.id.uuid(),
        organization: Some(found.organization.uuid()),
        state: platform::rows::known(found.invitation.state.as_str())?,
        version: found.invitation.version,
    })
}

fn found(row: Row) -> sqlx::Result<StoredInvitation> {
    let invitation = Invitation {
        id: row.id.into(),
        email: platform::rows::text(&row.email)?,
        role: platform::rows::word(&row.role)?,
        state: platform::rows::word(&row.state)?,
        version: row.version,
        created_at: row.created_at.to_jiff(),
        expires_at: row.expires_at.to_jiff(),
    };
    Ok(StoredInvitation { invitation, organization: row.organization_id.into(), made_by: row.made_by })
}
