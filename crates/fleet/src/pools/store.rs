//! The rows of `pools`.

use contract::{
    Label, Word,
    id::PoolId,
    pools::{Isolation, Pool, PoolFilter, PoolSpec},
};
use kernel::Tx;
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    region_id: Uuid,
    name: String,
    provider: String,
    isolation: String,
    isolates_vms: bool,
    created_at: jiff_sqlx::Timestamp,
}

const COLUMNS: &str = "id, region_id, name, provider, isolation, isolates_vms, created_at";

#[derive(Debug, Clone, PartialEq)]
pub enum InsertOutcome {
    Pool(Pool),
    NameTaken,
    NoSuchRegion,
}

pub async fn insert(tx: &mut Tx, spec: &PoolSpec) -> sqlx::Result<InsertOutcome> {
    let statement = format!(
        "INSERT INTO pools (id, region_id, name, provider, isolation, isolates_vms)
         SELECT $1, regions.id, $3, $4, $5, $6 FROM regions WHERE regions.id = $2
         ON CONFLICT (name) DO NOTHING RETURNING {COLUMNS}"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(PoolId::generate().uuid())
        .bind(spec.region_id.uuid())
        .bind(spec.name.as_str())
        .bind(spec.provider.as_str())
        .bind(spec.isolation.as_str())
        .bind(spec.isolates_vms)
        .fetch_optional(tx.conn())
        .await?;
    if let Some(row) = row {
        return pool(row).map(InsertOutcome::Pool);
    }
    let is_known: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM regions WHERE id = $1)")
        .bind(spec.region_id.uuid())
        .fetch_one(tx.conn())
        .await?;
    Ok(if is_known { InsertOutcome::NameTaken } else { InsertOutcome::NoSuchRegion })
}

pub async fn get(tx: &mut Tx, id: PoolId) -> sqlx::Result<Option<Pool>> {
    let statement = format!("SELECT {COLUMNS} FROM pools WHERE id = $1");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(pool).transpose()
}

pub async fn list(tx: &mut Tx, filter: &PoolFilter) -> sqlx::Result<Vec<Pool>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM pools WHERE ($1::uuid IS NULL OR region_id = $1) AND ($2::text IS NULL OR name = $2)
           AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(filter.region_id.map(|it| it.uuid()))
        .bind(filter.name.as_ref().map(Label::as_str))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(pool).collect()
}

/// The pool as it is now, and whether that is a change.
pub async fn set_isolation(tx: &mut Tx, id: PoolId, isolation: Isolation) -> sqlx::Result<Option<(Pool, bool)>> {
    let statement = format!("UPDATE pools SET isolation = $2 WHERE id = $1 AND isolation <> $2 RETURNING {COLUMNS}");
    let changed: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(id.uuid())
        .bind(isolation.as_str())
        .fetch_optional(tx.conn())
        .await?;
    match changed {
        Some(row) => Ok(Some((pool(row)?, true))),
        None => Ok(get(tx, id).await?.map(|it| (it, false))),
    }
}

fn pool(row: Row) -> sqlx::Result<Pool> {
    Ok(Pool {
        id: row.id.into(),
        region_id: row.region_id.into(),
        name: platform::rows::text(&row.name)?,
        provider: platform::rows::word(&row.provider)?,
        isolation: platform::rows::word(&row.isolation)?,
        isolates_vms: row.isolates_vms,
        created_at: row.created_at.to_jiff(),
    })
}
