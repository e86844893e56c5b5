//! The rows of `keys`.

use contract::{
    Name, Permission, Timestamp, Word,
    id::KeyId,
    keys::{Key, KeyFilter},
};
use kernel::{Tx, secrets::TokenHash};
use uuid::Uuid;

use super::Owner;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    name: String,
    prefix: String,
    scopes: Vec<String>,
    created_at: jiff_sqlx::Timestamp,
    expires_at: jiff_sqlx::Timestamp,
    last_used_at: Option<jiff_sqlx::Timestamp>,
    revoked_at: Option<jiff_sqlx::Timestamp>,
}

const COLUMNS: &str = "id, name, prefix, scopes, created_at, expires_at, last_used_at, revoked_at";
const OWNED: &str = "user_id IS NOT DISTINCT FROM $1 AND organization_id IS NOT DISTINCT FROM $2 AND service_account_id IS NOT DISTINCT FROM $3";

pub struct New<'a> {
    pub owner: Owner,
    pub name: &'a Name,
    pub scopes: &'a [Permission],
    pub hash: TokenHash,
    pub prefix: &'a str,
    pub expires_at: Timestamp,
}

fn ids(owner: Owner) -> (Option<Uuid>, Option<Uuid>, Option<Uuid>) {
    match owner {
        Owner::Person(user) => (Some(user.uuid()), None, None),
        Owner::ServiceAccount { organization, id } => (None, Some(organization.uuid()), Some(id.uuid())),
    }
}

pub async fn insert(tx: &mut Tx, new: New<'_>) -> sqlx::Result<Key> {
    let (user, organization, account) = ids(new.owner);
    let scopes: Vec<&str> = new.scopes.iter().map(|it| it.as_str()).collect();
    let statement = format!(
        "INSERT INTO keys (user_id, organization_id, service_account_id, id, hash, prefix, name, scopes, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING {COLUMNS}"
    );
    let row: Row = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(user)
        .bind(organization)
        .bind(account)
        .bind(KeyId::generate().uuid())
        .bind(&new.hash.as_bytes()[..])
        .bind(new.prefix)
        .bind(new.name.as_str())
        .bind(scopes)
        .bind(kernel::clock::bind(new.expires_at))
        .fetch_one(tx.conn())
        .await?;
    key(row)
}

/// Notes that whoever made the key had used their second factor.
pub async fn note_second_factor(tx: &mut Tx, id: KeyId) -> sqlx::Result<()> {
    sqlx::query("UPDATE keys SET mfa_at = app_now() WHERE id = $1").bind(id.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// Keys that still work.
pub async fn count(tx: &mut Tx, owner: Owner) -> sqlx::Result<i64> {
    let (user, organization, account) = ids(owner);
    let statement =
        format!("SELECT count(*) FROM keys WHERE {OWNED} AND revoked_at IS NULL AND expires_at > app_now()");
    sqlx::query_scalar(sqlx::AssertSqlSafe(statement))
        .bind(user)
        .bind(organization)
        .bind(account)
        .fetch_one(tx.conn())
        .await
}

pub async fn list(tx: &mut Tx, owner: Owner, filter: &KeyFilter) -> sqlx::Result<Vec<Key>> {
    let (user, organization, account) = ids(owner);
    let statement = format!(
        "SELECT {COLUMNS} FROM keys WHERE {OWNED} AND ($4::text IS NULL OR lower(name) = lower($4))
           AND ($5::uuid IS NULL OR id < $5) ORDER BY id DESC LIMIT $6"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(user)
        .bind(organization)
        .bind(account)
        .bind(filter.name.as_ref().map(Name::as_str))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(key).collect()
}

/// `None` when there is no such key, else whether it still worked.
pub async fn revoke(tx: &mut Tx, owner: Owner, id: KeyId) -> sqlx::Result<Option<bool>> {
    let (user, organization, account) = ids(owner);
    let statement = format!(
        "WITH mine AS (SELECT id, revoked_at IS NULL AS works FROM keys WHERE {OWNED} AND id = $4 FOR UPDATE),
         gone AS (UPDATE keys SET revoked_at = app_now() FROM mine WHERE keys.id = mine.id AND mine.works)
         SELECT works FROM mine"
    );
    sqlx::query_scalar(sqlx::AssertSqlSafe(statement))
        .bind(user)
        .bind(organization)
        .bind(account)
        .bind(id.uuid())
        .fetch_optional(tx.conn())
        .await
}

pub async fn revoke_all(tx: &mut Tx, owner: Owner) -> sqlx::Result<Vec<KeyId>> {
    let (user, organization, account) = ids(owner);
    let statement = format!("UPDATE keys SET revoked_at = app_now() WHERE {OWNED} AND revoked_at IS NULL RETURNING id");
    let ids: Vec<Uuid> = sqlx::query_scalar(sqlx::AssertSqlSafe(statement))
        .bind(user)
        .bind(organization)
        .bind(account)
        .fetch_all(tx.conn())
        .await?;
    Ok(ids.into_iter().map(KeyId::from).collect())
}

fn key(row: Row) -> sqlx::Result<Key> {
    Ok(Key {
        id: row.id.into(),
        name: platform::rows::text(&row.name)?,
        prefix: row.prefix,
        scopes: row.scopes.iter().map(|it| platform::rows::word(it)).collect::<sqlx::Result<_>>()?,
        created_at: row.created_at.to_jiff(),
        expires_at: row.expires_at.to_jiff(),
        last_used_at: row.last_used_at.map(|it| it.to_jiff()),
        revoked_at: row.revoked_at.map(|it| it.to_jiff()),
    })
}
