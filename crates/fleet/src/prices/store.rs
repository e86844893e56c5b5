//! The rows of `prices`.

use contract::{
    Timestamp,
    id::{PriceId, SkuId},
    prices::{CurrencyCode, Price, PriceFilter, PriceSpec},
};
use kernel::{Tx, money::Currency};
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    sku_id: Uuid,
    version: i64,
    currency: String,
    price_micros_per_gpu_hour: i64,
    effective_at: jiff_sqlx::Timestamp,
    created_at: jiff_sqlx::Timestamp,
}

const COLUMNS: &str = "id, sku_id, version, currency, price_micros_per_gpu_hour, effective_at, created_at";

/// The smallest step of the database's clock.
const CLOCK_STEP_S: f64 = 1e-6; // bound: PostgreSQL's own

/// The first moment at which a price that is set in this transaction can take
/// effect. Until the commit nothing of the SKU starts, and whatever started
/// before did so earlier than this, also where the clock was set back.
pub async fn first_moment(tx: &mut Tx, sku: SkuId) -> sqlx::Result<Timestamp> {
    sqlx::query("SELECT pg_advisory_xact_lock(price_key($1))").bind(sku.uuid()).execute(tx.conn()).await?;
    // As `mark_usage` finds its moment: by the last mark too, which may not be posted yet.
    let moment: jiff_sqlx::Timestamp = sqlx::query_scalar(
        "SELECT greatest(app_clock(), (SELECT max(posted_to) FROM books),
           (SELECT max(last.at) FROM books CROSS JOIN LATERAL (SELECT max(usage.at) AS at FROM usage
              WHERE usage.organization_id = books.organization_id) AS last) + make_interval(secs => $1))",
    )
    .bind(CLOCK_STEP_S)
    .fetch_one(tx.conn())
    .await?;
    Ok(moment.to_jiff())
}

/// Adds the next version. The SKU is locked: versions of one must not meet.
pub async fn insert(tx: &mut Tx, sku: SkuId, spec: &PriceSpec) -> sqlx::Result<Price> {
    let now = first_moment(tx, sku).await?;
    let statement = format!(
        "INSERT INTO prices (id, sku_id, version, currency, price_micros_per_gpu_hour, effective_at)
         SELECT $1, $2, coalesce(max(version), 0) + 1, $3, $4, $5
         FROM prices WHERE sku_id = $2 AND currency = $3
         RETURNING {COLUMNS}"
    );
    let row: Row = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(PriceId::generate().uuid())
        .bind(sku.uuid())
        .bind(spec.currency.as_str())
        .bind(spec.price_micros_per_gpu_hour)
        .bind(kernel::clock::bind(spec.effective_at.unwrap_or(now)))
        .fetch_one(tx.conn())
        .await?;
    price(row)
}

pub async fn list(tx: &mut Tx, sku: SkuId, filter: &PriceFilter) -> sqlx::Result<Vec<Price>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM prices WHERE sku_id = $1 AND ($2::text IS NULL OR currency = $2)
           AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(sku.uuid())
        .bind(filter.currency.as_ref().map(CurrencyCode::as_str))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(price).collect()
}

/// The price that applies at a time: the one that took effect last, and of
/// those that took effect together the one that was set last.
pub async fn in_force(tx: &mut Tx, sku: SkuId, currency: &CurrencyCode, at: Timestamp) -> sqlx::Result<Option<Price>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM prices WHERE sku_id = $1 AND currency = $2 AND effective_at <= $3
         ORDER BY effective_at DESC, version DESC LIMIT 1"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(sku.uuid())
        .bind(currency.as_str())
        .bind(kernel::clock::bind(at))
        .fetch_optional(tx.conn())
        .await?;
    row.map(price).transpose()
}

/// In which currencies a SKU has a price now; one that begins later does not count.
pub async fn currencies(tx: &mut Tx, sku: SkuId) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(
        "SELECT DISTINCT currency FROM prices WHERE sku_id = $1 AND effective_at <= app_now() ORDER BY currency",
    )
    .bind(sku.uuid())
    .fetch_all(tx.conn())
    .await
}

/// Whether anything is charged in a currency, or was.
pub async fn is_used(tx: &mut Tx, currency: &CurrencyCode) -> sqlx::Result<bool> {
    // What is asked for is charged in dollars, even before there are prices.
    sqlx::query_scalar("SELECT $1 = $2 OR EXISTS (SELECT FROM prices WHERE currency = $1)")
        .bind(currency.as_str())
        .bind(Currency::USD.as_str())
        .fetch_one(tx.conn())
        .await
}

fn price(row: Row) -> sqlx::Result<Price> {
    Ok(Price {
        id: row.id.into(),
        sku_id: row.sku_id.into(),
        version: row.version,
        currency: platform::rows::text(&row.currency)?,
        price_micros_per_gpu_hour: row.price_micros_per_gpu_hour,
        effective_at: row.effective_at.to_jiff(),
        created_at: row.created_at.to_jiff(),
    })
}
