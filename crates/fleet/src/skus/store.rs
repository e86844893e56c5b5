//! The rows of `skus`.

use contract::{
    Label,
    id::SkuId,
    skus::{GpuModel, Sku, SkuFilter, SkuLimits, SkuSpec},
};
use kernel::Tx;
use sqlx::types::Json;
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    name: String,
    shape: String,
    gpu_model: Option<String>,
    gpu_counts: Vec<i32>,
    numa_bound: bool,
    limits: Json<SkuLimits>,
    created_at: jiff_sqlx::Timestamp,
    retired_at: Option<jiff_sqlx::Timestamp>,
}

const COLUMNS: &str = "id, name, shape, gpu_model, gpu_counts, numa_bound, limits, created_at, retired_at";

/// `None` when another SKU has, or had, the name. The counts were checked.
pub async fn insert(tx: &mut Tx, spec: &SkuSpec) -> sqlx::Result<Option<Sku>> {
    let counts: Vec<i32> = spec.gpu_counts.iter().map(|it| i32::from(*it)).collect();
    let statement = format!(
        "INSERT INTO skus (id, name, shape, gpu_model, gpu_counts, numa_bound, limits) VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (name) DO NOTHING RETURNING {COLUMNS}"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(SkuId::generate().uuid())
        .bind(spec.name.as_str())
        .bind(spec.shape.as_str())
        .bind(spec.gpu_model.as_ref().map(GpuModel::as_str))
        .bind(counts)
        .bind(spec.numa_bound)
        .bind(Json(spec.limits.unwrap_or_default()))
        .fetch_optional(tx.conn())
        .await?;
    row.map(sku).transpose()
}

pub async fn get(tx: &mut Tx, id: SkuId) -> sqlx::Result<Option<Sku>> {
    let statement = format!("SELECT {COLUMNS} FROM skus WHERE id = $1");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(sku).transpose()
}

/// The SKU that people mean by a name, on offer or not.
pub async fn by_name(tx: &mut Tx, name: &Label) -> sqlx::Result<Option<Sku>> {
    let statement = format!("SELECT {COLUMNS} FROM skus WHERE name = $1");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(name.as_str()).fetch_optional(tx.conn()).await?;
    row.map(sku).transpose()
}

/// Makes what is numbered per SKU take turns, until the commit. Says whether there is one.
pub async fn lock(tx: &mut Tx, id: SkuId) -> sqlx::Result<bool> {
    let found = sqlx::query("SELECT FROM skus WHERE id = $1 FOR NO KEY UPDATE")
        .bind(id.uuid())
        .fetch_optional(tx.conn())
        .await?;
    Ok(found.is_some())
}

pub async fn list(tx: &mut Tx, filter: &SkuFilter) -> sqlx::Result<Vec<Sku>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM skus WHERE ($1::text IS NULL OR name = $1) AND (retired_at IS NULL OR $2)
           AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(filter.name.as_ref().map(Label::as_str))
        .bind(filter.retired.unwrap_or(false))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(sku).collect()
}

/// The SKU as it is now, and whether it was on offer until now.
pub async fn retire(tx: &mut Tx, id: SkuId) -> sqlx::Result<Option<(Sku, bool)>> {
    let statement =
        format!("UPDATE skus SET retired_at = app_now() WHERE id = $1 AND retired_at IS NULL RETURNING {COLUMNS}");
    let retired: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    match retired {
        Some(row) => Ok(Some((sku(row)?, true))),
        None => Ok(get(tx, id).await?.map(|it| (it, false))),
    }
}

fn sku(row: Row) -> sqlx::Result<Sku> {
    let count = |it: i32| u16::try_from(it).map_err(|error| sqlx::Error::Decode(error.into()));
    Ok(Sku {
        id: row.id.into(),
        name: platform::rows::text(&row.name)?,
        shape: platform::rows::word(&row.shape)?,
        gpu_model: row.gpu_model.as_deref().map(platform::rows::text).transpose()?,
        gpu_counts: row.gpu_counts.into_iter().map(count).collect::<sqlx::Result<_>>()?,
        numa_bound: row.numa_bound,
        limits: row.limits.0,
        created_at: row.created_at.to_jiff(),
        retired_at: row.retired_at.map(|it| it.to_jiff()),
    })
}
