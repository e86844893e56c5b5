//! Events on their way out: written with the change they tell of, read in an
//! order that keeps the changes of one resource as they happened.

use std::{fmt, str::FromStr, sync::Arc};

use jiff::Timestamp;
use serde_json::Value;
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::tx::Tx;

/// What a caller says about an event; time, cause and id are added.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    pub subject: String,
    pub organization: Option<Uuid>,
    /// The resource's text id; order is kept per resource.
    pub resource: Option<String>,
    pub version: Option<i64>,
    pub data: Value,
}

pub(crate) struct Row {
    id: Uuid,
    event: NewEvent,
}

impl Row {
    pub(crate) fn subject(&self) -> &str {
        &self.event.subject
    }
}

/// An event as consumers see it.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Message {
    /// Equal for equal events; consumers de-duplicate by it.
    pub id: Uuid,
    pub subject: String,
    pub organization: Option<Uuid>,
    pub resource: Option<String>,
    pub version: Option<i64>,
    pub at: Timestamp,
    pub correlation_id: String,
    /// The W3C trace of the change, if it was part of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    pub data: Value,
}

/// Where a reader stands: at the event with this place, which it has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub epoch: i32,
    pub xid: i64,
    pub place: i64,
}

impl Position {
    pub const START: Position = Position { epoch: 0, xid: 0, place: 0 };
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.epoch, self.xid, self.place)
    }
}

impl FromStr for Position {
    type Err = NotAPosition;

    fn from_str(text: &str) -> Result<Self, NotAPosition> {
        let mut parts = text.split('.').map(str::parse::<i64>);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Ok(epoch)), Some(Ok(xid)), Some(Ok(place)), None) => {
                Ok(Position { epoch: epoch.try_into().map_err(|_| NotAPosition)?, xid, place })
            }
            _ => Err(NotAPosition),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a position: expected `epoch.xid.place`")]
pub struct NotAPosition;

/// Writes an event with the transaction. Callers use the typed `emit` of the
/// control plane, or `transition`.
pub fn emit(tx: &mut Tx, event: NewEvent) {
    tx.pending.events.push(Row { id: Uuid::now_v7(), event });
}

pub(crate) fn push(
    statement: &mut QueryBuilder<Postgres>,
    epoch: i32,
    cause: &Arc<str>,
    trace: Option<&Arc<str>>,
    rows: Vec<Row>,
) {
    statement.push(
        "INSERT INTO outbox (epoch, id, subject, organization_id, resource, version, correlation_id, traceparent, data) ",
    );
    statement.push_values(rows, |mut values, row| {
        let event = row.event;
        values
            .push_bind(epoch)
            .push_bind(row.id)
            .push_bind(event.subject)
            .push_bind(event.organization)
            .push_bind(event.resource)
            .push_bind(event.version)
            .push_bind(cause.to_string())
            .push_bind(trace.map(ToString::to_string))
            .push_bind(event.data);
    });
}

#[derive(sqlx::FromRow)]
struct Columns {
    epoch: i32,
    xid: i64,
    place: i64,
    id: Uuid,
    subject: String,
    organization_id: Option<Uuid>,
    resource: Option<String>,
    version: Option<i64>,
    at: jiff_sqlx::Timestamp,
    correlation_id: String,
    traceparent: Option<String>,
    data: Value,
}

/// Events after `position` whose transactions, and all before them, are over.
pub async fn read(tx: &mut Tx, position: Position, limit: i64) -> sqlx::Result<Vec<(Position, Message)>> {
    let epoch = tx.epoch();
    let rows: Vec<Columns> = sqlx::query_as(
        "SELECT epoch, xid::text::bigint AS xid, place, id, subject, organization_id, resource, version, at,
                correlation_id, traceparent, data
         FROM outbox
         WHERE (epoch, xid, place) > ($1, $2::text::xid8, $3)
           AND (epoch < $4 OR xid < pg_snapshot_xmin(pg_current_snapshot()))
         ORDER BY outbox.epoch, outbox.xid, outbox.place LIMIT $5",
    )
    .bind(position.epoch)
    .bind(position.xid.to_string())
    .bind(position.place)
    .bind(epoch)
    .bind(limit)
    .fetch_all(tx.conn())
    .await?;
    Ok(rows.into_iter().map(message).collect())
}

/// Where a reader stands that wants only what comes from now on.
pub async fn newest(tx: &mut Tx) -> sqlx::Result<Position> {
    let epoch = tx.epoch();
    let xid: i64 = sqlx::query_scalar("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1")
        .fetch_one(tx.conn())
        .await?;
    Ok(Position { epoch, xid, place: i64::MAX })
}

/// Where an event stands, if it is still kept.
pub async fn position_of(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<Position>> {
    let row: Option<(i32, i64, i64)> =
        sqlx::query_as("SELECT epoch, xid::text::bigint, place FROM outbox WHERE id = $1")
            .bind(id)
            .fetch_optional(tx.conn())
            .await?;
    Ok(row.map(|(epoch, xid, place)| Position { epoch, xid, place }))
}

fn message(row: Columns) -> (Position, Message) {
    let message = Message {
        id: row.id,
        subject: row.subject,
        organization: row.organization_id,
        resource: row.resource,
        version: row.version,
        at: row.at.to_jiff(),
        correlation_id: row.correlation_id,
        traceparent: row.traceparent,
        data: row.data,
    };
    (Position { epoch: row.epoch, xid: row.xid, place: row.place }, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_back_from_its_text() {
        let position = Position { epoch: 2, xid: 812_345, place: 17 };
        assert_eq!(position.to_string().parse(), Ok(position));
        for bad in ["", "1.2", "1.2.3.4", "1.x.3", "99999999999.1.1"] {
            assert_eq!(bad.parse::<Position>(), Err(NotAPosition), "{bad}");
        }
    }
}
