//! The rows of `refunds`.

use contract::{
    Word,
    id::{PaymentId, RefundId},
    payments::Payment,
    refunds::{Refund, RefundFilter, RefundState},
};
use kernel::{
    Tx,
    lifecycle::Versioned,
    money::{Currency, Money},
};
use uuid::Uuid;

use platform::rows;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    payment_id: Uuid,
    currency: String,
    amount: i64,
    provider_id: Option<String>,
    reason: String,
    last_error: Option<String>,
    created_by: String,
    state: String,
    version: i64,
    created_at: jiff_sqlx::Timestamp,
}

const SELECT: &str = "SELECT r.id, r.organization_id, r.payment_id, p.currency, r.amount, r.provider_id, r.reason,
  r.last_error, r.created_by, r.state, r.version, r.created_at FROM refunds r JOIN payments p ON p.id = r.payment_id";

#[derive(Debug, Clone)]
pub struct StoredRefund {
    pub refund: Refund,
    pub state: RefundState,
    pub amount: Money,
}

impl StoredRefund {
    pub fn versioned(&self) -> Versioned<RefundState> {
        Versioned {
            id: self.refund.id.uuid(),
            organization: Some(self.refund.organization_id.uuid()),
            state: self.state,
            version: self.refund.version,
        }
    }
}

pub struct New<'a> {
    pub payment: &'a Payment,
    pub micros: i64,
    pub reason: &'a str,
    pub actor: &'a str,
}

pub async fn insert(tx: &mut Tx, new: New<'_>) -> sqlx::Result<StoredRefund> {
    let id = RefundId::generate();
    sqlx::query(
        "INSERT INTO refunds (id, organization_id, payment_id, amount, provider, reason, created_by, state)
         VALUES ($1, $2, $3, $4, $5, $6, $7, 'requested')",
    )
    .bind(id.uuid())
    .bind(new.payment.organization_id.uuid())
    .bind(new.payment.id.uuid())
    .bind(new.micros)
    .bind(&new.payment.provider)
    .bind(new.reason)
    .bind(new.actor)
    .execute(tx.conn())
    .await?;
    get(tx, id.uuid()).await?.ok_or(sqlx::Error::RowNotFound)
}

pub async fn get(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<StoredRefund>> {
    let statement = format!("{SELECT} WHERE r.id = $1");
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id).fetch_optional(tx.conn()).await?;
    row.map(held).transpose()
}

/// The refund of a payment by the provider's name for it, or by ours.
pub async fn named(
    tx: &mut Tx,
    payment: PaymentId,
    provider_id: &str,
    ours: Option<Uuid>,
) -> sqlx::Result<Option<StoredRefund>> {
    let statement = format!(
        "{SELECT} WHERE r.payment_id = $1 AND (r.provider_id = $2 OR (r.provider_id IS NULL AND r.id = $3))
         ORDER BY r.provider_id LIMIT 1"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(payment.uuid())
        .bind(provider_id)
        .bind(ours)
        .fetch_optional(tx.conn())
        .await?;
    row.map(held).transpose()
}

pub async fn list(tx: &mut Tx, payment: PaymentId, filter: &RefundFilter) -> sqlx::Result<Vec<Refund>> {
    let statement = format!(
        "{SELECT} WHERE r.payment_id = $1 AND ($2::text IS NULL OR r.state = $2) AND ($3::uuid IS NULL OR r.id < $3)
         ORDER BY r.id DESC LIMIT $4"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(payment.uuid())
        .bind(filter.state.map(|it| it.as_str()))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(|it| held(it).map(|it| it.refund)).collect()
}

/// Writes the provider's name for it.
pub async fn accepted(tx: &mut Tx, id: RefundId, provider_id: &str) -> sqlx::Result<()> {
    sqlx::query("UPDATE refunds SET provider_id = $2, last_error = NULL WHERE id = $1")
        .bind(id.uuid())
        .bind(provider_id)
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn set_last_error(tx: &mut Tx, id: RefundId, why: &str) -> sqlx::Result<()> {
    sqlx::query("UPDATE refunds SET last_error = left($2, 500) WHERE id = $1")
        .bind(id.uuid())
        .bind(why)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Refunds that the safety net should look at.
pub async fn requested(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar("SELECT id FROM refunds WHERE state = 'requested' LIMIT $1")
        .bind(limit)
        .fetch_all(tx.conn())
        .await
}

fn held(row: Row) -> sqlx::Result<StoredRefund> {
    let state: RefundState = rows::known(&row.state)?;
    let currency: Currency = rows::text(&row.currency)?;
    let refund = Refund {
        id: row.id.into(),
        payment_id: row.payment_id.into(),
        organization_id: row.organization_id.into(),
        currency: rows::text(&row.currency)?,
        amount_micros: row.amount,
        provider_id: row.provider_id,
        state: state.into(),
        reason: row.reason,
        last_error: row.last_error,
        version: row.version,
        created_by: row.created_by,
        created_at: row.created_at.to_jiff(),
    };
    Ok(StoredRefund { refund, state, amount: Money::from_micros(row.amount, currency) })
}
