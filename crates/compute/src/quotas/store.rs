//! The rows of `quotas`.

use contract::{
    Label,
    id::{OrganizationId, QuotaId, SkuId},
    quotas::{Quota, QuotaFilter},
};
use kernel::Tx;
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    sku_id: Uuid,
    sku: String,
    gpus: i32,
    used: i64,
    set_at: jiff_sqlx::Timestamp,
}

/// Counted as admission counts it: what is over and what a lost host held is left out.
const SELECT: &str = "
    SELECT q.id, q.organization_id, q.sku_id, s.name AS sku, q.gpus, q.set_at,
      (SELECT coalesce(sum(a.gpus * a.nodes), 0) FROM allocations a
       WHERE a.organization_id = q.organization_id AND a.sku_id = q.sku_id
         AND counts_against_limits(a.state, a.alive_until)) AS used
    FROM quotas q JOIN skus s ON s.id = q.sku_id";

pub async fn set(tx: &mut Tx, organization: OrganizationId, sku: SkuId, gpus: u32) -> sqlx::Result<Option<Quota>> {
    sqlx::query(
        "INSERT INTO quotas (id, organization_id, sku_id, gpus) VALUES ($1, $2, $3, $4)
         ON CONFLICT (organization_id, sku_id) DO UPDATE SET gpus = excluded.gpus, set_at = app_now()",
    )
    .bind(QuotaId::generate().uuid())
    .bind(organization.uuid())
    .bind(sku.uuid())
    .bind(i32::try_from(gpus).unwrap_or(i32::MAX))
    .execute(tx.conn())
    .await?;
    let statement = format!("{SELECT} WHERE q.organization_id = $1 AND q.sku_id = $2");
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organization.uuid())
        .bind(sku.uuid())
        .fetch_optional(tx.conn())
        .await?;
    row.map(quota).transpose()
}

/// Says whether there was one.
pub async fn unset(tx: &mut Tx, organization: OrganizationId, sku: SkuId) -> sqlx::Result<bool> {
    let gone = sqlx::query("DELETE FROM quotas WHERE organization_id = $1 AND sku_id = $2")
        .bind(organization.uuid())
        .bind(sku.uuid())
        .execute(tx.conn())
        .await?;
    Ok(gone.rows_affected() > 0)
}

pub async fn list(tx: &mut Tx, organization: OrganizationId, filter: &QuotaFilter) -> sqlx::Result<Vec<Quota>> {
    let statement = format!(
        "{SELECT} WHERE q.organization_id = $1 AND ($2::text IS NULL OR s.name = $2) AND ($3::uuid IS NULL OR q.id < $3)
         ORDER BY q.id DESC LIMIT $4"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organization.uuid())
        .bind(filter.sku.as_ref().map(Label::as_str))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(quota).collect()
}

/// How many GPUs of the SKU the organization may hold at once; no quota leaves it to the policy.
pub async fn limit(tx: &mut Tx, organization: OrganizationId, sku: SkuId) -> sqlx::Result<Option<u32>> {
    let gpus: Option<i32> = sqlx::query_scalar("SELECT gpus FROM quotas WHERE organization_id = $1 AND sku_id = $2")
        .bind(organization.uuid())
        .bind(sku.uuid())
        .fetch_optional(tx.conn())
        .await?;
    gpus.map(|it| u32::try_from(it).map_err(unfit)).transpose()
}

fn quota(row: Row) -> sqlx::Result<Quota> {
    Ok(Quota {
        id: row.id.into(),
        organization_id: row.organization_id.into(),
        sku_id: row.sku_id.into(),
        sku: platform::rows::text(&row.sku)?,
        gpus: u32::try_from(row.gpus).map_err(unfit)?,
        used: u32::try_from(row.used).map_err(unfit)?,
        set_at: row.set_at.to_jiff(),
    })
}

fn unfit(error: std::num::TryFromIntError) -> sqlx::Error {
    sqlx::Error::Decode(error.into())
}
