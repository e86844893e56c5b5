//! The rows of `regions`.

use contract::{
    Label,
    id::RegionId,
    regions::{Region, RegionFilter},
};
use kernel::Tx;
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    name: String,
    created_at: jiff_sqlx::Timestamp,
}

/// `None` when another region has the name.
pub async fn insert(tx: &mut Tx, name: &Label) -> sqlx::Result<Option<Region>> {
    let row: Option<Row> = sqlx::query_as(
        "INSERT INTO regions (id, name) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING id, name, created_at",
    )
    .bind(RegionId::generate().uuid())
    .bind(name.as_str())
    .fetch_optional(tx.conn())
    .await?;
    row.map(region).transpose()
}

pub async fn list(tx: &mut Tx, filter: &RegionFilter) -> sqlx::Result<Vec<Region>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, name, created_at FROM regions WHERE ($1::text IS NULL OR name = $1) AND ($2::uuid IS NULL OR id < $2)
         ORDER BY id DESC LIMIT $3",
    )
    .bind(filter.name.as_ref().map(Label::as_str))
    .bind(filter.cursor.map(|it| it.0))
    .bind(filter.limit.probe())
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter().map(region).collect()
}

/// The region that people mean by a name.
pub async fn by_name(tx: &mut Tx, name: &Label) -> sqlx::Result<Option<Region>> {
    let row: Option<Row> = sqlx::query_as("SELECT id, name, created_at FROM regions WHERE name = $1")
        .bind(name.as_str())
        .fetch_optional(tx.conn())
        .await?;
    row.map(region).transpose()
}

fn region(row: Row) -> sqlx::Result<Region> {
    Ok(Region { id: row.id.into(), name: platform::rows::text(&row.name)?, created_at: row.created_at.to_jiff() })
}
