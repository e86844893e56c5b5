//! The rows of `payment_events`: that the provider told something, not what.

use std::time::Duration;

use contract::{
    Word,
    id::PaymentEventId,
    payments::{PaymentEvent, PaymentEventFilter, PaymentEventOutcome},
};
use kernel::{Access, Db, Tx};
use uuid::Uuid;

use platform::{ports::payments::ProviderEvent, rows};

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    provider: String,
    event_id: String,
    kind: String,
    object_id: Option<String>,
    payment_id: Option<Uuid>,
    outcome: String,
    deliveries: i32,
    received_at: jiff_sqlx::Timestamp,
    processed_at: Option<jiff_sqlx::Timestamp>,
}

pub struct NewEvent<'a> {
    pub provider: &'static str,
    pub event: &'a ProviderEvent,
}

/// An event that was kept, with what leads to its payment.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct StoredEvent {
    pub id: Uuid,
    pub provider: String,
    pub kind: String,
    pub object_id: Option<String>,
    pub intent_id: Option<String>,
    pub named: Option<Uuid>,
}

/// Keeps an event, once however often it comes. Answers its id while there is
/// something to do about it.
pub async fn keep(tx: &mut Tx, new: NewEvent<'_>) -> sqlx::Result<Option<Uuid>> {
    let (id, outcome): (Uuid, String) = sqlx::query_as(
        "INSERT INTO payment_events (id, provider, event_id, kind, object_id, intent_id, named)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (provider, event_id) DO UPDATE SET deliveries = payment_events.deliveries + 1
         RETURNING id, outcome",
    )
    .bind(PaymentEventId::generate().uuid())
    .bind(new.provider)
    .bind(&new.event.id)
    .bind(&new.event.kind)
    .bind(new.event.object.as_deref())
    .bind(new.event.intent.as_deref())
    .bind(new.event.payment)
    .fetch_one(tx.conn())
    .await?;
    Ok((outcome != PaymentEventOutcome::Matched.as_str()).then_some(id))
}

pub async fn waiting(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<StoredEvent>> {
    sqlx::query_as(
        "SELECT id, provider, kind, object_id, intent_id, named FROM payment_events WHERE id = $1 AND outcome <> 'matched'",
    )
    .bind(id)
    .fetch_optional(tx.conn())
    .await
}

/// The payment that goes by any of these names.
pub async fn whose(
    tx: &mut Tx,
    provider: &str,
    named: Option<Uuid>,
    intent: Option<&str>,
    object: Option<&str>,
) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar(
        "SELECT id FROM payments WHERE provider = $1 AND (id = $2 OR intent_id = $3 OR checkout_id = $4)
         ORDER BY (intent_id IS NOT DISTINCT FROM $3) DESC, id LIMIT 1",
    )
    .bind(provider)
    .bind(named)
    .bind(intent)
    .bind(object)
    .fetch_optional(tx.conn())
    .await
}

pub async fn processed(tx: &mut Tx, id: Uuid, payment: Option<Uuid>) -> sqlx::Result<()> {
    let outcome = if payment.is_some() { PaymentEventOutcome::Matched } else { PaymentEventOutcome::Unknown };
    sqlx::query("UPDATE payment_events SET outcome = $2, payment_id = $3, processed_at = app_now() WHERE id = $1")
        .bind(id)
        .bind(outcome.as_str())
        .bind(payment)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Events that nobody looked at yet.
pub async fn unprocessed(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar("SELECT id FROM payment_events WHERE processed_at IS NULL LIMIT $1")
        .bind(limit)
        .fetch_all(tx.conn())
        .await
}

pub async fn list_events(tx: &mut Tx, filter: &PaymentEventFilter) -> sqlx::Result<Vec<PaymentEvent>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, provider, event_id, kind, object_id, payment_id, outcome, deliveries, received_at, processed_at
         FROM payment_events WHERE ($1::text IS NULL OR outcome = $1) AND ($2::uuid IS NULL OR id < $2)
         ORDER BY id DESC LIMIT $3",
    )
    .bind(filter.outcome.map(|it| it.as_str()))
    .bind(filter.cursor.map(|it| it.0))
    .bind(filter.limit.probe())
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter().map(event).collect()
}

/// Deletes events that were looked at long ago.
pub async fn forget_old_events(db: &Db, keep: Duration, bite: i64) -> sqlx::Result<u64> {
    let mut tx = Tx::system(db, "housekeeping", Access::Write).await?;
    let gone = sqlx::query(
        "DELETE FROM payment_events WHERE id = ANY(ARRAY(SELECT id FROM payment_events
           WHERE processed_at <= app_now() - make_interval(secs => $1) LIMIT $2))",
    )
    .bind(keep.as_secs_f64())
    .bind(bite)
    .execute(tx.conn())
    .await?
    .rows_affected();
    tx.commit().await?;
    Ok(gone)
}

fn event(row: Row) -> sqlx::Result<PaymentEvent> {
    Ok(PaymentEvent {
        id: row.id.into(),
        provider: row.provider,
        event_id: row.event_id,
        kind: row.kind,
        object_id: row.object_id,
        payment_id: row.payment_id.map(Into::into),
        outcome: rows::word(&row.outcome)?,
        deliveries: row.deliveries,
        received_at: row.received_at.to_jiff(),
        processed_at: row.processed_at.map(|it| it.to_jiff()),
    })
}
