//! The rows of `users` and `identity_links`. Personal data lives here and nowhere else.

use contract::{
    Email, PersonName, Word,
    id::UserId,
    permission::PlatformRole,
    users::{User, UserFilter},
};
use kernel::Tx;
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    email: String,
    name: String,
    platform_role: Option<String>,
    created_at: jiff_sqlx::Timestamp,
}

const COLUMNS: &str = "id, email, name, platform_role, created_at";

/// What signing in needs.
pub struct Credentials {
    pub id: UserId,
    pub password_hash: Option<String>,
    /// Whether mail to the address is known to reach who holds the account.
    pub is_proven: bool,
}

/// An account whose address is proven. `None` when the address has one already.
pub async fn insert(
    tx: &mut Tx,
    email: &Email,
    name: &PersonName,
    password_hash: Option<&str>,
) -> sqlx::Result<Option<UserId>> {
    let id: Option<Uuid> = sqlx::query_scalar(
        "INSERT INTO users (id, email, name, password_hash, address_proven_at) VALUES ($1, $2, $3, $4, app_now())
         ON CONFLICT (email) DO NOTHING RETURNING id",
    )
    .bind(UserId::generate().uuid())
    .bind(email.folded())
    .bind(name.as_str())
    .bind(password_hash)
    .fetch_optional(tx.conn())
    .await?;
    Ok(id.map(UserId::from))
}

pub async fn credentials(tx: &mut Tx, email: &str) -> sqlx::Result<Option<Credentials>> {
    let row: Option<(Uuid, Option<String>, bool)> = sqlx::query_as(
        "SELECT id, password_hash, address_proven_at IS NOT NULL FROM users WHERE email = $1 AND erased_at IS NULL",
    )
    .bind(email)
    .fetch_optional(tx.conn())
    .await?;
    Ok(row.map(|(id, password_hash, is_proven)| Credentials { id: id.into(), password_hash, is_proven }))
}

pub async fn is_proven(tx: &mut Tx, id: UserId) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT address_proven_at IS NOT NULL FROM users WHERE id = $1")
        .bind(id.uuid())
        .fetch_one(tx.conn())
        .await
}

pub async fn prove(tx: &mut Tx, id: UserId) -> sqlx::Result<()> {
    sqlx::query("UPDATE users SET address_proven_at = app_now() WHERE id = $1")
        .bind(id.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Gives an account another address, which was proven. Says whether it was free.
pub async fn set_address(tx: &mut Tx, id: UserId, email: &str) -> sqlx::Result<bool> {
    let changed = sqlx::query(
        "UPDATE users SET email = $2, address_proven_at = app_now()
         WHERE id = $1 AND NOT EXISTS (SELECT FROM users u WHERE u.email = $2)",
    )
    .bind(id.uuid())
    .bind(email)
    .execute(tx.conn())
    .await;
    match changed {
        Ok(done) => Ok(done.rows_affected() == 1),
        // Somebody else was faster.
        Err(sqlx::Error::Database(error)) if error.is_unique_violation() => Ok(false),
        Err(error) => Err(error),
    }
}

pub async fn email(tx: &mut Tx, id: UserId) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar("SELECT email FROM users WHERE id = $1 AND erased_at IS NULL")
        .bind(id.uuid())
        .fetch_optional(tx.conn())
        .await
}

pub async fn password_hash(tx: &mut Tx, id: UserId) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar("SELECT password_hash FROM users WHERE id = $1").bind(id.uuid()).fetch_one(tx.conn()).await
}

pub async fn get(tx: &mut Tx, id: UserId) -> sqlx::Result<Option<User>> {
    let statement = format!("SELECT {COLUMNS} FROM users WHERE id = $1 AND erased_at IS NULL");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(user).transpose()
}

pub async fn list(tx: &mut Tx, filter: &UserFilter) -> sqlx::Result<Vec<User>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM users WHERE erased_at IS NULL AND ($1::text IS NULL OR email = $1) AND ($2::uuid IS NULL OR id < $2)
         ORDER BY id DESC LIMIT $3"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(filter.email.as_ref().map(Email::folded))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(user).collect()
}

