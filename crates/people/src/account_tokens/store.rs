//! The rows of `account_tokens`. Addresses in them are personal data: they go when
//! the token does, and with the person.

use contract::{
    Timestamp,
    id::{AccountTokenId, UserId},
};
use kernel::{Access, Db, Tx, clock, secrets::TokenHash};
use uuid::Uuid;

use super::Purpose;

pub struct New<'a> {
    pub id: AccountTokenId,
    pub purpose: Purpose,
    pub address: &'a str,
    pub user: Option<UserId>,
    /// The token's hash, and the token sealed; a notice has none.
    pub secret: Option<(TokenHash, Vec<u8>)>,
    pub expires_at: Timestamp,
}

pub async fn insert(tx: &mut Tx, new: New<'_>) -> sqlx::Result<()> {
    let (hash, sealed) = new.secret.map(|(hash, sealed)| (hash.as_bytes().to_vec(), sealed)).unzip();
    sqlx::query(
        "INSERT INTO account_tokens (id, purpose, address, user_id, hash, sealed, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(new.id.uuid())
    .bind(new.purpose.as_str())
    .bind(new.address)
    .bind(new.user.map(|it| it.uuid()))
    .bind(hash)
    .bind(sealed)
    .bind(clock::bind(new.expires_at))
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// How many mails for the purpose the address was sent, or would have been, in the
/// last hour.
pub async fn in_this_hour(tx: &mut Tx, purpose: Purpose, address: &str) -> sqlx::Result<i64> {
    // Requests for one address take turns, or many at once could pass the limit.
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('account_tokens/' || $1, 0))")
        .bind(address)
        .execute(tx.conn())
        .await?;
    sqlx::query_scalar(
        "SELECT count(*) FROM account_tokens
         WHERE address = $1 AND purpose = $2 AND created_at > app_now() - interval '1 hour'", // bound: the limit is per hour
    )
    .bind(address)
    .bind(purpose.as_str())
    .fetch_one(tx.conn())
    .await
}

/// A token that was shown.
#[derive(sqlx::FromRow)]
pub struct PresentedToken {
    pub address: String,
    pub user_id: Option<Uuid>,
}

/// Uses a token up, and every other one for the same purpose and address.
pub async fn take(tx: &mut Tx, hash: &TokenHash, purpose: Purpose) -> sqlx::Result<Option<PresentedToken>> {
    let shown: Option<PresentedToken> = sqlx::query_as(
        "UPDATE account_tokens SET used_at = app_now(), sealed = NULL
         WHERE hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > app_now()
         RETURNING address, user_id",
    )
    .bind(&hash.as_bytes()[..])
    .bind(purpose.as_str())
    .fetch_optional(tx.conn())
    .await?;
    if let Some(shown) = &shown {
        sqlx::query(
            "UPDATE account_tokens SET used_at = app_now(), sealed = NULL
             WHERE address = $1 AND purpose = $2 AND used_at IS NULL AND hash IS NOT NULL",
        )
        .bind(&shown.address)
        .bind(purpose.as_str())
        .execute(tx.conn())
        .await?;
    }
    Ok(shown)
}

/// Where the mail of a token goes, while that makes sense: a password is reset where
/// there is an account, and one is made where there is none that was proven.
pub async fn destination(tx: &mut Tx, id: AccountTokenId) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "SELECT t.address FROM account_tokens t WHERE t.id = $1 AND t.used_at IS NULL AND t.expires_at > app_now()
           AND CASE t.purpose
             WHEN 'password_reset' THEN EXISTS (SELECT FROM users u WHERE u.email = t.address AND u.erased_at IS NULL)
             WHEN 'sign_up' THEN NOT EXISTS (SELECT FROM users u WHERE u.email = t.address AND u.address_proven_at IS NOT NULL)
             ELSE true END",
    )
    .bind(id.uuid())
    .fetch_optional(tx.conn())
    .await
}

/// The sealed token, for its mail. The mail of a password that would go around an
/// external issuer has none.
pub async fn sealed(tx: &mut Tx, id: AccountTokenId) -> sqlx::Result<Option<Vec<u8>>> {
    if is_reset_of_an_issuers(tx, id).await? {
        return Ok(None);
    }
    let found: Option<Option<Vec<u8>>> = sqlx::query_scalar("SELECT sealed FROM account_tokens WHERE id = $1")
        .bind(id.uuid())
        .fetch_optional(tx.conn())
        .await?;
    Ok(found.flatten())
}

/// Forgets the token itself once its mail was sent; its hash stays.
pub async fn forget_sealed(tx: &mut Tx, id: AccountTokenId) -> sqlx::Result<()> {
    sqlx::query("UPDATE account_tokens SET sealed = NULL WHERE id = $1").bind(id.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// Whether somebody asked for a password of an account that signs in through an
/// external issuer alone.
pub async fn is_reset_of_an_issuers(tx: &mut Tx, id: AccountTokenId) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM account_tokens t JOIN users u ON u.email = t.address
           JOIN identity_links l ON l.user_id = u.id
         WHERE t.id = $1 AND t.purpose = 'password_reset' AND u.password_hash IS NULL)",
    )
    .bind(id.uuid())
    .fetch_one(tx.conn())
    .await
}

/// Removes what names a person who goes; their mails go with it.
pub async fn forget(tx: &mut Tx, user: UserId, address: &str) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM account_tokens WHERE user_id = $1 OR address = $2")
        .bind(user.uuid())
        .bind(address)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Deletes tokens that can no longer be used, with the addresses in them. They count
/// against the limit for an hour, and live no shorter.
pub async fn forget_old(db: &Db, bite: i64) -> sqlx::Result<u64> {
    let mut tx = Tx::system(db, "housekeeping", Access::Write).await?;
    let gone = sqlx::query(
        "DELETE FROM account_tokens WHERE id = ANY(ARRAY(SELECT id FROM account_tokens
           WHERE expires_at <= app_now() AND created_at <= app_now() - interval '1 hour' LIMIT $1))", // bound: as above
    )
    .bind(bite)
    .execute(tx.conn())
    .await?
    .rows_affected();
    tx.commit().await?;
    Ok(gone)
}
