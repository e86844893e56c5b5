//! The rows of `notifications` and `notification_preferences`.

mod facts;
mod people;

pub use facts::{Facts, facts};
pub use people::{account, members, operators, still_members};

use std::time::Duration;

use contract::{
    Word,
    id::{NotificationId, UserId},
    notification_kinds::NotificationKind,
    notifications::{Notification, NotificationFilter, NotificationPreferenceSpec},
};
use kernel::{Access, Db, Tx};
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Option<Uuid>,
    kind: String,
    cause: Uuid,
    resource: Option<String>,
    title: String,
    body: String,
    created_at: jiff_sqlx::Timestamp,
    is_read: bool,
}

const COLUMNS: &str =
    "id, organization_id, kind, cause, resource, title, body, created_at, read_at IS NOT NULL AS is_read";

/// A notification, with the event that caused it.
pub struct StoredNotification {
    pub notification: Notification,
    pub cause: Uuid,
}

/// What is told to everyone whom an event concerns.
pub struct New<'a> {
    pub organization: Option<Uuid>,
    pub kind: NotificationKind,
    pub cause: Uuid,
    pub resource: Option<&'a str>,
    pub title: &'a str,
    pub body: &'a str,
}

/// Tells those who were not told of this cause; which ones, and by which row.
pub async fn insert(tx: &mut Tx, new: &New<'_>, people: &[UserId]) -> sqlx::Result<Vec<(Uuid, Uuid)>> {
    let ids: Vec<Uuid> = people.iter().map(|_| NotificationId::generate().uuid()).collect();
    let users: Vec<Uuid> = people.iter().map(|it| it.uuid()).collect();
    sqlx::query_as(
        "INSERT INTO notifications (id, user_id, organization_id, kind, cause, resource, title, body)
         SELECT id, user_id, $3, $4, $5, $6, $7, $8 FROM unnest($1::uuid[], $2::uuid[]) AS added (id, user_id)
         ON CONFLICT (user_id, cause) DO NOTHING RETURNING id, user_id",
    )
    .bind(ids)
    .bind(users)
    .bind(new.organization)
    .bind(new.kind.as_str())
    .bind(new.cause)
    .bind(new.resource)
    .bind(new.title)
    .bind(new.body)
    .fetch_all(tx.conn())
    .await
}

pub async fn list(tx: &mut Tx, user: UserId, filter: &NotificationFilter) -> sqlx::Result<Vec<StoredNotification>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM notifications WHERE user_id = $1 AND ($2::boolean IS NULL OR (read_at IS NOT NULL) = $2)
           AND ($3::text IS NULL OR kind = $3) AND ($4::uuid IS NULL OR organization_id = $4)
           AND ($5::uuid IS NULL OR id < $5) ORDER BY id DESC LIMIT $6"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(user.uuid())
        .bind(filter.is_read)
        .bind(filter.kind.map(|it| it.as_str()))
        .bind(filter.organization_id.map(|it| it.uuid()))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(found).collect()
}

pub async fn get(tx: &mut Tx, user: UserId, id: NotificationId) -> sqlx::Result<Option<StoredNotification>> {
    let statement = format!("SELECT {COLUMNS} FROM notifications WHERE user_id = $1 AND id = $2");
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(user.uuid())
        .bind(id.uuid())
        .fetch_optional(tx.conn())
        .await?;
    row.map(found).transpose()
}

pub async fn unread(tx: &mut Tx, user: UserId) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM notifications WHERE user_id = $1 AND read_at IS NULL")
        .bind(user.uuid())
        .fetch_one(tx.conn())
        .await
}

/// Marks one as read; says whether it was not before.
pub async fn read(tx: &mut Tx, user: UserId, id: NotificationId) -> sqlx::Result<bool> {
    let changed =
        sqlx::query("UPDATE notifications SET read_at = app_now() WHERE user_id = $1 AND id = $2 AND read_at IS NULL")
            .bind(user.uuid())
            .bind(id.uuid())
            .execute(tx.conn())
            .await?;
    Ok(changed.rows_affected() == 1)
}

