//! The rows of `prices`.

use contract::{
    Timestamp, Word,
    id::{PriceId, SkuId},
    prices::{CurrencyCode, Price, PriceFilter, PriceKind, PriceSpec, PriceUnit},
};
use kernel::{Tx, money::Currency};
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    sku_id: Uuid,
    unit: String,
    kind: String,
    version: i64,
    currency: String,
    price_micros: i64,
    per_units: i64,
    effective_at: jiff_sqlx::Timestamp,
    created_at: jiff_sqlx::Timestamp,
}

const COLUMNS: &str = "id, sku_id, unit, kind, version, currency, price_micros, per_units, effective_at, created_at";

/// The smallest step of the database's clock.
const CLOCK_STEP_S: f64 = 1e-6; // bound: PostgreSQL's own

/// The first moment at which a price that is set in this transaction can take
/// effect. Until the commit nothing of the SKU starts, and whatever started
/// before did so earlier than this, also where the clock was set back.
pub async fn first_moment(tx: &mut Tx, sku: SkuId) -> sqlx::Result<Timestamp> {
    sqlx::query("SELECT pg_advisory_xact_lock(price_key($1))").bind(sku.uuid()).execute(tx.conn()).await?;
    // As metering finds its moment: by the last mark too, which may not be posted yet.
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
        "INSERT INTO prices (id, sku_id, unit, kind, version, currency, price_micros, per_units, effective_at)
         SELECT $1, $2, $3, $4, coalesce(max(version), 0) + 1, $5, $6, $7, $8
         FROM prices WHERE sku_id = $2 AND unit = $3 AND kind = $4 AND currency = $5
         RETURNING {COLUMNS}"
    );
    let row: Row = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(PriceId::generate().uuid())
        .bind(sku.uuid())
        .bind(spec.unit.unwrap_or(PriceUnit::GpuHour).as_str())
        .bind(spec.kind.unwrap_or(PriceKind::OnDemand).as_str())
        .bind(spec.currency.as_str())
        .bind(spec.price_micros)
        .bind(spec.per_units.unwrap_or(1))
        .bind(kernel::clock::bind(spec.effective_at.unwrap_or(now)))
        .fetch_one(tx.conn())
        .await?;
    price(row)
}

pub async fn list(tx: &mut Tx, sku: SkuId, filter: &PriceFilter) -> sqlx::Result<Vec<Price>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM prices WHERE sku_id = $1 AND ($2::text IS NULL OR currency = $2)
           AND ($3::text IS NULL OR unit = $3) AND ($4::text IS NULL OR kind = $4)
           AND ($5::uuid IS NULL OR id < $5) ORDER BY id DESC LIMIT $6"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(sku.uuid())
        .bind(filter.currency.as_ref().map(CurrencyCode::as_str))
        .bind(filter.unit.map(Word::as_str))
        .bind(filter.kind.map(Word::as_str))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(price).collect()
}

/// Which of a SKU's prices is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceKey {
    pub sku: SkuId,
    pub unit: PriceUnit,
    pub kind: PriceKind,
    pub currency: Currency,
}

/// The price that applies at a time.
pub async fn in_force(tx: &mut Tx, key: PriceKey, at: Timestamp) -> sqlx::Result<Option<Price>> {
    let statement = format!("SELECT {COLUMNS} FROM price_in_force($1, $2, $3, $4, $5)");
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(key.sku.uuid())
        .bind(key.unit.as_str())
        .bind(key.kind.as_str())
        .bind(key.currency.as_str())
        .bind(kernel::clock::bind(at))
        .fetch_optional(tx.conn())
        .await?;
    row.map(price).transpose()
}

/// In which currencies a SKU has such a price now; one that begins later does not count.
pub async fn currencies(tx: &mut Tx, sku: SkuId, unit: PriceUnit, kind: PriceKind) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(
        "SELECT DISTINCT currency FROM prices WHERE sku_id = $1 AND unit = $2 AND kind = $3 AND effective_at <= app_now()
         ORDER BY currency",
    )
    .bind(sku.uuid())
    .bind(unit.as_str())
    .bind(kind.as_str())
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
        unit: platform::rows::word(&row.unit)?,
        kind: platform::rows::word(&row.kind)?,
        version: row.version,
        currency: platform::rows::text(&row.currency)?,
        price_micros: row.price_micros,
        per_units: row.per_units,
        effective_at: row.effective_at.to_jiff(),
        created_at: row.created_at.to_jiff(),
    })
}
