//! Reading events back.

use contract::{
    Cursor, Limit,
    events::RecordedEvent,
    id::{EventId, OrganizationId},
};
use kernel::Tx;
use serde_json::Value;
use uuid::Uuid;

type Columns = (Uuid, String, Option<Uuid>, Option<String>, jiff_sqlx::Timestamp, String, Value);

/// Which events are read.
pub struct EventSelection<'a> {
    pub organization: Option<OrganizationId>,
    pub subject: Option<&'a str>,
    pub resource: Option<&'a str>,
    /// Only events with these subjects; all when not said.
    pub only: Option<&'a [&'a str]>,
}

pub async fn list(
    tx: &mut Tx,
    wanted: EventSelection<'_>,
    cursor: Option<Cursor>,
    limit: Limit,
) -> sqlx::Result<Vec<RecordedEvent>> {
    // What is not asked for stays out of the statement, so that each has its index.
    let mut conditions =
        String::from("($3::text IS NULL OR starts_with(subject, $3)) AND ($5::uuid IS NULL OR id < $5)");
    conditions += if wanted.organization.is_some() { " AND organization_id = $1" } else { " AND $1::uuid IS NULL" };
    conditions += if wanted.resource.is_some() { " AND resource = $2" } else { " AND $2::text IS NULL" };
    conditions += " AND ($4::text[] IS NULL OR subject = ANY ($4))";
    let statement = format!(
        "SELECT id, subject, organization_id, resource, at, correlation_id, data FROM outbox
         WHERE {conditions} ORDER BY id DESC LIMIT $6"
    );
    let rows: Vec<Columns> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(wanted.organization.map(|it| it.uuid()))
        .bind(wanted.resource)
        .bind(wanted.subject)
        .bind(wanted.only)
        .bind(cursor.map(|it| it.0))
        .bind(limit.probe())
        .fetch_all(tx.conn())
        .await?;
    Ok(rows.into_iter().map(event).collect())
}

fn event((id, subject, organization, resource, at, correlation_id, data): Columns) -> RecordedEvent {
    let id = EventId::from(id);
    RecordedEvent {
        message_id: id.to_string(),
        id,
        subject,
        organization_id: organization.map(Into::into),
        resource,
        at: at.to_jiff(),
        correlation_id,
        data,
    }
}
