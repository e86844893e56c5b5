//! The rows of `payments` and `disputes`.

mod drift;
mod events;

pub use drift::{
    PostedAmount, PostedPayment, count as count_drift, list as list_drift, of_intents, of_parts, record, since,
};
pub use events::{NewEvent, StoredEvent, forget_old_events, keep, list_events, processed, unprocessed, waiting, whose};

use contract::{
    Word,
    id::{OrganizationId, PaymentId},
    payments::{Payment, PaymentState},
};
use kernel::{
    Tx,
    lifecycle::Versioned,
    money::{Currency, Money},
};
use uuid::Uuid;

use platform::{ports::payments::DisputeStanding, rows};

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    currency: String,
    amount: i64,
    received: i64,
    refunded: i64,
    refunding: i64,
    disputed: i64,
    provider: String,
    checkout_id: Option<String>,
    intent_id: Option<String>,
    checkout_url: Option<String>,
    last_error: Option<String>,
    created_by: String,
    state: String,
    version: i64,
    created_at: jiff_sqlx::Timestamp,
}

const COLUMNS: &str = "p.id, p.organization_id, p.currency, p.amount, p.received, p.provider, p.checkout_id, p.intent_id,
  p.checkout_url, p.last_error, p.created_by, p.state, p.version, p.created_at,
  (SELECT coalesce(sum(r.amount), 0)::bigint FROM refunds r WHERE r.payment_id = p.id AND r.state = 'succeeded') AS refunded,
  (SELECT coalesce(sum(r.amount), 0)::bigint FROM refunds r
    WHERE r.payment_id = p.id AND r.state IN ('requested', 'pending')) AS refunding,
  (SELECT coalesce(sum(d.amount), 0)::bigint FROM disputes d
    WHERE d.payment_id = p.id AND d.standing IN ('open', 'lost')) AS disputed";

/// A payment with what the provider calls its parts.
#[derive(Debug, Clone)]
pub struct StoredPayment {
    pub payment: Payment,
    pub state: PaymentState,
    pub amount: Money,
    pub checkout: Option<String>,
    pub intent: Option<String>,
}

impl StoredPayment {
    pub fn versioned(&self) -> Versioned<PaymentState> {
        Versioned {
            id: self.payment.id.uuid(),
            organization: Some(self.payment.organization_id.uuid()),
            state: self.state,
            version: self.payment.version,
        }
    }

    /// What of it can still be given back: nothing twice, and nothing that a bank took.
    pub fn refundable(&self) -> i64 {
        let it = &self.payment;
        it.received_micros - it.refunded_micros - it.refunding_micros - it.disputed_micros
    }
}

pub struct New<'a> {
    pub organization: OrganizationId,
    pub amount: Money,
    pub provider: &'static str,
    pub actor: &'a str,
}

pub async fn insert(tx: &mut Tx, new: New<'_>) -> sqlx::Result<StoredPayment> {
    let id = PaymentId::generate();
    sqlx::query(
        "INSERT INTO payments (id, organization_id, currency, amount, provider, created_by, state)
         VALUES ($1, $2, $3, $4, $5, $6, 'created')",
    )
    .bind(id.uuid())
    .bind(new.organization.uuid())
    .bind(new.amount.currency().as_str())
    .bind(new.amount.micros())
    .bind(new.provider)
    .bind(new.actor)
    .execute(tx.conn())
    .await?;
    get(tx, id.uuid()).await?.ok_or(sqlx::Error::RowNotFound)
}

pub async fn get(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<StoredPayment>> {
    let statement = format!("SELECT {COLUMNS} FROM payments p WHERE p.id = $1");
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id).fetch_optional(tx.conn()).await?;
    row.map(held).transpose()
}

/// The payment, for whoever changes what of it is left: they take turns.
pub async fn lock(tx: &mut Tx, id: Uuid) -> sqlx::Result<Option<StoredPayment>> {
    sqlx::query("SELECT FROM payments WHERE id = $1 FOR UPDATE").bind(id).execute(tx.conn()).await?;
    get(tx, id).await
}

pub struct PaymentSelector {
    pub organization: Option<Uuid>,
    pub state: Option<PaymentState>,
    pub before: Option<Uuid>,
    pub limit: i64,
}

pub async fn list(tx: &mut Tx, which: PaymentSelector) -> sqlx::Result<Vec<Payment>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM payments p WHERE ($1::uuid IS NULL OR p.organization_id = $1)
           AND ($2::text IS NULL OR p.state = $2) AND ($3::uuid IS NULL OR p.id < $3) ORDER BY p.id DESC LIMIT $4"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(which.organization)
        .bind(which.state.map(|it| it.as_str()))
        .bind(which.before)
        .bind(which.limit)
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(|it| held(it).map(|it| it.payment)).collect()
}

