//! What is written when sessions begin, go elsewhere and end.

use std::time::Duration;

use contract::{
    Timestamp, Word,
    access_sessions::AccessKind,
    allocations::AllocationState,
    id::{AccessSessionId, AllocationId, GatewayId, NodeId, OrganizationId, ProjectId, UserId},
};
use kernel::{Tx, clock};
use protocol::gateway::LeftRequest;
use uuid::Uuid;

use super::{Guest, OWNER, SESSION, Session, SessionRow, circumstances::principal, revoked, session};
use people::credentials::Credential;
use platform::rows;

/// A session that begins.
pub struct New<'a> {
    pub id: AccessSessionId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub allocation: AllocationId,
    pub node: NodeId,
    pub kind: AccessKind,
    pub port: Option<u16>,
    pub actor: &'a str,
    pub address: &'a str,
    pub gateway: GatewayId,
    pub is_shared: bool,
    pub watches: Option<AccessSessionId>,
    pub break_glass: Option<&'a str>,
    pub credential: Credential,
    pub cookie_hash: Option<&'a [u8]>,
    pub grace: Duration,
    pub until: Timestamp,
}

pub async fn insert(tx: &mut Tx, new: New<'_>) -> sqlx::Result<Option<Session>> {
    let Some((principal, is_person)) = principal(new.actor) else { return Ok(None) };
    sqlx::query(
        "INSERT INTO access_sessions (id, organization_id, project_id, allocation_id, node_id, kind, port, actor, principal_id, user_id,
           address, gateway_id, generation, is_shared, watches, break_glass, cookie_hash, grace_seconds, until,
           login_session_id, key_id, state)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, coalesce((SELECT generation FROM gateway_beats WHERE gateway_id = $12), 0),
           $13, $14, $15, $16, $17, $18, $19, $20, 'opening'",
    )
    .bind(new.id.uuid())
    .bind(new.organization.uuid())
    .bind(new.project.uuid())
    .bind(new.allocation.uuid())
    .bind(new.node.uuid())
    .bind(new.kind.as_str())
    .bind(new.port.map(i32::from))
    .bind(new.actor)
    .bind(principal)
    .bind(is_person.then_some(principal))
    .bind(new.address)
    .bind(new.gateway.uuid())
    .bind(new.is_shared)
    .bind(new.watches.map(|it| it.uuid()))
    .bind(new.break_glass)
    .bind(new.cookie_hash)
    .bind(i32::try_from(new.grace.as_secs()).unwrap_or(i32::MAX))
    .bind(clock::bind(new.until))
    .bind(new.credential.login_session)
    .bind(new.credential.key)
    .execute(tx.conn())
    .await?;
    lock(tx, new.id).await
}

/// A session that nobody else moves until the commit.
pub async fn lock(tx: &mut Tx, id: AccessSessionId) -> sqlx::Result<Option<Session>> {
    let statement = format!("SELECT {SESSION} FROM access_sessions s WHERE s.id = $1 FOR UPDATE");
    let row: Option<SessionRow> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(session).transpose()
}

/// As [`lock`], without waiting for those who move it.
pub async fn find(tx: &mut Tx, id: AccessSessionId) -> sqlx::Result<Option<Session>> {
    let statement = format!("SELECT {SESSION} FROM access_sessions s WHERE s.id = $1");
    let row: Option<SessionRow> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(session).transpose()
}

/// The session that a browser's cookie is of, locked.
pub async fn by_cookie(tx: &mut Tx, hash: &[u8]) -> sqlx::Result<Option<Session>> {
    let statement =
        format!("SELECT {SESSION} FROM access_sessions s WHERE s.cookie_hash = $1 AND s.until > app_now() FOR UPDATE");
    let row: Option<SessionRow> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(hash).fetch_optional(tx.conn()).await?;
    row.map(session).transpose()
}

/// Sessions of an allocation that are not over; who only looks on does not count.
pub async fn count_live(tx: &mut Tx, allocation: AllocationId) -> sqlx::Result<u64> {
    let count: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM access_sessions WHERE allocation_id = $1 AND state <> 'ended' AND watches IS NULL",
    )
    .bind(allocation.uuid())
    .fetch_one(tx.conn())
    .await?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// Through which gateway a session goes from now on, and whence its person comes.
pub struct Attach<'a> {
    pub gateway: GatewayId,
    pub address: &'a str,
    pub credential: Credential,
    /// Who takes it over, unless that is its owner. Replaces whoever had.
    pub guest: Option<&'a Guest>,
}

