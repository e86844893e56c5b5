//! The rows of `webhook_deliveries`.

use std::time::Duration;

use contract::{
    Envelope, Word,
    id::{EventId, OrganizationId, WebhookDeliveryId, WebhookId},
    webhook_deliveries::{WebhookDelivery, WebhookDeliveryFilter, WebhookDeliveryState},
};
use kernel::{Access, Db, Tx, lifecycle::Versioned, outbox::Message};
use serde_json::Value;
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    webhook_id: Uuid,
    event_id: Uuid,
    subject: String,
    resource: Option<String>,
    at: jiff_sqlx::Timestamp,
    correlation_id: String,
    data: Value,
    is_test: bool,
    state: String,
    version: i64,
    attempts: i32,
    last_status: Option<i32>,
    error: Option<String>,
    created_at: jiff_sqlx::Timestamp,
    next_attempt_at: Option<jiff_sqlx::Timestamp>,
    delivered_at: Option<jiff_sqlx::Timestamp>,
}

/// A delivery with the event that it carries.
#[derive(Debug, Clone)]
pub struct StoredDelivery {
    pub organization: OrganizationId,
    pub delivery: WebhookDelivery,
    pub event: Envelope<Value>,
    version: i64,
    resource: Option<String>,
}

/// Adds a delivery of the message for each webhook that has none of it, and
/// names those it added.
pub async fn insert(
    tx: &mut Tx,
    organization: Uuid,
    webhooks: &[Uuid],
    message: &Message,
    is_test: bool,
) -> sqlx::Result<Vec<Uuid>> {
    let ids: Vec<Uuid> = webhooks.iter().map(|_| WebhookDeliveryId::generate().uuid()).collect();
    sqlx::query_scalar(
        "INSERT INTO webhook_deliveries
           (id, webhook_id, organization_id, event_id, subject, resource, at, correlation_id, data, is_test, state)
         SELECT id, webhook_id, $3, $4, $5, $6, $7, $8, $9, $10, 'pending'
         FROM unnest($1::uuid[], $2::uuid[]) AS added (id, webhook_id)
         ON CONFLICT (webhook_id, event_id) DO NOTHING RETURNING id",
    )
    .bind(ids)
    .bind(webhooks)
    .bind(organization)
    .bind(message.id)
    .bind(&message.subject)
    .bind(&message.resource)
    .bind(kernel::clock::bind(message.at))
    .bind(&message.correlation_id)
    .bind(&message.data)
    .bind(is_test)
    .fetch_all(tx.conn())
    .await
}

pub async fn get(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<StoredDelivery>> {
    let row: Option<Row> =
        sqlx::query_as("SELECT * FROM webhook_deliveries WHERE id = $1").bind(id).fetch_optional(tx.conn()).await?;
    row.map(held).transpose()
}

pub async fn list(
    tx: &mut Tx,
    webhook: WebhookId,
    filter: &WebhookDeliveryFilter,
) -> sqlx::Result<Vec<WebhookDelivery>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT * FROM webhook_deliveries WHERE webhook_id = $1 AND ($2::text IS NULL OR state = $2)
           AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4",
    )
    .bind(webhook.uuid())
    .bind(filter.state.map(|it| it.as_str()))
    .bind(filter.cursor.map(|it| it.0))
    .bind(filter.limit.probe())
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter().map(|row| held(row).map(|it| it.delivery)).collect()
}

/// Whether an earlier event of the same resource has yet to be tried.
pub async fn is_behind(tx: &mut Tx, held: &StoredDelivery) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM webhook_deliveries WHERE webhook_id = $1 AND resource = $2
           AND state = 'pending' AND attempts = 0 AND id < $3)",
    )
    .bind(held.delivery.webhook_id.uuid())
    .bind(&held.resource)
    .bind(held.delivery.id.uuid())
    .fetch_one(tx.conn())
    .await
}

/// The event of the same resource that has its first turn after this one.
pub async fn next_in_line(tx: &mut Tx, held: &StoredDelivery) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar(
        "SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND resource = $2
           AND state = 'pending' AND attempts = 0 AND id > $3 ORDER BY id LIMIT 1",
    )
    .bind(held.delivery.webhook_id.uuid())
    .bind(&held.resource)
    .bind(held.delivery.id.uuid())
    .fetch_optional(tx.conn())
    .await
}

