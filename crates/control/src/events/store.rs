//! Reading events back.

use contract::{Cursor, Limit, events::RecordedEvent, id::EventId};
use kernel::Tx;
use serde_json::Value;
use uuid::Uuid;

type Columns = (Uuid, String, Option<String>, jiff_sqlx::Timestamp, String, Value);

pub async fn list(
    tx: &mut Tx,
    organization: Uuid,
    subject: Option<&str>,
    resource: Option<&str>,
    cursor: Option<Cursor>,
    limit: Limit,
) -> sqlx::Result<Vec<RecordedEvent>> {
    let rows: Vec<Columns> = sqlx::query_as(
        "SELECT id, subject, resource, at, correlation_id, data FROM outbox
         WHERE organization_id = $1 AND ($2::text IS NULL OR starts_with(subject, $2)) AND ($3::text IS NULL OR resource = $3)
           AND ($4::uuid IS NULL OR id < $4)
         ORDER BY id DESC LIMIT $5",
    )
    .bind(organization)
    .bind(subject)
    .bind(resource)
    .bind(cursor.map(|it| it.0))
    .bind(limit.probe())
    .fetch_all(tx.conn())
    .await?;
    Ok(rows.into_iter().map(event).collect())
}

fn event((id, subject, resource, at, correlation_id, data): Columns) -> RecordedEvent {
    let id = EventId::from(id);
    RecordedEvent { message_id: id.to_string(), id, subject, resource, at: at.to_jiff(), correlation_id, data }
}