pub async fn attach(tx: &mut Tx, id: AccessSessionId, to: Attach<'_>) -> sqlx::Result<()> {
    let behind = to.guest.and_then(|it| principal(&it.actor));
    let shown = to.guest.map(|it| it.credential).unwrap_or_default();
    sqlx::query(
        "UPDATE access_sessions SET gateway_id = $2, address = $3, heard_at = app_now(),
           generation = coalesce((SELECT generation FROM gateway_beats WHERE gateway_id = $2), 0),
           before_in = bytes_in, before_out = bytes_out, before_stalls = stalls, login_session_id = $4, key_id = $5,
           guest_actor = $6, guest_principal_id = $7, guest_user_id = $8, guest_login_session_id = $9, guest_key_id = $10
         WHERE id = $1",
    )
    .bind(id.uuid())
    .bind(to.gateway.uuid())
    .bind(to.address)
    .bind(to.credential.login_session)
    .bind(to.credential.key)
    .bind(to.guest.map(|it| it.actor.as_str()))
    .bind(behind.map(|(id, _)| id))
    .bind(behind.and_then(|(id, is_person)| is_person.then_some(id)))
    .bind(shown.login_session)
    .bind(shown.key)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Notes how much went through it in the end.
pub async fn left(tx: &mut Tx, id: AccessSessionId, said: &LeftRequest) -> sqlx::Result<()> {
    let number = |it: u64| i64::try_from(it).unwrap_or(i64::MAX / 2);
    sqlx::query(
        "UPDATE access_sessions SET bytes_in = before_in + $2, bytes_out = before_out + $3, stalls = before_stalls + $4,
           exit_code = coalesce($5, exit_code) WHERE id = $1",
    )
    .bind(id.uuid())
    .bind(number(said.bytes_in))
    .bind(number(said.bytes_out))
    .bind(number(said.stalls))
    .bind(said.exit_code)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Stamps the end, before the move.
pub async fn ended(tx: &mut Tx, id: AccessSessionId, reason: &str) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE access_sessions SET ended_at = app_now(), reason = left($2, 100), cookie_hash = NULL WHERE id = $1",
    )
    .bind(id.uuid())
    .bind(reason)
    .execute(tx.conn())
    .await?;
    Ok(())
}

pub async fn explained(tx: &mut Tx, id: AccessSessionId, reason: &str) -> sqlx::Result<()> {
    sqlx::query("UPDATE access_sessions SET reason = left($2, 100) WHERE id = $1")
        .bind(id.uuid())
        .bind(reason)
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn forget_reason(tx: &mut Tx, id: AccessSessionId) -> sqlx::Result<()> {
    sqlx::query("UPDATE access_sessions SET reason = NULL WHERE id = $1 AND reason IS NOT NULL")
        .bind(id.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// A session as a visit finds it.
#[derive(Debug, Clone)]
pub struct Visit {
    pub session: Session,
    pub allocation: AllocationState,
    /// Whether what it was opened with was revoked. A guest who left does not count:
    /// the shell waits for its owner, and who takes it over is looked at anew.
    pub is_revoked: bool,
    /// How long until its time limit.
    pub left: Duration,
    /// For how long nobody has been connected.
    pub alone: Duration,
}

#[derive(sqlx::FromRow)]
struct VisitRow {
    #[sqlx(flatten)]
    session: SessionRow,
    allocation_state: String,
    is_revoked: bool,
    left_s: f64,
    alone_s: f64,
}

pub async fn visit(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<Visit>> {
    let revoked = revoked(OWNER);
    let statement = format!(
        "SELECT {SESSION}, a.state AS allocation_state, {revoked} AS is_revoked, extract(epoch FROM s.until - app_now())::float8 AS left_s,
           extract(epoch FROM app_now() - s.state_since)::float8 AS alone_s
         FROM access_sessions s JOIN allocations a ON a.id = s.allocation_id WHERE s.id = $1"
    );
    let row: Option<VisitRow> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id).fetch_optional(tx.conn()).await?;
    let span = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
    row.map(|row| {
        Ok(Visit {
            session: session(row.session)?,
            allocation: rows::known(&row.allocation_state)?,
            is_revoked: row.is_revoked,
            left: span(row.left_s),
            alone: span(row.alone_s),
        })
    })
    .transpose()
}

/// Sessions that a person opened and that are not over, and those that they took over
/// and have not left, locked.
pub async fn live_of(tx: &mut Tx, user: UserId) -> sqlx::Result<Vec<Session>> {
    let statement = format!(
        "SELECT {SESSION} FROM access_sessions s WHERE s.user_id = $1 AND s.state <> 'ended'
           OR s.guest_user_id = $1 AND s.state IN ('opening', 'open')
         ORDER BY s.id FOR UPDATE"
    );
    let rows: Vec<SessionRow> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(user.uuid()).fetch_all(tx.conn()).await?;
    rows.into_iter().map(session).collect()
}

/// Removes where a person who goes came from, also as a guest.
pub async fn forget_addresses(tx: &mut Tx, user: UserId) -> sqlx::Result<()> {
    sqlx::query("UPDATE access_sessions SET address = 'erased' WHERE user_id = $1 OR guest_user_id = $1")
        .bind(user.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Sessions that nobody is connected to.
pub async fn detached(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar("SELECT id FROM access_sessions WHERE state = 'detached' LIMIT $1")
        .bind(limit)
        .fetch_all(tx.conn())
        .await
}
