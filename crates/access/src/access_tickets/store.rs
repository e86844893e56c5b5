//! The rows of `access_tickets`.

use contract::{Timestamp, id::AccessTicketId};
use kernel::{Access, Db, Tx, clock, secrets::TokenHash};
use uuid::Uuid;

/// What a ticket opens, and for whom.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Ticket {
    pub organization_id: Uuid,
    pub project_id: Uuid,
    pub allocation_id: Uuid,
    /// The session that it opens, or the one that it joins.
    pub session_id: Uuid,
    pub node_id: Uuid,
    pub kind: String,
    pub port: Option<i32>,
    pub resumes: Option<Uuid>,
    pub is_watching: bool,
    pub is_shared: bool,
    pub command: Option<String>,
    pub is_plain: bool,
    pub actor: String,
    pub break_glass: Option<String>,
    /// What was shown to get it.
    pub login_session_id: Option<Uuid>,
    pub key_id: Option<Uuid>,
}

const COLUMNS: &str =
    "organization_id, project_id, allocation_id, session_id, node_id, kind, port, resumes, is_watching,
    is_shared, command, is_plain, actor, break_glass, login_session_id, key_id";

pub async fn insert(
    tx: &mut Tx,
    ticket: &Ticket,
    hash: &TokenHash,
    expires_at: Timestamp,
) -> sqlx::Result<AccessTicketId> {
    let id = AccessTicketId::generate();
    let statement = format!(
        "INSERT INTO access_tickets (id, hash, expires_at, {COLUMNS})
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)"
    );
    sqlx::query(sqlx::AssertSqlSafe(statement))
        .bind(id.uuid())
        .bind(&hash.as_bytes()[..])
        .bind(clock::bind(expires_at))
        .bind(ticket.organization_id)
        .bind(ticket.project_id)
        .bind(ticket.allocation_id)
        .bind(ticket.session_id)
        .bind(ticket.node_id)
        .bind(&ticket.kind)
        .bind(ticket.port)
        .bind(ticket.resumes)
        .bind(ticket.is_watching)
        .bind(ticket.is_shared)
        .bind(&ticket.command)
        .bind(ticket.is_plain)
        .bind(&ticket.actor)
        .bind(&ticket.break_glass)
        .bind(ticket.login_session_id)
        .bind(ticket.key_id)
        .execute(tx.conn())
        .await?;
    Ok(id)
}

/// Spends a ticket: of all who show it at once, one gets it.
pub async fn spend(tx: &mut Tx, hash: &TokenHash) -> sqlx::Result<Option<Ticket>> {
    let statement = format!(
        "UPDATE access_tickets SET used_at = app_now() WHERE hash = $1 AND used_at IS NULL AND expires_at > app_now()
         RETURNING {COLUMNS}"
    );
    sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(&hash.as_bytes()[..]).fetch_optional(tx.conn()).await
}

/// Why a ticket could not be spent; for our counters, not for who showed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unspent {
    Unknown,
    Used,
    Expired,
}

pub async fn why_not(tx: &mut Tx, hash: &TokenHash) -> sqlx::Result<Unspent> {
    let used: Option<bool> = sqlx::query_scalar("SELECT used_at IS NOT NULL FROM access_tickets WHERE hash = $1")
        .bind(&hash.as_bytes()[..])
        .fetch_optional(tx.conn())
        .await?;
    Ok(match used {
        None => Unspent::Unknown,
        Some(true) => Unspent::Used,
        Some(false) => Unspent::Expired,
    })
}

/// Forgets tickets that ended so long ago that no counter wants to know why they fail.
pub async fn forget_old(db: &Db, bite: i64) -> sqlx::Result<u64> {
    let mut tx = Tx::system(db, "keeper", Access::Write).await?;
    let gone = sqlx::query(
        "DELETE FROM access_tickets WHERE id IN (
           SELECT id FROM access_tickets WHERE expires_at < app_now() - interval '1 day' LIMIT $1)", // bound: counters tell late from unknown for a day
    )
    .bind(bite)
    .execute(tx.conn())
    .await?;
    tx.commit().await?;
    Ok(gone.rows_affected())
}
