//! The rows of `sessions`, `refresh_tokens` and `oidc_starts`.

use std::time::Duration;

use contract::{
    Timestamp,
    id::{SessionId, UserId},
    sessions::{Session, SessionFilter},
};
use kernel::{
    Tx, clock,
    secrets::{Keyring, Sealed, TokenHash},
    vault::VaultError,
};
use uuid::Uuid;

use super::tokens::context;

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
    /// The token that it was exchanged for, sealed, and whether that was used.
    pub successor: Option<Vec<u8>>,
    pub is_overtaken: bool,
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
                extract(epoch FROM app_now() - t.used_at)::float8 AS used_seconds_ago, s.expires_at, app_now() AS now,
                t.successor, EXISTS (SELECT FROM refresh_tokens n WHERE n.session_id = t.session_id AND n.user_id = t.user_id
                  AND n.used_at IS NOT NULL AND n.hash <> t.hash AND n.created_at >= t.used_at) AS is_overtaken
         FROM refresh_tokens t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = t.user_id
         WHERE t.hash = $1 FOR UPDATE OF t",
    )
    .bind(&hash.as_bytes()[..])
    .fetch_optional(tx.conn())
    .await
}

/// Notes that a token was used, and for which one it was exchanged.
pub async fn use_up(tx: &mut Tx, hash: &TokenHash, successor: &[u8]) -> sqlx::Result<()> {
    sqlx::query("UPDATE refresh_tokens SET used_at = app_now(), successor = $2 WHERE hash = $1")
        .bind(&hash.as_bytes()[..])
        .bind(successor)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Moves successors to the keyring's active key, and forgets those that nobody may ask
/// for any more; returns how many moved.
pub async fn rewrap_successors(tx: &mut Tx, keyring: &Keyring) -> Result<u64, VaultError> {
    sqlx::query(
        "UPDATE refresh_tokens SET successor = NULL
         WHERE successor IS NOT NULL AND used_at < app_now() - interval '1 hour'", // bound: longer than any grace
    )
    .execute(tx.conn())
    .await?;
    let select = "SELECT hash, successor FROM refresh_tokens WHERE successor IS NOT NULL FOR UPDATE";
    let rows: Vec<(Vec<u8>, Vec<u8>)> = sqlx::query_as(select).fetch_all(tx.conn()).await?;
    let mut moved = 0;
    for (hash, bytes) in rows {
        let refused = |source| VaultError::Sealed { name: "refresh_tokens".to_owned(), source };
        let sealed = Sealed::from_bytes(&bytes).map_err(refused)?;
        if sealed.key_id() == keyring.active() {
            continue;
        }
        let sealed = keyring.rewrap(&context(&hash), &sealed).map_err(refused)?;
        sqlx::query("UPDATE refresh_tokens SET successor = $2 WHERE hash = $1")
            .bind(hash)
            .bind(sealed.to_bytes())
            .execute(tx.conn())
            .await?;
        moved += 1;
    }
    Ok(moved)
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

/// Notes that the second factor was used in the session just now.
pub async fn note_second_factor(tx: &mut Tx, user: UserId, id: SessionId) -> sqlx::Result<()> {
    sqlx::query("UPDATE sessions SET mfa_at = app_now() WHERE id = $1 AND user_id = $2")
        .bind(id.uuid())
        .bind(user.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Whether somebody signed in to the session at most that long ago.
pub async fn is_younger(tx: &mut Tx, id: SessionId, than: Duration) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT created_at > app_now() - make_interval(secs => $2) FROM sessions WHERE id = $1")
        .bind(id.uuid())
        .bind(than.as_secs_f64())
        .fetch_one(tx.conn())
        .await
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

/// Whether somebody signed in from the place lately.
pub async fn knows_place(tx: &mut Tx, user: UserId, hash: &TokenHash, within: Duration) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM known_places WHERE user_id = $1 AND hash = $2
           AND seen_at > app_now() - make_interval(secs => $3))",
    )
    .bind(user.uuid())
    .bind(&hash.as_bytes()[..])
    .bind(within.as_secs_f64())
    .fetch_one(tx.conn())
    .await
}

/// Remembers a place, and at most so many of a person.
pub async fn remember_place(tx: &mut Tx, user: UserId, hash: &TokenHash, most: i64) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO known_places (user_id, hash) VALUES ($1, $2) ON CONFLICT (user_id, hash) DO UPDATE SET seen_at = app_now()",
    )
    .bind(user.uuid())
    .bind(&hash.as_bytes()[..])
    .execute(tx.conn())
    .await?;
    sqlx::query(
        "DELETE FROM known_places WHERE user_id = $1 AND hash IN
           (SELECT hash FROM known_places WHERE user_id = $1 ORDER BY seen_at DESC OFFSET $2)",
    )
    .bind(user.uuid())
    .bind(most)
    .execute(tx.conn())
    .await?;
    Ok(())
}

pub async fn forget_places(tx: &mut Tx, user: UserId) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM known_places WHERE user_id = $1").bind(user.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// Notes that an identity token was exchanged; says whether it is the first time.
pub async fn use_id_token(tx: &mut Tx, hash: &TokenHash, expires_at: Timestamp) -> sqlx::Result<bool> {
    let noted = sqlx::query("INSERT INTO used_id_tokens (hash, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(&hash.as_bytes()[..])
        .bind(clock::bind(expires_at))
        .execute(tx.conn())
        .await?;
    Ok(noted.rows_affected() == 1)
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
/// unfinished sign-ins that can no longer be finished, identity tokens that are
/// believed no more, and places that nobody came from for as long.
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
    sqlx::query("DELETE FROM used_id_tokens WHERE expires_at <= app_now()").execute(tx.conn()).await?;
    // bound: the longest that policy can ask for
    sqlx::query("DELETE FROM known_places WHERE seen_at <= app_now() - interval '365 days'").execute(tx.conn()).await?;
    tx.commit().await?;
    Ok(sessions)
}
