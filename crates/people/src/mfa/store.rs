//! The rows of `mfa_factors`, `mfa_recovery_codes`, `mfa_challenges` and
//! `mfa_throttles`.

use contract::{
    Name, Timestamp,
    id::{FactorId, SessionId, UserId},
    mfa::{Factor, FactorKind},
};
use kernel::{Access, Db, Tx, clock, secrets::TokenHash};
use uuid::Uuid;

use super::Purpose;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    kind: String,
    name: String,
    created_at: jiff_sqlx::Timestamp,
    last_used_at: Option<jiff_sqlx::Timestamp>,
}

const COLUMNS: &str = "id, kind, name, created_at, last_used_at";

pub async fn has_factor(tx: &mut Tx, user: UserId) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM mfa_factors WHERE user_id = $1)")
        .bind(user.uuid())
        .fetch_one(tx.conn())
        .await
}

pub async fn list(tx: &mut Tx, user: UserId) -> sqlx::Result<Vec<Factor>> {
    let statement = format!("SELECT {COLUMNS} FROM mfa_factors WHERE user_id = $1 ORDER BY id");
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(user.uuid()).fetch_all(tx.conn()).await?;
    rows.into_iter().map(factor).collect()
}

pub async fn count(tx: &mut Tx, user: UserId) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM mfa_factors WHERE user_id = $1")
        .bind(user.uuid())
        .fetch_one(tx.conn())
        .await
}

/// A TOTP device as it is verified.
#[derive(sqlx::FromRow)]
pub struct TotpDevice {
    pub id: Uuid,
    /// Sealed.
    pub secret: Vec<u8>,
}

pub async fn totp_devices(tx: &mut Tx, user: UserId) -> sqlx::Result<Vec<TotpDevice>> {
    sqlx::query_as("SELECT id, secret FROM mfa_factors WHERE user_id = $1 AND kind = 'totp' ORDER BY id")
        .bind(user.uuid())
        .fetch_all(tx.conn())
        .await
}

/// A passkey as it is verified.
#[derive(sqlx::FromRow)]
pub struct Passkey {
    pub id: Uuid,
    pub public_key: Vec<u8>,
    pub sign_count: i64,
}

pub async fn passkey(tx: &mut Tx, user: UserId, credential_id: &[u8]) -> sqlx::Result<Option<Passkey>> {
    sqlx::query_as("SELECT id, public_key, sign_count FROM mfa_factors WHERE user_id = $1 AND credential_id = $2")
        .bind(user.uuid())
        .bind(credential_id)
        .fetch_optional(tx.conn())
        .await
}

pub async fn credential_ids(tx: &mut Tx, user: UserId) -> sqlx::Result<Vec<Vec<u8>>> {
    sqlx::query_scalar("SELECT credential_id FROM mfa_factors WHERE user_id = $1 AND kind = 'passkey' ORDER BY id")
        .bind(user.uuid())
        .fetch_all(tx.conn())
        .await
}

pub async fn insert_totp(
    tx: &mut Tx,
    id: FactorId,
    user: UserId,
    name: &Name,
    (secret, step): (&[u8], i64),
) -> sqlx::Result<Factor> {
    let statement = format!(
        "INSERT INTO mfa_factors (id, user_id, kind, name, secret, last_step, last_used_at)
         VALUES ($1, $2, 'totp', $3, $4, $5, app_now()) RETURNING {COLUMNS}"
    );
    let row: Row = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(id.uuid())
        .bind(user.uuid())
        .bind(name.as_str())
        .bind(secret)
        .bind(step)
        .fetch_one(tx.conn())
        .await?;
    factor(row)
}

pub struct NewPasskey<'a> {
    pub name: &'a Name,
    pub credential_id: &'a [u8],
    pub public_key: &'a [u8],
    pub sign_count: u32,
}

