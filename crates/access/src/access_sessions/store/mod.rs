//! The rows of `access_sessions`.

mod beats;
mod circumstances;
mod moves;

pub use beats::{CarriedSession, hear, of_earlier_starts, unheard};
pub use circumstances::{circumstances, is_permitted};
pub use moves::{
    Attach, New, Visit, attach, by_cookie, count_live, detached, ended, explained, find, forget_addresses,
    forget_reason, insert, left, live_of, lock, visit,
};

use std::time::Duration;

use contract::{
    Timestamp, Word,
    access_sessions::{AccessKind, AccessSession, AccessSessionState, AllAccessSessionsFilter},
    id::{AccessSessionId, AllocationId, GatewayId, NodeId, OrganizationId, ProjectId},
};
use kernel::{Tx, clock, lifecycle::Versioned};
use uuid::Uuid;

use people::credentials::Credential;
use platform::rows;

/// Who took a session of somebody else's over, and what they showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    pub actor: String,
    pub credential: Credential,
}

/// A session as those see it who move it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: AccessSessionId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub allocation: AllocationId,
    pub node: NodeId,
    pub gateway: GatewayId,
    pub kind: AccessKind,
    pub port: Option<u16>,
    pub actor: String,
    pub is_shared: bool,
    pub watches: Option<AccessSessionId>,
    pub is_break_glass: bool,
    pub credential: Credential,
    /// Who drives it, unless that is its owner.
    pub guest: Option<Guest>,
    pub grace: Duration,
    pub until: Timestamp,
    pub state: AccessSessionState,
    pub version: i64,
}

pub fn versioned(session: &Session) -> Versioned<AccessSessionState> {
    let organization = Some(session.organization.uuid());
    Versioned { id: session.id.uuid(), organization, state: session.state, version: session.version }
}

/// What [`Session`] is read from.
#[derive(sqlx::FromRow)]
struct SessionRow {
    id: Uuid,
    organization_id: Uuid,
    project_id: Uuid,
    allocation_id: Uuid,
    node_id: Uuid,
    gateway_id: Uuid,
    kind: String,
    port: Option<i32>,
    actor: String,
    is_shared: bool,
    watches: Option<Uuid>,
    is_break_glass: bool,
    login_session_id: Option<Uuid>,
    key_id: Option<Uuid>,
    guest_actor: Option<String>,
    guest_login_session_id: Option<Uuid>,
    guest_key_id: Option<Uuid>,
    grace_seconds: i32,
    until: jiff_sqlx::Timestamp,
    state: String,
    version: i64,
}

const SESSION: &str =
    "s.id, s.organization_id, s.project_id, s.allocation_id, s.node_id, s.gateway_id, s.kind, s.port, s.actor,
    s.is_shared, s.watches, s.break_glass IS NOT NULL AS is_break_glass, s.login_session_id, s.key_id, s.guest_actor,
    s.guest_login_session_id, s.guest_key_id, s.grace_seconds, s.until, s.state, s.version";

/// How the columns about the one who opened a session begin, and those about its guest.
const OWNER: &str = "";
const GUEST: &str = "guest_";

/// Whether what one of them came in with was revoked. Once it has expired and is
/// forgotten, the session goes by its own limits.
fn revoked(whose: &'static str) -> String {
    format!(
        "(EXISTS (SELECT FROM sessions c WHERE c.id = s.{whose}login_session_id AND c.revoked_at IS NOT NULL)
          OR EXISTS (SELECT FROM keys c WHERE c.id = s.{whose}key_id AND c.revoked_at IS NOT NULL))"
    )
}

fn session(row: SessionRow) -> sqlx::Result<Session> {
    let shown = Credential { login_session: row.guest_login_session_id, key: row.guest_key_id };
    Ok(Session {
        id: row.id.into(),
        organization: row.organization_id.into(),
        project: row.project_id.into(),
        allocation: row.allocation_id.into(),
        node: row.node_id.into(),
        gateway: row.gateway_id.into(),
        kind: rows::known(&row.kind)?,
        port: row.port.and_then(|it| u16::try_from(it).ok()),
        actor: row.actor,
        is_shared: row.is_shared,
        watches: row.watches.map(Into::into),
        is_break_glass: row.is_break_glass,
        credential: Credential { login_session: row.login_session_id, key: row.key_id },
        guest: row.guest_actor.map(|actor| Guest { actor, credential: shown }),
        grace: Duration::from_secs(u64::try_from(row.grace_seconds).unwrap_or(0)),
        until: row.until.to_jiff(),
        state: rows::known(&row.state)?,
        version: row.version,
    })
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    project_id: Uuid,
    allocation_id: Uuid,
    node_id: Uuid,
    kind: String,
    port: Option<i32>,
    actor: String,
    user_id: Option<Uuid>,
    address: String,
    gateway_id: Uuid,
    is_shared: bool,
    watches: Option<Uuid>,
    break_glass: Option<String>,
    state: String,
    version: i64,
    state_since: jiff_sqlx::Timestamp,
    bytes_in: i64,
    bytes_out: i64,
    stalls: i64,
    created_at: jiff_sqlx::Timestamp,
    until: jiff_sqlx::Timestamp,
    ended_at: Option<jiff_sqlx::Timestamp>,
    reason: Option<String>,
    exit_code: Option<i32>,
    recordings: Vec<Uuid>,
}

