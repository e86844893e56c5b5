//! The rows of `sessions`, `refresh_tokens` and `oidc_starts`.

use std::time::Duration;

use contract::{
    Timestamp,
    id::{SessionId, UserId},
    sessions::{Session, SessionFilter},
};
use kernel::{Tx, clock, secrets::TokenHash};
use uuid::Uuid;

pub async fn insert(tx: &mut Tx, id: SessionId, user: UserId, expires_at: Timestamp) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO sessions (id, user_id, expires_at) VALUES ($1, $2, $3)")
        .bind(id.uuid())
        .bind(user.uuid())
        .bind(clock::bind(expires_at))
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn insert_refresh(
    tx: &mut Tx,
    session: SessionId,
    user: UserId,
    hash: &TokenHash,
    expires_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO refresh_tokens (hash, user_id, session_id, expires_at) VALUES ($1, $2, $3, $4)")
        .bind(&hash.as_bytes()[..])
        .bind(user.uuid())
        .bind(session.uuid())
        .bind(clock::bind(expires_at))
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// A refresh token as presented, with its session.
#[derive(sqlx::FromRow)]
pub struct Presented {
    pub user_id: Uuid,
    pub session_id: Uuid,
    pub is_live: bool,
    /// Seconds since it was used first, if it was.
    pub used_seconds_ago: Option<f64>,
    expires_at: jiff_sqlx::Timestamp,
    now: jiff_sqlx::Timestamp,
}

impl Presented {
    pub fn expires_at(&self) -> Timestamp {
        self.expires_at.to_jiff()
    }
    pub fn now(&self) -> Timestamp {
        self.now.to_jiff()
    }
}

/// Finds and locks a refresh token: two at once must not both be the first.
pub async fn present(tx: &mut Tx, hash: &TokenHash) -> sqlx::Result<Option<Presented>> {
    sqlx::query_as(
        "SELECT t.user_id, t.session_id, s.revoked_at IS NULL AND s.expires_at > app_now() AND u.erased_at IS NULL AS is_live,
                extract(epoch FROM app_now() - t.used_at)::float8 AS used_seconds_ago, s.expires_at, app_now() AS now
         FROM refresh_tokens t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = t.user_id
         WHERE t.hash = $1 FOR UPDATE OF t",
    )
    .bind(&hash.as_bytes()[..])
    .fetch_optional(tx.conn())
    .await
}

pub async fn use_up(tx: &mut Tx, hash: &TokenHash) -> sqlx::Result<()> {
    sqlx::query("UPDATE refresh_tokens SET used_at = coalesce(used_at, app_now()) WHERE hash = $1")
        .bind(&hash.as_bytes()[..])
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn list(
    tx: &mut Tx,
    user: UserId,
    current: Option<SessionId>,
    filter: &SessionFilter,
) -> sqlx::Result<Vec<Session>> {
    let rows: Vec<(Uuid, jiff_sqlx::Timestamp, jiff_sqlx::Timestamp, Option<jiff_sqlx::Timestamp>)> = sqlx::query_as(
        "SELECT id, created_at, expires_at, last_used_at FROM sessions
         WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > app_now() AND ($2::uuid IS NULL OR id < $2)
         ORDER BY id DESC LIMIT $3",
    )
    .bind(user.uuid())
    .bind(filter.cursor.map(|it| it.0))
    .bind(filter.limit.probe())
    .fetch_all(tx.conn())
    .await?;
    Ok(rows
        .into_iter()
        .map(|(id, created_at, expires_at, last_used_at)| Session {
            id: id.into(),
            current: current == Some(id.into()),
            created_at: created_at.to_jiff(),
            expires_at: expires_at.to_jiff(),
            last_used_at: last_used_at.map(|it| it.to_jiff()),
        })
        .collect())
}

/// Says whether there was such a session that still worked.
pub async fn revoke(tx: &mut Tx, user: UserId, id: SessionId) -> sqlx::Result<bool> {
    let gone =
        sqlx::query("UPDATE sessions SET revoked_at = app_now() WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL")
            .bind(id.uuid())
            .bind(user.uuid())
            .execute(tx.conn())
            .await?;
    Ok(gone.rows_affected() > 0)
}

pub async fn exists(tx: &mut Tx, user: UserId, id: SessionId) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM sessions WHERE id = $1 AND user_id = $2)")
        .bind(id.uuid())
        .bind(user.uuid())
        .fetch_one(tx.conn())
        .await
}

/// Ends every session of the person, but for one if given.
pub async fn revoke_all(tx: &mut Tx, user: UserId, except: Option<SessionId>) -> sqlx::Result<()> {
    sqlx::query("UPDATE sessions SET revoked_at = app_now() WHERE user_id = $1 AND revoked_at IS NULL AND id IS DISTINCT FROM $2")
        .bind(user.uuid())
        .bind(except.map(|it| it.uuid()))
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// A sign-in through the external issuer that has begun.
#[derive(sqlx::FromRow)]
pub struct OidcStart {
    /// Sealed.
    pub verifier: Vec<u8>,
    pub nonce: String,
    pub redirect_uri: String,
}

pub async fn insert_start(tx: &mut Tx, state: &TokenHash, start: OidcStart, expires_at: Timestamp) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO oidc_starts (state_hash, verifier, nonce, redirect_uri, expires_at) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(&state.as_bytes()[..])
    .bind(start.verifier)
    .bind(start.nonce)
    .bind(start.redirect_uri)
    .bind(clock::bind(expires_at))
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Takes a start away, for good once the transaction commits. One that another
/// request works with is skipped, not waited for: that one talks to the issuer.
pub async fn take_start(tx: &mut Tx, state: &TokenHash) -> sqlx::Result<Option<OidcStart>> {
    sqlx::query_as(
        "DELETE FROM oidc_starts WHERE state_hash =
           (SELECT state_hash FROM oidc_starts WHERE state_hash = $1 AND expires_at > app_now() FOR UPDATE SKIP LOCKED)
         RETURNING verifier, nonce, redirect_uri",
    )
    .bind(&state.as_bytes()[..])
    .fetch_optional(tx.conn())
    .await
}

/// Deletes sessions with their tokens once they have been of no use for `keep`,
/// and unfinished sign-ins that can no longer be finished.
pub async fn forget_old(db: &kernel::Db, keep: Duration, bite: i64) -> sqlx::Result<u64> {
    let mut tx = Tx::system(db, "housekeeping", kernel::Access::Write).await?;
    let sessions = sqlx::query(
        "DELETE FROM sessions WHERE ctid = ANY(ARRAY(
           SELECT ctid FROM sessions WHERE expires_at <= app_now() - make_interval(secs => $1) LIMIT $2))",
    )
    .bind(keep.as_secs_f64())
    .bind(bite)
    .execute(tx.conn())
    .await?
    .rows_affected();
    sqlx::query("DELETE FROM oidc_starts WHERE expires_at <= app_now()").execute(tx.conn()).await?;
    tx.commit().await?;
    Ok(sessions)
}
