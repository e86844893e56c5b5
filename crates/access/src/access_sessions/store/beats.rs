//! What gateways say of the sessions that they carry.

use std::time::Duration;

use contract::{allocations::AllocationState, id::GatewayId};
use kernel::Tx;
use protocol::gateway::SessionBeat;
use uuid::Uuid;

use super::{GUEST, OWNER, SESSION, Session, SessionRow, revoked, session};
use crate::access_sessions::authorize::{roles, staff_roles};
use platform::rows;

/// A session that a gateway carries, and what decides whether it goes on.
#[derive(Debug, Clone)]
pub struct CarriedSession {
    pub session: Session,
    pub reason: Option<String>,
    pub allocation: AllocationState,
    pub is_late: bool,
    /// Its owner and its guest both.
    pub is_permitted: bool,
}

#[derive(sqlx::FromRow)]
struct HeardRow {
    #[sqlx(flatten)]
    session: SessionRow,
    reason: Option<String>,
    allocation_state: String,
    is_late: bool,
    is_permitted: bool,
}

/// Whether one of them has a role in the organization that lets them in.
fn admitted(whose: &'static str) -> String {
    format!(
        "CASE WHEN s.{whose}user_id IS NOT NULL
              THEN EXISTS (SELECT FROM memberships m WHERE m.user_id = s.{whose}principal_id
                             AND m.organization_id = s.organization_id AND m.role = ANY($2))
              ELSE EXISTS (SELECT FROM service_accounts p WHERE p.id = s.{whose}principal_id
                             AND p.organization_id = s.organization_id AND p.role = ANY($2) AND p.deleted_at IS NULL) END"
    )
}

/// Notes how much went through the sessions, and reads them. Those that are not
/// known are missing in the answer.
pub async fn hear(tx: &mut Tx, gateway: GatewayId, beats: &[SessionBeat]) -> sqlx::Result<Vec<CarriedSession>> {
    let ids: Vec<Uuid> = beats.iter().map(|it| it.session).collect();
    let numbers = |of: fn(&SessionBeat) -> u64| -> Vec<i64> {
        beats.iter().map(|it| i64::try_from(of(it)).unwrap_or(i64::MAX / 2)).collect()
    };
    sqlx::query(
        "UPDATE access_sessions s SET bytes_in = s.before_in + b.bytes_in, bytes_out = s.before_out + b.bytes_out,
           stalls = s.before_stalls + b.stalls, heard_at = app_now()
         FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[]) AS b (id, bytes_in, bytes_out, stalls)
         WHERE s.id = b.id AND s.gateway_id = $1 AND s.state <> 'ended'",
    )
    .bind(gateway.uuid())
    .bind(&ids)
    .bind(numbers(|it| it.bytes_in))
    .bind(numbers(|it| it.bytes_out))
    .bind(numbers(|it| it.stalls))
    .execute(tx.conn())
    .await?;
    let [owner_revoked, guest_revoked] = [OWNER, GUEST].map(revoked);
    let [owner_admitted, guest_admitted] = [OWNER, GUEST].map(admitted);
    let statement = format!(
        "SELECT {SESSION}, s.reason, a.state AS allocation_state, s.until <= app_now() AS is_late, o.state = 'active'
           AND NOT {owner_revoked}
           AND (b.key IS NULL OR EXISTS (SELECT FROM ssh_keys k WHERE k.user_id = s.principal_id AND k.fingerprint = b.key))
           AND CASE WHEN s.break_glass IS NOT NULL
                THEN EXISTS (SELECT FROM users u WHERE u.id = s.principal_id AND u.platform_role = ANY($3))
                ELSE {owner_admitted} END
           AND (s.guest_actor IS NULL OR (NOT {guest_revoked} AND {guest_admitted})) AS is_permitted
         FROM unnest($1::uuid[], $4::text[]) AS b (id, key) JOIN access_sessions s ON s.id = b.id
         JOIN allocations a ON a.id = s.allocation_id JOIN organizations o ON o.id = s.organization_id"
    );
    let keys: Vec<Option<&str>> = beats.iter().map(|it| it.key.as_deref()).collect();
    let rows: Vec<HeardRow> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(&ids)
        .bind(roles())
        .bind(staff_roles())
        .bind(keys)
        .fetch_all(tx.conn())
        .await?;
    let heard = |row: HeardRow| {
        Ok(CarriedSession {
            session: session(row.session)?,
            reason: row.reason,
            allocation: rows::known(&row.allocation_state)?,
            is_late: row.is_late,
            is_permitted: row.is_permitted,
        })
    };
    rows.into_iter().map(heard).collect()
}

/// Sessions that a gateway carried before it began anew.
pub async fn of_earlier_starts(tx: &mut Tx, gateway: GatewayId, generation: i64) -> sqlx::Result<Vec<Session>> {
    let statement = format!(
        "SELECT {SESSION} FROM access_sessions s
         WHERE s.gateway_id = $1 AND s.generation < $2 AND s.state IN ('opening', 'open') ORDER BY s.id FOR UPDATE"
    );
    let rows: Vec<SessionRow> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(gateway.uuid())
        .bind(generation)
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(session).collect()
}

/// Sessions that should be carried and that no gateway spoke of for so long. Web services
/// are quiet between two requests: of them, those whose time or allocation is over.
pub async fn unheard(tx: &mut Tx, silent: Duration, limit: i64) -> sqlx::Result<Vec<Session>> {
    let statement = format!(
        "SELECT {SESSION} FROM access_sessions s
         WHERE s.state IN ('opening', 'open') AND CASE s.kind
           WHEN 'http' THEN s.until <= app_now()
             OR NOT EXISTS (SELECT FROM allocations a WHERE a.id = s.allocation_id AND a.state = 'active')
           ELSE s.heard_at < app_now() - make_interval(secs => $1) END
         ORDER BY s.id LIMIT $2 FOR UPDATE SKIP LOCKED"
    );
    let rows: Vec<SessionRow> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(silent.as_secs_f64())
        .bind(limit)
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(session).collect()
}
