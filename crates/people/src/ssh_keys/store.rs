//! The rows of `ssh_keys`. Names and comments are personal data: they live here
//! and go with the person.

use contract::{
    Name,
    id::{SshKeyId, UserId},
    ssh_keys::{SshKey, SshKeyFilter, SshKeyRemoved, SshKeySpec},
};
use kernel::Tx;
use uuid::Uuid;

use platform::events::emit;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    name: String,
    public_key: String,
    fingerprint: String,
    created_at: jiff_sqlx::Timestamp,
}

const COLUMNS: &str = "id, name, public_key, fingerprint, created_at";

#[derive(Debug, Clone, PartialEq)]
pub enum InsertOutcome {
    Key(SshKey),
    NameTaken,
    /// The same key is there, under this name.
    Present(String),
    /// Somebody else has it.
    Elsewhere,
}

pub async fn insert(tx: &mut Tx, user: UserId, spec: &SshKeySpec, fingerprint: &str) -> sqlx::Result<InsertOutcome> {
    let statement = format!(
        "INSERT INTO ssh_keys (id, user_id, name, public_key, fingerprint) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING RETURNING {COLUMNS}"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(SshKeyId::generate().uuid())
        .bind(user.uuid())
        .bind(spec.name.as_str())
        .bind(spec.public_key.as_str())
        .bind(fingerprint)
        .fetch_optional(tx.conn())
        .await?;
    if let Some(row) = row {
        return key(row).map(InsertOutcome::Key);
    }
    let present: Option<String> =
        sqlx::query_scalar("SELECT name FROM ssh_keys WHERE user_id = $1 AND fingerprint = $2")
            .bind(user.uuid())
            .bind(fingerprint)
            .fetch_optional(tx.conn())
            .await?;
    if let Some(name) = present {
        return Ok(InsertOutcome::Present(name));
    }
    let is_named: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM ssh_keys WHERE user_id = $1 AND lower(name) = lower($2))")
            .bind(user.uuid())
            .bind(spec.name.as_str())
            .fetch_one(tx.conn())
            .await?;
    Ok(if is_named { InsertOutcome::NameTaken } else { InsertOutcome::Elsewhere })
}

pub async fn count(tx: &mut Tx, user: UserId) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM ssh_keys WHERE user_id = $1").bind(user.uuid()).fetch_one(tx.conn()).await
}

pub async fn list(tx: &mut Tx, user: UserId, filter: &SshKeyFilter) -> sqlx::Result<Vec<SshKey>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM ssh_keys WHERE user_id = $1 AND ($2::text IS NULL OR lower(name) = lower($2))
           AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(user.uuid())
        .bind(filter.name.as_ref().map(Name::as_str))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(key).collect()
}

/// Says whether there was one.
pub async fn delete(tx: &mut Tx, user: UserId, id: SshKeyId) -> sqlx::Result<bool> {
    let gone = sqlx::query("DELETE FROM ssh_keys WHERE user_id = $1 AND id = $2")
        .bind(user.uuid())
        .bind(id.uuid())
        .execute(tx.conn())
        .await?;
    Ok(gone.rows_affected() > 0)
}

/// Removes every key of a person, and says so: hosts let them in no longer.
pub async fn forget(tx: &mut Tx, user: UserId) -> sqlx::Result<()> {
    let gone: Vec<Uuid> = sqlx::query_scalar("DELETE FROM ssh_keys WHERE user_id = $1 RETURNING id")
        .bind(user.uuid())
        .fetch_all(tx.conn())
        .await?;
    for id in gone.into_iter().map(SshKeyId::from) {
        emit(tx, None, id, &SshKeyRemoved { id });
    }
    Ok(())
}

/// Whose key it is: no two people have one.
pub async fn holder(tx: &mut Tx, fingerprint: &str) -> sqlx::Result<Option<UserId>> {
    let user: Option<Uuid> = sqlx::query_scalar("SELECT user_id FROM ssh_keys WHERE fingerprint = $1")
        .bind(fingerprint)
        .fetch_optional(tx.conn())
        .await?;
    Ok(user.map(Into::into))
}

/// A person's keys that are wanted, in that order, or all. The first that is not
/// theirs is told instead.
pub async fn chosen(
    tx: &mut Tx,
    user: UserId,
    wanted: Option<&[SshKeyId]>,
) -> sqlx::Result<Result<Vec<SshKeyId>, SshKeyId>> {
    let held: Vec<Uuid> = sqlx::query_scalar("SELECT id FROM ssh_keys WHERE user_id = $1 ORDER BY id")
        .bind(user.uuid())
        .fetch_all(tx.conn())
        .await?;
    let Some(wanted) = wanted else { return Ok(Ok(held.into_iter().map(Into::into).collect())) };
    let mut keys: Vec<SshKeyId> = Vec::new();
    for id in wanted {
        if !held.contains(&id.uuid()) {
            return Ok(Err(*id));
        }
        if !keys.contains(id) {
            keys.push(*id);
        }
    }
    Ok(Ok(keys))
}

fn key(row: Row) -> sqlx::Result<SshKey> {
    Ok(SshKey {
        id: row.id.into(),
        name: platform::rows::text(&row.name)?,
        public_key: platform::rows::text(&row.public_key)?,
        fingerprint: row.fingerprint,
        created_at: row.created_at.to_jiff(),
    })
}
