//! Reading audit entries. They are written by the gates and by `transition`.

use contract::{
    audit::{AuditEntry, AuditFilter},
    id::OrganizationId,
};
use kernel::Tx;
use serde_json::Value;
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    at: jiff_sqlx::Timestamp,
    organization_id: Option<Uuid>,
    actor: String,
    action: String,
    resource: Option<String>,
    outcome: String,
    correlation_id: String,
    detail: Value,
}

/// Entries of one organization, or of all that the scope shows.
pub async fn list(
    tx: &mut Tx,
    organization: Option<OrganizationId>,
    filter: &AuditFilter,
) -> sqlx::Result<Vec<AuditEntry>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, at, organization_id, actor, action, resource, outcome, correlation_id, detail FROM audit
         WHERE ($1::uuid IS NULL OR organization_id = $1) AND ($2::text IS NULL OR action = $2)
           AND ($3::text IS NULL OR resource = $3) AND ($4::text IS NULL OR actor = $4)
           AND ($5::text IS NULL OR correlation_id = $5) AND ($6::uuid IS NULL OR id < $6)
         ORDER BY id DESC LIMIT $7",
    )
    .bind(organization.map(|it| it.uuid()))
    .bind(filter.action.as_deref())
    .bind(filter.resource.as_deref())
    .bind(filter.actor.as_deref())
    .bind(filter.correlation_id.as_deref())
    .bind(filter.cursor.map(|it| it.0))
    .bind(filter.limit.probe())
    .fetch_all(tx.conn())
    .await?;
    Ok(rows.into_iter().map(entry).collect())
}

fn entry(row: Row) -> AuditEntry {
    AuditEntry {
        id: row.id.into(),
        at: row.at.to_jiff(),
        organization_id: row.organization_id.map(Into::into),
        actor: row.actor,
        action: row.action,
        resource: row.resource,
        outcome: row.outcome,
        correlation_id: row.correlation_id,
        detail: row.detail,
    }
}