pub async fn rename(tx: &mut Tx, id: UserId, name: &PersonName) -> sqlx::Result<()> {
    sqlx::query("UPDATE users SET name = $2 WHERE id = $1")
        .bind(id.uuid())
        .bind(name.as_str())
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn set_password(tx: &mut Tx, id: UserId, hash: &str) -> sqlx::Result<()> {
    sqlx::query("UPDATE users SET password_hash = $2 WHERE id = $1")
        .bind(id.uuid())
        .bind(hash)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Takes the password away; nobody signs in with it any more.
pub async fn unset_password(tx: &mut Tx, id: UserId) -> sqlx::Result<()> {
    sqlx::query("UPDATE users SET password_hash = NULL WHERE id = $1").bind(id.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// Somebody as an external issuer names them.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub issuer: &'a str,
    pub subject: &'a str,
}

pub async fn linked(tx: &mut Tx, who: Subject<'_>) -> sqlx::Result<Option<UserId>> {
    let id: Option<Uuid> = sqlx::query_scalar(
        "SELECT u.id FROM identity_links l JOIN users u ON u.id = l.user_id
         WHERE l.issuer = $1 AND l.subject = $2 AND u.erased_at IS NULL",
    )
    .bind(who.issuer)
    .bind(who.subject)
    .fetch_optional(tx.conn())
    .await?;
    Ok(id.map(UserId::from))
}

/// Whether the account signs in through an external issuer.
pub async fn is_linked(tx: &mut Tx, id: UserId) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM identity_links WHERE user_id = $1)")
        .bind(id.uuid())
        .fetch_one(tx.conn())
        .await
}

/// Whether the account is that of another subject of the same issuer.
pub async fn is_of_another(tx: &mut Tx, id: UserId, who: Subject<'_>) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM identity_links WHERE user_id = $1 AND issuer = $2 AND subject <> $3)",
    )
    .bind(id.uuid())
    .bind(who.issuer)
    .bind(who.subject)
    .fetch_one(tx.conn())
    .await
}

pub async fn link(tx: &mut Tx, id: UserId, who: Subject<'_>) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO identity_links (issuer, subject, user_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
        .bind(who.issuer)
        .bind(who.subject)
        .bind(id.uuid())
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn set_platform_role(tx: &mut Tx, id: UserId, role: Option<PlatformRole>) -> sqlx::Result<()> {
    sqlx::query("UPDATE users SET platform_role = $2 WHERE id = $1")
        .bind(id.uuid())
        .bind(role.map(|it| it.as_str()))
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Makes what counts against a person's limits take turns, until the commit.
pub async fn lock(tx: &mut Tx, id: UserId) -> sqlx::Result<()> {
    sqlx::query("SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE").bind(id.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// Platform operators, locked: two must not both stop being the last.
pub async fn lock_operators(tx: &mut Tx) -> sqlx::Result<Vec<UserId>> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT id FROM users WHERE platform_role = 'operator' AND erased_at IS NULL ORDER BY id FOR UPDATE",
    )
    .fetch_all(tx.conn())
    .await?;
    Ok(ids.into_iter().map(UserId::from).collect())
}

/// Empties the row and keeps the id, so that logs still name nobody.
pub async fn empty(tx: &mut Tx, id: UserId) -> sqlx::Result<()> {
    sqlx::query("UPDATE users SET email = NULL, name = NULL, password_hash = NULL, platform_role = NULL, address_proven_at = NULL,
         erased_at = app_now() WHERE id = $1")
        .bind(id.uuid())
        .execute(tx.conn())
        .await?;
    sqlx::query("DELETE FROM identity_links WHERE user_id = $1").bind(id.uuid()).execute(tx.conn()).await?;
    Ok(())
}

fn user(row: Row) -> sqlx::Result<User> {
    Ok(User {
        id: row.id.into(),
        email: platform::rows::text(&row.email)?,
        name: platform::rows::text(&row.name)?,
        platform_role: row.platform_role.as_deref().map(platform::rows::word).transpose()?,
        created_at: row.created_at.to_jiff(),
    })
}