/// `None` when the passkey is registered already, here or with another account.
pub async fn insert_passkey(tx: &mut Tx, user: UserId, new: &NewPasskey<'_>) -> sqlx::Result<Option<Factor>> {
    let statement = format!(
        "INSERT INTO mfa_factors (id, user_id, kind, name, credential_id, public_key, sign_count, last_used_at)
         VALUES ($1, $2, 'passkey', $3, $4, $5, $6, app_now()) ON CONFLICT (credential_id) DO NOTHING RETURNING {COLUMNS}"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(FactorId::generate().uuid())
        .bind(user.uuid())
        .bind(new.name.as_str())
        .bind(new.credential_id)
        .bind(new.public_key)
        .bind(i64::from(new.sign_count))
        .fetch_optional(tx.conn())
        .await?;
    row.map(factor).transpose()
}

pub async fn delete(tx: &mut Tx, user: UserId, id: FactorId) -> sqlx::Result<Option<Factor>> {
    let statement = format!("DELETE FROM mfa_factors WHERE user_id = $1 AND id = $2 RETURNING {COLUMNS}");
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(user.uuid())
        .bind(id.uuid())
        .fetch_optional(tx.conn())
        .await?;
    row.map(factor).transpose()
}

/// Uses a time step of a device up; `false` when it, or a later one, was used.
pub async fn use_step(tx: &mut Tx, id: Uuid, step: i64) -> sqlx::Result<bool> {
    let used =
        sqlx::query("UPDATE mfa_factors SET last_step = $2, last_used_at = app_now() WHERE id = $1 AND last_step < $2")
            .bind(id)
            .bind(step)
            .execute(tx.conn())
            .await?;
    Ok(used.rows_affected() == 1)
}

pub async fn use_passkey(tx: &mut Tx, id: Uuid, sign_count: u32) -> sqlx::Result<()> {
    sqlx::query("UPDATE mfa_factors SET sign_count = $2, last_used_at = app_now() WHERE id = $1")
        .bind(id)
        .bind(i64::from(sign_count))
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn replace_recovery_codes(tx: &mut Tx, user: UserId, hashes: &[TokenHash]) -> sqlx::Result<()> {
    delete_recovery_codes(tx, user).await?;
    let hashes: Vec<Vec<u8>> = hashes.iter().map(|it| it.as_bytes().to_vec()).collect();
    sqlx::query("INSERT INTO mfa_recovery_codes (user_id, hash) SELECT $1, unnest($2::bytea[])")
        .bind(user.uuid())
        .bind(hashes)
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn delete_recovery_codes(tx: &mut Tx, user: UserId) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM mfa_recovery_codes WHERE user_id = $1").bind(user.uuid()).execute(tx.conn()).await?;
    Ok(())
}

pub async fn use_recovery_code(tx: &mut Tx, user: UserId, hash: &TokenHash) -> sqlx::Result<bool> {
    let used = sqlx::query(
        "UPDATE mfa_recovery_codes SET used_at = app_now() WHERE user_id = $1 AND hash = $2 AND used_at IS NULL",
    )
    .bind(user.uuid())
    .bind(&hash.as_bytes()[..])
    .execute(tx.conn())
    .await?;
    Ok(used.rows_affected() == 1)
}

pub async fn recovery_codes_left(tx: &mut Tx, user: UserId) -> sqlx::Result<u32> {
    let left: i64 =
        sqlx::query_scalar("SELECT count(*) FROM mfa_recovery_codes WHERE user_id = $1 AND used_at IS NULL")
            .bind(user.uuid())
            .fetch_one(tx.conn())
            .await?;
    Ok(u32::try_from(left).unwrap_or_default())
}

/// A challenge that waits for its answer.
#[derive(sqlx::FromRow)]
pub struct Challenge {
    pub user_id: Uuid,
    pub session_id: Option<Uuid>,
    pub payload: Vec<u8>,
}

pub struct NewChallenge<'a> {
    pub user: UserId,
    pub purpose: Purpose,
    pub session: Option<SessionId>,
    pub payload: &'a [u8],
    pub expires_at: Timestamp,
}

/// Adds a challenge, and takes away the oldest of the person beyond `most`.
pub async fn insert_challenge(tx: &mut Tx, hash: &TokenHash, new: &NewChallenge<'_>, most: i64) -> sqlx::Result<()> {
    sqlx::query(
        "DELETE FROM mfa_challenges WHERE user_id = $1 AND hash NOT IN (
           SELECT hash FROM mfa_challenges WHERE user_id = $1 AND expires_at > app_now()
           ORDER BY expires_at DESC LIMIT $2 - 1)",
    )
    .bind(new.user.uuid())
    .bind(most)
    .execute(tx.conn())
    .await?;
    sqlx::query(
        "INSERT INTO mfa_challenges (hash, user_id, purpose, session_id, payload, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(&hash.as_bytes()[..])
    .bind(new.user.uuid())
    .bind(new.purpose.as_str())
    .bind(new.session.map(|it| it.uuid()))
    .bind(new.payload)
    .bind(clock::bind(new.expires_at))
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Whose challenge it is.
pub async fn challenged(tx: &mut Tx, hash: &TokenHash) -> sqlx::Result<Option<UserId>> {
    let user: Option<Uuid> = sqlx::query_scalar("SELECT user_id FROM mfa_challenges WHERE hash = $1")
        .bind(&hash.as_bytes()[..])
        .fetch_optional(tx.conn())
        .await?;
    Ok(user.map(UserId::from))
}

/// Forgets every challenge of an account, so that none is answered that was earned
/// with a password which is no longer its.
pub async fn forget_challenges(tx: &mut Tx, user: UserId) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM mfa_challenges WHERE user_id = $1").bind(user.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// Finds and locks a challenge: of two answers at once, one waits for the other.
pub async fn lock_challenge(tx: &mut Tx, hash: &TokenHash, purpose: Purpose) -> sqlx::Result<Option<Challenge>> {
    sqlx::query_as(
        "SELECT user_id, session_id, payload FROM mfa_challenges
         WHERE hash = $1 AND purpose = $2 AND expires_at > app_now() FOR UPDATE",
    )
    .bind(&hash.as_bytes()[..])
    .bind(purpose.as_str())
    .fetch_optional(tx.conn())
    .await
}

pub async fn delete_challenge(tx: &mut Tx, hash: &TokenHash) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM mfa_challenges WHERE hash = $1").bind(&hash.as_bytes()[..]).execute(tx.conn()).await?;
    Ok(())
}

/// Counts a wrong answer; with the last one allowed, the challenge is gone.
pub async fn fail_challenge(tx: &mut Tx, hash: &TokenHash, most: i32) -> sqlx::Result<()> {
    sqlx::query("UPDATE mfa_challenges SET failures = failures + 1 WHERE hash = $1")
        .bind(&hash.as_bytes()[..])
        .execute(tx.conn())
        .await?;
    sqlx::query("DELETE FROM mfa_challenges WHERE hash = $1 AND failures >= $2")
        .bind(&hash.as_bytes()[..])
        .bind(most)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Wrong codes of a person in a row, and how many seconds to wait before the next.
pub async fn throttle(tx: &mut Tx, user: UserId) -> sqlx::Result<(i32, f64)> {
    let row: Option<(i32, f64)> = sqlx::query_as(
        "SELECT failures, greatest(extract(epoch FROM retry_at - app_now()), 0)::float8 FROM mfa_throttles WHERE user_id = $1",
    )
    .bind(user.uuid())
    .fetch_optional(tx.conn())
    .await?;
    Ok(row.unwrap_or_default())
}

pub async fn set_throttle(tx: &mut Tx, user: UserId, failures: i32, wait_s: f64) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO mfa_throttles (user_id, failures, retry_at) VALUES ($1, $2, app_now() + make_interval(secs => $3))
         ON CONFLICT (user_id) DO UPDATE SET failures = excluded.failures, retry_at = excluded.retry_at",
    )
    .bind(user.uuid())
    .bind(failures)
    .bind(wait_s)
    .execute(tx.conn())
    .await?;
    Ok(())
}

