//! The rows of `dead_letters`.

use contract::{
    Word,
    dead_letters::{DeadLetter, DeadLetterFilter, DeadLetterState},
    id::EventId,
};
use kernel::{Tx, lifecycle::Versioned, outbox::Message};
use serde_json::Value;
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    place: i64,
    consumer: String,
    message_id: Uuid,
    subject: String,
    organization_id: Option<Uuid>,
    resource: Option<String>,
    resource_version: Option<i64>,
    at: jiff_sqlx::Timestamp,
    correlation_id: String,
    traceparent: Option<String>,
    data: Value,
    state: String,
    version: i64,
    attempts: i32,
    error: String,
    created_at: jiff_sqlx::Timestamp,
    redeliver_at: Option<jiff_sqlx::Timestamp>,
}

/// A dead letter with the message that it holds.
#[derive(Clone)]
pub struct StoredDeadLetter {
    pub letter: DeadLetter,
    pub message: Message,
    pub version: i64,
    /// Its turn among the dead letters of its resource.
    place: i64,
}

pub async fn list(tx: &mut Tx, filter: &DeadLetterFilter) -> sqlx::Result<Vec<DeadLetter>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT * FROM dead_letters WHERE ($1::text IS NULL OR state = $1) AND ($2::text IS NULL OR consumer = $2)
           AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4",
    )
    .bind(filter.state.map(|it| it.as_str()))
    .bind(filter.consumer.as_deref())
    .bind(filter.cursor.map(|it| it.0))
    .bind(filter.limit.probe())
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter().map(|row| held(row).map(|it| it.letter)).collect()
}

pub async fn get(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<StoredDeadLetter>> {
    let row: Option<Row> =
        sqlx::query_as("SELECT * FROM dead_letters WHERE id = $1").bind(id).fetch_optional(tx.conn()).await?;
    row.map(held).transpose()
}

/// Whether an earlier message of the same resource still waits before it.
pub async fn is_blocked(tx: &mut Tx, held: &StoredDeadLetter) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM dead_letters WHERE consumer = $1 AND resource = $2
           AND state IN ('waiting', 'exhausted') AND place < $3)",
    )
    .bind(&held.letter.consumer)
    .bind(&held.message.resource)
    .bind(held.place)
    .fetch_one(tx.conn())
    .await
}

/// Makes the one that waits right behind this one due now, and names it.
pub async fn release_next(tx: &mut Tx, held: &StoredDeadLetter) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar(
        "UPDATE dead_letters SET redeliver_at = app_now() WHERE id = (
           SELECT id FROM dead_letters WHERE consumer = $1 AND resource = $2 AND state = 'waiting' AND place > $3
           ORDER BY place LIMIT 1)
         RETURNING id",
    )
    .bind(&held.letter.consumer)
    .bind(&held.message.resource)
    .bind(held.place)
    .fetch_optional(tx.conn())
    .await
}

/// Records a failed delivery and when the next one is.
pub async fn postpone(tx: &mut Tx, id: Uuid, error: &str, after: Option<std::time::Duration>) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE dead_letters SET attempts = attempts + 1, error = left($2, 2000), redeliver_at = app_now() + make_interval(secs => $3)
         WHERE id = $1",
    )
    .bind(id)
    .bind(error)
    .bind(after.map(|it| it.as_secs_f64()))
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Starts the count of deliveries anew, due now.
pub async fn restart(tx: &mut Tx, id: Uuid) -> sqlx::Result<()> {
    sqlx::query("UPDATE dead_letters SET attempts = 0, redeliver_at = app_now() WHERE id = $1")
        .bind(id)
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn overdue(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar("SELECT id FROM dead_letters WHERE state = 'waiting' AND redeliver_at <= app_now() LIMIT $1")
        .bind(limit)
        .fetch_all(tx.conn())
        .await
}

impl StoredDeadLetter {
    /// The news of a dead letter is the platform's, not the organization's.
    pub fn versioned(&self) -> sqlx::Result<Versioned<DeadLetterState>> {
        let state = crate::rows::known(self.letter.state.as_str())?;
        Ok(Versioned { id: self.letter.id.uuid(), organization: None, state, version: self.version })
    }
}

fn held(row: Row) -> sqlx::Result<StoredDeadLetter> {
    let message = Message {
        id: row.message_id,
        subject: row.subject.clone(),
        organization: row.organization_id,
        resource: row.resource,
        version: row.resource_version,
        at: row.at.to_jiff(),
        correlation_id: row.correlation_id,
        traceparent: row.traceparent,
        data: row.data.clone(),
    };
    let letter = DeadLetter {
        id: row.id.into(),
        consumer: row.consumer,
        message_id: EventId::from(row.message_id).to_string(),
        subject: row.subject,
        organization_id: row.organization_id.map(Into::into),
        state: crate::rows::word(&row.state)?,
        attempts: row.attempts,
        error: row.error,
        created_at: row.created_at.to_jiff(),
        redeliver_at: row.redeliver_at.map(|it| it.to_jiff()),
        data: row.data,
    };
    Ok(StoredDeadLetter { letter, message, version: row.version, place: row.place })
}
