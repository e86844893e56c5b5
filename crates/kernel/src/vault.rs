//! Secrets that the platform itself holds, by name, sealed by the keyring:
//! signing keys and the like, with the retired ones that still verify.

use jiff::Timestamp;
use uuid::Uuid;

use crate::{
    sealed,
    secrets::{Keyring, Sealed, Secret, SecretsError},
    tx::Tx,
};

#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error("reading the vault failed")]
    Database(#[from] sqlx::Error),
    #[error("a secret named `{name}` cannot be decrypted: configure the key that sealed it, see `secrets.keys`")]
    Sealed {
        name: String,
        #[source]
        source: SecretsError,
    },
}

pub struct VaultKey {
    pub id: Uuid,
    pub secret: Secret,
    /// The part that may be shown, such as a public key.
    pub public: Option<String>,
    pub created_at: Timestamp,
    pub retired_at: Option<Timestamp>,
}

type Columns = (Uuid, Vec<u8>, Option<String>, jiff_sqlx::Timestamp, Option<jiff_sqlx::Timestamp>);

/// Every secret of that name that was not revoked, newest first. Where the last was
/// revoked there is none, and whoever needs one makes it.
pub async fn all(tx: &mut Tx, keyring: &Keyring, name: &str) -> Result<Vec<VaultKey>, VaultError> {
    read(tx, keyring, name, false).await
}

/// Those that were revoked, newest first: good for nothing but for saying so.
pub async fn revoked(tx: &mut Tx, keyring: &Keyring, name: &str) -> Result<Vec<VaultKey>, VaultError> {
    read(tx, keyring, name, true).await
}

async fn read(tx: &mut Tx, keyring: &Keyring, name: &str, is_revoked: bool) -> Result<Vec<VaultKey>, VaultError> {
    let rows: Vec<Columns> = sqlx::query_as(
        "SELECT id, sealed, public, created_at, retired_at FROM secrets WHERE name = $1 AND (revoked_at IS NOT NULL) = $2
         ORDER BY created_at DESC, id DESC",
    )
    .bind(name)
    .bind(is_revoked)
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter()
        .map(|(id, sealed, public, created_at, retired_at)| {
            let secret = Sealed::from_bytes(&sealed)
                .and_then(|it| keyring.open(&context(name, id), &it))
                .map_err(|source| VaultError::Sealed { name: name.to_owned(), source })?;
            Ok(VaultKey {
                id,
                secret,
                public,
                created_at: created_at.to_jiff(),
                retired_at: retired_at.map(|it| it.to_jiff()),
            })
        })
        .collect()
}

pub async fn put(
    tx: &mut Tx,
    keyring: &Keyring,
    name: &str,
    secret: &Secret,
    public: Option<&str>,
) -> Result<Uuid, VaultError> {
    let id = Uuid::now_v7();
    let sealed = keyring.seal(&context(name, id), secret.expose());
    sqlx::query("INSERT INTO secrets (id, name, sealed, public) VALUES ($1, $2, $3, $4)")
        .bind(id)
        .bind(name)
        .bind(sealed.to_bytes())
        .bind(public)
        .execute(tx.conn())
        .await?;
    Ok(id)
}

/// Marks every older secret of that name as no longer used for new things.
pub async fn retire_others(tx: &mut Tx, name: &str, keep: Uuid) -> Result<(), VaultError> {
    sqlx::query("UPDATE secrets SET retired_at = app_now() WHERE name = $1 AND id <> $2 AND retired_at IS NULL")
        .bind(name)
        .bind(keep)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// How often the secrets of that name were made, retired or revoked. It only rises:
/// no row goes.
pub async fn changes(tx: &mut Tx, name: &str) -> Result<u64, VaultError> {
    let count: i64 =
        sqlx::query_scalar("SELECT count(*) + count(retired_at) + count(revoked_at) FROM secrets WHERE name = $1")
            .bind(name)
            .fetch_one(tx.conn())
            .await?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// What is known of a secret without opening it.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Listed {
    pub id: Uuid,
    pub created_at: jiff_sqlx::Timestamp,
    pub retired_at: Option<jiff_sqlx::Timestamp>,
    pub revoked_at: Option<jiff_sqlx::Timestamp>,
}

/// Every secret of that name, newest first.
pub async fn list(tx: &mut Tx, name: &str) -> Result<Vec<Listed>, VaultError> {
    let rows = sqlx::query_as(
        "SELECT id, created_at, retired_at, revoked_at FROM secrets WHERE name = $1 ORDER BY created_at DESC, id DESC",
    )
    .bind(name)
    .fetch_all(tx.conn())
    .await?;
    Ok(rows)
}

/// Trusts one of that name, or all of them, no longer; says which.
pub async fn revoke(tx: &mut Tx, name: &str, only: Option<Uuid>) -> Result<Vec<Uuid>, VaultError> {
    let gone = sqlx::query_scalar(
        "UPDATE secrets SET revoked_at = app_now(), retired_at = coalesce(retired_at, app_now())
         WHERE name = $1 AND ($2::uuid IS NULL OR id = $2) AND revoked_at IS NULL RETURNING id",
    )
    .bind(name)
    .bind(only)
    .fetch_all(tx.conn())
    .await?;
    Ok(gone)
}

/// Replaces what is secret of one by nothing; the part that may be shown stays.
pub async fn empty(tx: &mut Tx, keyring: &Keyring, name: &str, id: Uuid) -> Result<(), VaultError> {
    let sealed = keyring.seal(&context(name, id), &[]);
    sqlx::query("UPDATE secrets SET sealed = $2 WHERE id = $1")
        .bind(id)
        .bind(sealed.to_bytes())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Lets one process at a time create or rotate secrets of that name, until the commit.
pub async fn lock(tx: &mut Tx, name: &str) -> Result<(), VaultError> {
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))").bind(name).execute(tx.conn()).await?;
    Ok(())
}

/// Moves every secret to the keyring's active key; returns how many moved.
pub async fn rewrap(tx: &mut Tx, keyring: &Keyring) -> Result<u64, VaultError> {
    sealed::rewrap(tx, keyring, ["secrets", "sealed", "name"], context).await
}

fn context(name: &str, id: Uuid) -> String {
    format!("vault:{name}:{id}")
}