pub async fn clear_throttle(tx: &mut Tx, user: UserId) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM mfa_throttles WHERE user_id = $1").bind(user.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// Removes everything of an account; returns how many factors it had.
pub async fn erase(tx: &mut Tx, user: UserId) -> sqlx::Result<u64> {
    delete_recovery_codes(tx, user).await?;
    clear_throttle(tx, user).await?;
    forget_challenges(tx, user).await?;
    let gone = sqlx::query("DELETE FROM mfa_factors WHERE user_id = $1").bind(user.uuid()).execute(tx.conn()).await?;
    Ok(gone.rows_affected())
}

/// Deletes challenges that can no longer be answered.
pub async fn forget_old(db: &Db, bite: i64) -> sqlx::Result<u64> {
    let mut tx = Tx::system(db, "housekeeping", Access::Write).await?;
    let gone = sqlx::query(
        "DELETE FROM mfa_challenges WHERE ctid = ANY(ARRAY(
           SELECT ctid FROM mfa_challenges WHERE expires_at <= app_now() LIMIT $1))",
    )
    .bind(bite)
    .execute(tx.conn())
    .await?;
    tx.commit().await?;
    Ok(gone.rows_affected())
}

fn factor(row: Row) -> sqlx::Result<Factor> {
    Ok(Factor {
        id: row.id.into(),
        kind: platform::rows::word::<FactorKind>(&row.kind)?,
        name: platform::rows::text(&row.name)?,
        created_at: row.created_at.to_jiff(),
        last_used_at: row.last_used_at.map(|it| it.to_jiff()),
    })
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Purpose::SignIn => "sign_in",
            Purpose::StepUp => "step_up",
            Purpose::EnrollTotp => "enroll_totp",
            Purpose::EnrollPasskey => "enroll_passkey",
        }
    }
}

/// The words of the column are those of the contract.
#[cfg(test)]
mod tests {
    use contract::Word;

    use super::*;

    #[test]
    fn factor_kinds_are_the_ones_that_the_table_takes() {
        let words: Vec<&str> = FactorKind::ALL.iter().map(|it| it.as_str()).collect();
        assert_eq!(words, ["totp", "passkey"]);
    }
}
