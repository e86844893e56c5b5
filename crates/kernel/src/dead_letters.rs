//! Messages that a consumer kept failing on. Stored here; the resource of the
//! same name in the control plane delivers them again and shows them.

use std::time::Duration;

use serde_json::json;
use uuid::Uuid;

use crate::{
    clock,
    outbox::{self, Message, NewEvent},
    tx::Tx,
    work,
};

/// The kind under which the work queue knows dead letters.
pub const KIND: &str = "dead_letter";

/// Tells those who watch that there is one more. No consumer is given it: one
/// that fails on everything would make letters about its letters.
pub const STORED: &str = "dead_letter.stored";

/// Stores a message, to be delivered again after a while.
pub(crate) async fn store(
    tx: &mut Tx,
    consumer: &str,
    message: &Message,
    error: &str,
    after: Duration,
) -> sqlx::Result<()> {
    let id = Uuid::now_v7();
    let due: Option<jiff_sqlx::Timestamp> = sqlx::query_scalar(
        "INSERT INTO dead_letters (id, consumer, message_id, subject, organization_id, resource, resource_version,
           at, correlation_id, traceparent, data, state, error, redeliver_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'waiting', left($12, 2000), app_now() + make_interval(secs => $13))
         ON CONFLICT (consumer, message_id) DO NOTHING RETURNING redeliver_at",
    )
    .bind(id)
    .bind(consumer)
    .bind(message.id)
    .bind(&message.subject)
    .bind(message.organization)
    .bind(&message.resource)
    .bind(message.version)
    .bind(clock::bind(message.at))
    .bind(&message.correlation_id)
    .bind(&message.traceparent)
    .bind(&message.data)
    .bind(error)
    .bind(after.as_secs_f64())
    .fetch_optional(tx.conn())
    .await?;
    if let Some(due) = due {
        work::wake_at(tx, KIND, id, due.to_jiff());
        let data = json!({ "consumer": consumer, "subject": message.subject });
        outbox::emit(tx, NewEvent { subject: STORED.into(), organization: None, resource: None, version: None, data });
        metrics::counter!("gpuaas_dead_letters_total", "consumer" => consumer.to_owned()).increment(1);
    }
    Ok(())
}

/// What is known of a message before its consumer sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MessageRecord {
    /// It was consumed, or is a dead letter itself.
    pub is_settled: bool,
    /// A message of its resource is a dead letter. It came earlier, because
    /// messages come in order: this one must wait behind it.
    pub is_blocked: bool,
}

pub(crate) async fn known(tx: &mut Tx, consumer: &str, message: &Message) -> sqlx::Result<MessageRecord> {
    let (is_settled, is_blocked) = sqlx::query_as(
        "SELECT EXISTS (SELECT FROM consumed WHERE consumer = $1 AND message_id = $2)
             OR EXISTS (SELECT FROM dead_letters WHERE consumer = $1 AND message_id = $2),
           EXISTS (SELECT FROM dead_letters WHERE consumer = $1 AND resource = $3
             AND state IN ('waiting', 'exhausted') AND message_id <> $2)",
    )
    .bind(consumer)
    .bind(message.id)
    .bind(&message.resource)
    .fetch_one(tx.conn())
    .await?;
    Ok(MessageRecord { is_settled, is_blocked })
}