const SELECT: &str = "SELECT s.id, s.organization_id, s.project_id, s.allocation_id, s.node_id, s.kind, s.port, s.actor, s.user_id,
    s.address, s.gateway_id, s.is_shared, s.watches, s.break_glass, s.state, s.version, s.state_since, s.bytes_in, s.bytes_out,
    s.stalls, s.created_at, s.until, s.ended_at, s.reason, s.exit_code,
    ARRAY(SELECT r.id FROM recordings r WHERE r.session_id = s.id ORDER BY r.id) AS recordings
  FROM access_sessions s";

pub async fn get(tx: &mut Tx, id: AccessSessionId) -> sqlx::Result<Option<AccessSession>> {
    let statement = format!("{SELECT} WHERE s.id = $1");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(shown).transpose()
}

pub async fn list(tx: &mut Tx, filter: &AllAccessSessionsFilter) -> sqlx::Result<Vec<AccessSession>> {
    let statement = format!(
        "{SELECT} WHERE ($1::uuid IS NULL OR s.organization_id = $1)
           AND CASE WHEN $2::text IS NULL THEN s.state <> 'ended' ELSE s.state = $2 END
           AND ($3::uuid IS NULL OR s.allocation_id = $3) AND ($4::uuid IS NULL OR s.user_id = $4)
           AND ($5::uuid IS NULL OR s.gateway_id = $5) AND ($6::timestamptz IS NULL OR s.created_at >= $6)
           AND ($7::timestamptz IS NULL OR s.created_at < $7) AND ($8::uuid IS NULL OR s.id < $8)
         ORDER BY s.id DESC LIMIT $9"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(filter.organization_id.map(|it| it.uuid()))
        .bind(filter.state.map(|it| it.as_str()))
        .bind(filter.allocation_id.map(|it| it.uuid()))
        .bind(filter.user_id.map(|it| it.uuid()))
        .bind(filter.gateway_id.map(|it| it.uuid()))
        .bind(filter.since.map(clock::bind))
        .bind(filter.until.map(clock::bind))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(shown).collect()
}

fn shown(row: Row) -> sqlx::Result<AccessSession> {
    let count = |it: i64| u64::try_from(it).unwrap_or(0);
    Ok(AccessSession {
        id: row.id.into(),
        organization_id: row.organization_id.into(),
        project_id: row.project_id.into(),
        allocation_id: row.allocation_id.into(),
        node_id: row.node_id.into(),
        kind: rows::word(&row.kind)?,
        port: row.port.and_then(|it| u16::try_from(it).ok()),
        opened_by: row.actor,
        user_id: row.user_id.map(Into::into),
        address: row.address,
        gateway_id: row.gateway_id.into(),
        is_shared: row.is_shared,
        watches: row.watches.map(Into::into),
        break_glass: row.break_glass,
        state: rows::word(&row.state)?,
        version: row.version,
        state_since: row.state_since.to_jiff(),
        bytes_in: count(row.bytes_in),
        bytes_out: count(row.bytes_out),
        stalls: count(row.stalls),
        created_at: row.created_at.to_jiff(),
        ends_at: row.until.to_jiff(),
        ended_at: row.ended_at.map(|it| it.to_jiff()),
        reason: row.reason,
        exit_code: row.exit_code,
        recording_ids: row.recordings.into_iter().map(Into::into).collect(),
    })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A session of the kind, as it might be read.
    pub fn session(kind: AccessKind) -> Session {
        Session {
            id: AccessSessionId::generate(),
            organization: OrganizationId::generate(),
            project: ProjectId::generate(),
            allocation: AllocationId::generate(),
            node: NodeId::generate(),
            gateway: GatewayId::generate(),
            kind,
            port: None,
            actor: "user:user-1".into(),
            is_shared: false,
            watches: None,
            is_break_glass: false,
            credential: Credential::default(),
            guest: None,
            grace: Duration::from_secs(300),
            until: Timestamp::MAX,
            state: AccessSessionState::Open,
            version: 1,
        }
    }
}