/// How many events of the webhook have yet to be tried, counted up to `most`.
pub async fn untried(tx: &mut Tx, webhook: WebhookId, most: i32) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "SELECT count(*) FROM (SELECT FROM webhook_deliveries
           WHERE webhook_id = $1 AND state = 'pending' AND attempts = 0 LIMIT $2) AS waiting",
    )
    .bind(webhook.uuid())
    .bind(most)
    .fetch_one(tx.conn())
    .await
}

/// What an attempt came to.
pub struct Attempt<'a> {
    pub status: Option<u16>,
    pub error: Option<&'a str>,
    /// When the next one is, if there is one.
    pub again: Option<Duration>,
}

pub async fn record(tx: &mut Tx, id: WebhookDeliveryId, attempt: Attempt<'_>) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE webhook_deliveries SET attempts = attempts + 1, last_status = $2, error = left($3, 500),
                next_attempt_at = app_now() + make_interval(secs => $4),
                delivered_at = CASE WHEN $3::text IS NULL THEN app_now() END
         WHERE id = $1",
    )
    .bind(id.uuid())
    .bind(attempt.status.map(i32::from))
    .bind(attempt.error)
    .bind(attempt.again.map(|it| it.as_secs_f64()))
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Gives a delivery up without an attempt.
pub async fn note_unsent(tx: &mut Tx, id: WebhookDeliveryId, why: &str) -> sqlx::Result<()> {
    sqlx::query("UPDATE webhook_deliveries SET error = $2, next_attempt_at = NULL WHERE id = $1")
        .bind(id.uuid())
        .bind(why)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Starts the count of attempts anew, due now.
pub async fn restart(tx: &mut Tx, id: Uuid) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE webhook_deliveries SET attempts = 0, last_status = NULL, error = NULL, delivered_at = NULL,
                next_attempt_at = app_now() WHERE id = $1",
    )
    .bind(id)
    .execute(tx.conn())
    .await?;
    Ok(())
}

pub async fn overdue(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT id FROM webhook_deliveries WHERE state = 'pending' AND next_attempt_at <= app_now() LIMIT $1",
    )
    .bind(limit)
    .fetch_all(tx.conn())
    .await
}

/// Deletes deliveries that were over long ago.
pub async fn forget_old(db: &Db, keep: Duration, bite: i64) -> sqlx::Result<u64> {
    let mut tx = Tx::system(db, "housekeeping", Access::Write).await?;
    let gone = sqlx::query(
        "DELETE FROM webhook_deliveries WHERE id = ANY(ARRAY(SELECT id FROM webhook_deliveries
           WHERE state <> 'pending' AND state_since <= app_now() - make_interval(secs => $1) LIMIT $2))",
    )
    .bind(keep.as_secs_f64())
    .bind(bite)
    .execute(tx.conn())
    .await?
    .rows_affected();
    tx.commit().await?;
    Ok(gone)
}

impl StoredDelivery {
    /// The moves of a delivery are the platform's news: were they the
    /// organization's, each would be an event to deliver.
    pub fn versioned(&self, organization: Option<Uuid>) -> sqlx::Result<Versioned<WebhookDeliveryState>> {
        let state = platform::rows::known(self.delivery.state.as_str())?;
        Ok(Versioned { id: self.delivery.id.uuid(), organization, state, version: self.version })
    }
}

fn held(row: Row) -> sqlx::Result<StoredDelivery> {
    let event_id = EventId::from(row.event_id);
    let event = Envelope {
        message_id: event_id.to_string(),
        subject: row.subject.clone(),
        organization_id: Some(row.organization_id.into()),
        at: row.at.to_jiff(),
        correlation_id: row.correlation_id,
        data: row.data,
    };
    let delivery = WebhookDelivery {
        id: row.id.into(),
        webhook_id: row.webhook_id.into(),
        event_id,
        subject: row.subject,
        is_test: row.is_test,
        state: platform::rows::word(&row.state)?,
        attempts: row.attempts,
        last_status: row.last_status,
        error: row.error,
        created_at: row.created_at.to_jiff(),
        next_attempt_at: row.next_attempt_at.map(|it| it.to_jiff()),
        delivered_at: row.delivered_at.map(|it| it.to_jiff()),
    };
    let organization = row.organization_id.into();
    Ok(StoredDelivery { organization, delivery, event, version: row.version, resource: row.resource })
}
