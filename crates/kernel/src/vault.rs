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
    #[error("a secret named `{name}` cannot be opened: give the key that sealed it, see `secrets.keys`")]
    Sealed {
        name: String,
        #[source]
        source: SecretsError,
    },
}

pub struct Held {
    pub id: Uuid,
    pub secret: Secret,
    /// The part that may be shown, such as a public key.
    pub public: Option<String>,
    pub created_at: Timestamp,
    pub retired_at: Option<Timestamp>,
}

type Columns = (Uuid, Vec<u8>, Option<String>, jiff_sqlx::Timestamp, Option<jiff_sqlx::Timestamp>);

/// Every secret of that name, newest first.
pub async fn all(tx: &mut Tx, keyring: &Keyring, name: &str) -> Result<Vec<Held>, VaultError> {
    let rows: Vec<Columns> = sqlx::query_as(
        "SELECT id, sealed, public, created_at, retired_at FROM secrets WHERE name = $1 ORDER BY created_at DESC, id DESC",
    )
    .bind(name)
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter()
        .map(|(id, sealed, public, created_at, retired_at)| {
            let secret = Sealed::from_bytes(&sealed)
                .and_then(|it| keyring.open(&context(name, id), &it))
                .map_err(|source| VaultError::Sealed { name: name.to_owned(), source })?;
            Ok(Held {
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
