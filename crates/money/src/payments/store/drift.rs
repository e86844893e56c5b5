//! What the ledger says of the provider's objects, and the rows of `payment_drift`.

use contract::{
    Word,
    id::PaymentDriftId,
    payments::{PaymentDrift, PaymentDriftFilter},
};
use jiff::Timestamp;
use kernel::Tx;
use uuid::Uuid;

use super::super::compare::PaymentMismatch;
use platform::rows;

/// What a payment's wallet got, or lost, because of one of the provider's objects.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct PostedAmount {
    /// The provider's name of the object that was asked for.
    pub object: String,
    pub payment_id: Uuid,
    pub currency: String,
    pub micros: i64,
}

/// Which journals speak of an object: its own, and those after a colon.
const POSTED: &str = "coalesce((SELECT sum(e.amount) FROM journals j
    JOIN entries e ON e.organization_id = j.organization_id AND e.number = j.number
    JOIN accounts a ON a.id = e.account_id AND a.kind = 'wallet'
    WHERE j.organization_id = p.organization_id
      AND (j.reference = $1::text || ':' || asked.object OR starts_with(j.reference, $1::text || ':' || asked.object || ':'))), 0)::bigint";

/// Of intents, by their own names or by those of our payments.
pub async fn of_intents(
    tx: &mut Tx,
    provider: &str,
    asked: &[(String, Option<Uuid>)],
) -> sqlx::Result<Vec<PostedAmount>> {
    let statement = format!(
        "SELECT asked.object, p.id AS payment_id, p.currency, {POSTED} AS micros
         FROM unnest($2::text[], $3::uuid[]) AS asked (object, named)
         JOIN payments p ON p.provider = $1 AND (p.intent_id = asked.object OR (p.intent_id IS NULL AND p.id = asked.named))"
    );
    sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(provider)
        .bind(asked.iter().map(|(object, _)| object.clone()).collect::<Vec<_>>())
        .bind(asked.iter().map(|(_, named)| *named).collect::<Vec<_>>())
        .fetch_all(tx.conn())
        .await
}

/// Of refunds and disputes, each with the intent that it is of.
pub async fn of_parts(tx: &mut Tx, provider: &str, asked: &[(String, String)]) -> sqlx::Result<Vec<PostedAmount>> {
    let statement = format!(
        "SELECT asked.object, p.id AS payment_id, p.currency, {POSTED} AS micros
         FROM unnest($2::text[], $3::text[]) AS asked (object, intent)
         JOIN payments p ON p.provider = $1 AND p.intent_id = asked.intent"
    );
    sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(provider)
        .bind(asked.iter().map(|(object, _)| object.clone()).collect::<Vec<_>>())
        .bind(asked.iter().map(|(_, intent)| intent.clone()).collect::<Vec<_>>())
        .fetch_all(tx.conn())
        .await
}

/// A payment that the ledger has.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct PostedPayment {
    pub payment_id: Uuid,
    pub intent_id: String,
    pub currency: String,
    pub received: i64,
}

/// Payments that arrived, made since a moment.
pub async fn since(tx: &mut Tx, provider: &str, moment: Timestamp) -> sqlx::Result<Vec<PostedPayment>> {
    sqlx::query_as(
        "SELECT id AS payment_id, intent_id, currency, received FROM payments
         WHERE provider = $1 AND created_at >= $2 AND received > 0 AND intent_id IS NOT NULL",
    )
    .bind(provider)
    .bind(kernel::clock::bind(moment))
    .fetch_all(tx.conn())
    .await
}

/// Writes what differs now; what was open and does not is resolved. Says
/// whether something of it is new.
pub async fn record(tx: &mut Tx, provider: &str, found: &[PaymentMismatch]) -> sqlx::Result<bool> {
    let objects: Vec<String> = found.iter().map(|it| it.object.clone()).collect();
    let kinds: Vec<String> = found.iter().map(|it| it.kind.as_str().to_owned()).collect();
    let are_new: Vec<bool> = sqlx::query_scalar(
        "INSERT INTO payment_drift (id, provider, object_id, kind, payment_id, currency, provider_micros, ledger_micros)
         SELECT id, $1, object, kind, payment, currency, there, here
         FROM unnest($2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::bigint[], $8::bigint[])
           AS f (id, object, kind, payment, currency, there, here)
         ON CONFLICT (provider, object_id, kind) WHERE resolved_at IS NULL
         DO UPDATE SET seen_at = app_now(), provider_micros = excluded.provider_micros, ledger_micros = excluded.ledger_micros
         RETURNING xmax = 0",
    )
    .bind(provider)
    .bind(found.iter().map(|_| PaymentDriftId::generate().uuid()).collect::<Vec<_>>())
    .bind(&objects)
    .bind(&kinds)
    .bind(found.iter().map(|it| it.payment).collect::<Vec<_>>())
    .bind(found.iter().map(|it| it.currency.clone()).collect::<Vec<_>>())
    .bind(found.iter().map(|it| it.there).collect::<Vec<_>>())
    .bind(found.iter().map(|it| it.here).collect::<Vec<_>>())
    .fetch_all(tx.conn())
    .await?;
    sqlx::query(
        "UPDATE payment_drift SET resolved_at = app_now() WHERE provider = $1 AND resolved_at IS NULL
           AND NOT EXISTS (SELECT FROM unnest($2::text[], $3::text[]) AS f (object, kind)
             WHERE f.object = object_id AND f.kind = payment_drift.kind)",
    )
    .bind(provider)
    .bind(&objects)
    .bind(&kinds)
    .execute(tx.conn())
    .await?;
    Ok(are_new.contains(&true))
}

pub async fn count(tx: &mut Tx) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM payment_drift WHERE resolved_at IS NULL").fetch_one(tx.conn()).await
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    provider: String,
    object_id: String,
    kind: String,
    payment_id: Option<Uuid>,
    currency: Option<String>,
    provider_micros: i64,
    ledger_micros: i64,
    found_at: jiff_sqlx::Timestamp,
    seen_at: jiff_sqlx::Timestamp,
    resolved_at: Option<jiff_sqlx::Timestamp>,
}

pub async fn list(tx: &mut Tx, filter: &PaymentDriftFilter) -> sqlx::Result<Vec<PaymentDrift>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, provider, object_id, kind, payment_id, currency, provider_micros, ledger_micros, found_at, seen_at,
           resolved_at FROM payment_drift WHERE ($1 OR resolved_at IS NULL) AND ($2::uuid IS NULL OR id < $2)
         ORDER BY id DESC LIMIT $3",
    )
    .bind(filter.resolved.unwrap_or(false))
    .bind(filter.cursor.map(|it| it.0))
    .bind(filter.limit.probe())
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter().map(drift).collect()
}

fn drift(row: Row) -> sqlx::Result<PaymentDrift> {
    Ok(PaymentDrift {
        id: row.id.into(),
        provider: row.provider,
        object_id: row.object_id,
        kind: rows::word(&row.kind)?,
        payment_id: row.payment_id.map(Into::into),
        currency: row.currency.as_deref().map(rows::text).transpose()?,
        provider_micros: row.provider_micros,
        ledger_micros: row.ledger_micros,
        found_at: row.found_at.to_jiff(),
        seen_at: row.seen_at.to_jiff(),
        resolved_at: row.resolved_at.map(|it| it.to_jiff()),
    })
}
