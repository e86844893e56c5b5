//! Audit entries: written with the change they record, append-only, sealed
//! later in batches by [`crate::seals`].

use std::sync::Arc;

use serde_json::Value;
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::tx::{Actor, Tx};

/// What a caller says about an entry; actor, time and cause are the transaction's.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEntry {
    pub action: String,
    pub organization: Option<Uuid>,
    /// What it was done to, by text id. Never personal data.
    pub resource: Option<String>,
    pub outcome: &'static str,
    pub detail: Value,
}

pub(crate) struct Row {
    id: Uuid,
    entry: NewEntry,
}

/// Records an entry with the transaction.
pub fn record(tx: &mut Tx, entry: NewEntry) {
    tx.pending.entries.push(Row { id: Uuid::now_v7(), entry });
}

pub(crate) fn push(
    statement: &mut QueryBuilder<Postgres>,
    epoch: i32,
    actor: &Actor,
    cause: &Arc<str>,
    rows: Vec<Row>,
) {
    statement.push(
        "INSERT INTO audit (epoch, id, organization_id, actor, action, resource, outcome, correlation_id, detail) ",
    );
    statement.push_values(rows, |mut values, row| {
        let entry = row.entry;
        values
            .push_bind(epoch)
            .push_bind(row.id)
            .push_bind(entry.organization)
            .push_bind(actor.as_str().to_owned())
            .push_bind(entry.action)
            .push_bind(entry.resource)
            .push_bind(entry.outcome)
            .push_bind(cause.to_string())
            .push_bind(entry.detail);
    });
}