/// Marks all as read, or those that are not newer than one; how many were not before.
pub async fn read_all(tx: &mut Tx, user: UserId, up_to: Option<NotificationId>) -> sqlx::Result<u64> {
    let changed = sqlx::query(
        "UPDATE notifications SET read_at = app_now() WHERE user_id = $1 AND read_at IS NULL AND ($2::uuid IS NULL OR id <= $2)",
    )
    .bind(user.uuid())
    .bind(up_to.map(|it| it.uuid()))
    .execute(tx.conn())
    .await?;
    Ok(changed.rows_affected())
}

/// What somebody said about being told: in the console, and by mail.
pub type StoredPreference = (UserId, Option<bool>, Option<bool>);

pub async fn preferred(tx: &mut Tx, kind: NotificationKind, people: &[UserId]) -> sqlx::Result<Vec<StoredPreference>> {
    let users: Vec<Uuid> = people.iter().map(|it| it.uuid()).collect();
    let rows: Vec<(Uuid, Option<bool>, Option<bool>)> = sqlx::query_as(
        "SELECT user_id, in_app, email FROM notification_preferences WHERE kind = $1 AND user_id = ANY($2)",
    )
    .bind(kind.as_str())
    .bind(users)
    .fetch_all(tx.conn())
    .await?;
    Ok(rows.into_iter().map(|(user, in_app, email)| (user.into(), in_app, email)).collect())
}

/// Whether somebody wants mails of a kind, as they said or as it is by default.
pub async fn wants_mail(tx: &mut Tx, user: UserId, kind: NotificationKind) -> sqlx::Result<bool> {
    let wish = preferred(tx, kind, &[user]).await?.first().and_then(|it| it.2);
    Ok(wish.unwrap_or(kind.info().by_mail))
}

/// Everything that somebody said, by the word of the kind.
pub async fn wishes(tx: &mut Tx, user: UserId) -> sqlx::Result<Vec<(String, Option<bool>, Option<bool>)>> {
    sqlx::query_as("SELECT kind, in_app, email FROM notification_preferences WHERE user_id = $1")
        .bind(user.uuid())
        .fetch_all(tx.conn())
        .await
}

/// Keeps what is said, and what was said before of the rest.
pub async fn prefer(
    tx: &mut Tx,
    user: UserId,
    kind: NotificationKind,
    wish: &NotificationPreferenceSpec,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO notification_preferences AS known (user_id, kind, in_app, email) VALUES ($1, $2, $3, $4)
         ON CONFLICT (user_id, kind) DO UPDATE SET in_app = coalesce(excluded.in_app, known.in_app),
           email = coalesce(excluded.email, known.email), changed_at = app_now()",
    )
    .bind(user.uuid())
    .bind(kind.as_str())
    .bind(wish.in_app)
    .bind(wish.email)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Removes what a person was told and wanted.
pub async fn forget(tx: &mut Tx, user: UserId) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM notifications WHERE user_id = $1").bind(user.uuid()).execute(tx.conn()).await?;
    sqlx::query("DELETE FROM notification_preferences WHERE user_id = $1").bind(user.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// Deletes notifications that were told long ago.
pub async fn forget_old(db: &Db, keep: Duration, bite: i64) -> sqlx::Result<u64> {
    let mut tx = Tx::system(db, "housekeeping", Access::Write).await?;
    let gone = sqlx::query(
        "DELETE FROM notifications WHERE id = ANY(ARRAY(SELECT id FROM notifications
           WHERE created_at <= app_now() - make_interval(secs => $1) LIMIT $2))",
    )
    .bind(keep.as_secs_f64())
    .bind(bite)
    .execute(tx.conn())
    .await?
    .rows_affected();
    tx.commit().await?;
    Ok(gone)
}

fn found(row: Row) -> sqlx::Result<StoredNotification> {
    let notification = Notification {
        id: row.id.into(),
        kind: platform::rows::word(&row.kind)?,
        organization_id: row.organization_id.map(Into::into),
        resource: row.resource,
        title: row.title,
        body: row.body,
        is_read: row.is_read,
        created_at: row.created_at.to_jiff(),
        mail: None,
    };
    Ok(StoredNotification { notification, cause: row.cause })
}