/// How many of an organization's payments wait for a payer.
pub async fn open(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM payments WHERE organization_id = $1 AND state IN ('created', 'pending')")
        .bind(organization.uuid())
        .fetch_one(tx.conn())
        .await
}

/// Writes where it is paid.
pub async fn opened(tx: &mut Tx, id: PaymentId, checkout: &str, url: Option<&str>) -> sqlx::Result<()> {
    sqlx::query("UPDATE payments SET checkout_id = $2, checkout_url = $3, last_error = NULL WHERE id = $1")
        .bind(id.uuid())
        .bind(checkout)
        .bind(url)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Writes what arrived, and under which name.
pub async fn received(tx: &mut Tx, id: PaymentId, intent: &str, amount: Money) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE payments SET intent_id = $2, received = $3, checkout_url = NULL, last_error = NULL WHERE id = $1",
    )
    .bind(id.uuid())
    .bind(intent)
    .bind(amount.micros())
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Writes what stands in its way, or that nothing does any more.
pub async fn set_last_error(tx: &mut Tx, id: PaymentId, why: Option<&str>) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE payments SET last_error = left($2, 500) WHERE id = $1 AND last_error IS DISTINCT FROM left($2, 500)",
    )
    .bind(id.uuid())
    .bind(why)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Payments that the safety net should look at.
pub async fn underway(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar("SELECT id FROM payments WHERE state IN ('created', 'pending') LIMIT $1")
        .bind(limit)
        .fetch_all(tx.conn())
        .await
}

/// What the books say that the bank took for a dispute, and how often that changed.
#[derive(Debug, Clone, Copy, Default, sqlx::FromRow)]
pub struct DisputeWithdrawals {
    pub taken: i64,
    pub moves: i32,
}

pub async fn taken(tx: &mut Tx, provider: &str, dispute: &str) -> sqlx::Result<DisputeWithdrawals> {
    let found = sqlx::query_as("SELECT taken, moves FROM disputes WHERE provider = $1 AND provider_id = $2")
        .bind(provider)
        .bind(dispute)
        .fetch_optional(tx.conn())
        .await?;
    Ok(found.unwrap_or_default())
}

/// The dispute as the provider has it now, and what the books say of it then.
pub async fn dispute(
    tx: &mut Tx,
    payment: &Payment,
    dispute: &str,
    amount: Money,
    standing: DisputeStanding,
    taken: DisputeWithdrawals,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO disputes (provider, provider_id, organization_id, payment_id, amount, standing, taken, moves)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (provider, provider_id) DO UPDATE SET amount = excluded.amount, standing = excluded.standing,
           taken = excluded.taken, moves = excluded.moves, seen_at = app_now()",
    )
    .bind(&payment.provider)
    .bind(dispute)
    .bind(payment.organization_id.uuid())
    .bind(payment.id.uuid())
    .bind(amount.micros())
    .bind(word(standing))
    .bind(taken.taken)
    .bind(taken.moves)
    .execute(tx.conn())
    .await?;
    Ok(())
}

pub fn word(standing: DisputeStanding) -> &'static str {
    match standing {
        DisputeStanding::Warned => "warned",
        DisputeStanding::Open => "open",
        DisputeStanding::Won => "won",
        DisputeStanding::Lost => "lost",
    }
}

fn held(row: Row) -> sqlx::Result<StoredPayment> {
    let state: PaymentState = rows::known(&row.state)?;
    let currency: Currency = rows::text(&row.currency)?;
    let payment = Payment {
        id: row.id.into(),
        organization_id: row.organization_id.into(),
        currency: rows::text(&row.currency)?,
        amount_micros: row.amount,
        received_micros: row.received,
        refunded_micros: row.refunded,
        refunding_micros: row.refunding,
        disputed_micros: row.disputed,
        provider: row.provider,
        provider_id: row.intent_id.clone(),
        state: state.into(),
        checkout_url: row.checkout_url.filter(|_| state == PaymentState::Pending),
        last_error: row.last_error,
        version: row.version,
        created_by: row.created_by,
        created_at: row.created_at.to_jiff(),
    };
    let amount = Money::from_micros(row.amount, currency);
    Ok(StoredPayment { payment, state, amount, checkout: row.checkout_id, intent: row.intent_id })
}
