//! What is metered of the rows of `allocations`.

use std::collections::BTreeMap;

use contract::{Timestamp, Word, allocations::AllocationState, id::ProjectId, prices::PriceKind};
use kernel::{Tx, money::Currency};
use money::{
    metering::{Parents, Subject, Used},
    wallets::Expected,
};
use sqlx::types::Json;
use uuid::Uuid;

use super::GPU_TIME;

#[derive(sqlx::FromRow)]
struct MeteredRow {
    id: Uuid,
    organization_id: Uuid,
    project_id: Uuid,
    sku_id: Uuid,
    gpus: i64,
    currency: String,
    tags: Json<serde_json::Value>,
    nodes: Vec<Uuid>,
    lease_ends_at: Option<jiff_sqlx::Timestamp>,
    lease_minutes: Option<i32>,
}

const METERED: &str = "SELECT a.id, a.organization_id, a.project_id, a.sku_id, (a.gpus * a.nodes)::bigint AS gpus, a.currency, a.tags,
    ARRAY(SELECT p.node_id FROM allocation_parts p WHERE p.allocation_id = a.id ORDER BY p.node_id) AS nodes, a.lease_ends_at, a.lease_minutes
  FROM allocations a";

/// What is metered of these from now on.
pub async fn metered(tx: &mut Tx, ids: &[Uuid]) -> sqlx::Result<Vec<Used>> {
    let statement = format!("{METERED} WHERE a.id = ANY($1)");
    let rows: Vec<MeteredRow> = sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(ids).fetch_all(tx.conn()).await?;
    rows.into_iter()
        .map(|row| {
            Ok(Used {
                subject: Subject { organization: row.organization_id.into(), id: row.id, meter: &GPU_TIME },
                project: row.project_id.into(),
                parents: Parents { allocation: Some(row.id), ..Parents::default() },
                sku: row.sku_id.into(),
                price_kind: PriceKind::OnDemand,
                quantity: row.gpus,
                currency: platform::rows::text(&row.currency)?,
                tags: row.tags.0,
                nodes: row.nodes,
                ends_at: row.lease_ends_at.map(|it| it.to_jiff()),
                cause: AllocationState::Active.as_str(),
            })
        })
        .collect()
}

/// What a project's live allocations in a currency may use until they end.
pub async fn expected(tx: &mut Tx, project: ProjectId, currency: Currency) -> sqlx::Result<Vec<Expected>> {
    let statement = format!(
        "{METERED} WHERE a.project_id = $1 AND a.currency = $2 AND a.state NOT IN ('releasing', 'released', 'release_failed', 'failed')"
    );
    let rows: Vec<MeteredRow> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(project.uuid())
        .bind(currency.as_str())
        .fetch_all(tx.conn())
        .await?;
    let expected = |row: MeteredRow| Expected {
        subject: row.id,
        meter: &GPU_TIME,
        sku: row.sku_id.into(),
        price_kind: PriceKind::OnDemand,
        quantity: row.gpus,
        ends_at: row.lease_ends_at.map(|it| it.to_jiff()),
        minutes: row.lease_minutes,
    };
    Ok(rows.into_iter().map(expected).collect())
}

/// When a host of each of these that is lost was last heard.
pub async fn alive_until(tx: &mut Tx, ids: &[Uuid]) -> sqlx::Result<BTreeMap<Uuid, Timestamp>> {
    let rows: Vec<(Uuid, jiff_sqlx::Timestamp)> =
        sqlx::query_as("SELECT id, alive_until FROM allocations WHERE id = ANY($1) AND alive_until IS NOT NULL")
            .bind(ids)
            .fetch_all(tx.conn())
            .await?;
    Ok(rows.into_iter().map(|(id, at)| (id, at.to_jiff())).collect())
}
