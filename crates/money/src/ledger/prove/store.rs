//! What a proof reads. It writes nothing.

use std::collections::HashMap;

use contract::id::OrganizationId;
use futures_util::stream::BoxStream;
use kernel::Tx;
use uuid::Uuid;

use super::{
    Span,
    fold::{Price, Window},
};

type Moment = jiff_sqlx::Timestamp;

/// The organization after another, by id; the one that is asked for, or any.
pub async fn next_organization(
    tx: &mut Tx,
    after: Option<OrganizationId>,
    only: Option<OrganizationId>,
) -> sqlx::Result<Option<OrganizationId>> {
    let found: Option<Uuid> = sqlx::query_scalar(
        "SELECT organization_id FROM books WHERE ($1::uuid IS NULL OR organization_id > $1) AND ($2::uuid IS NULL OR organization_id = $2)
         ORDER BY organization_id LIMIT 1",
    )
    .bind(after.map(|it| it.uuid()))
    .bind(only.map(|it| it.uuid()))
    .fetch_optional(tx.conn())
    .await?;
    Ok(found.map(Into::into))
}

#[derive(sqlx::FromRow)]
pub struct Book {
    pub posted_to: Moment,
    pub journals: i64,
    pub hash: Vec<u8>,
}

pub async fn book(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<Book> {
    sqlx::query_as("SELECT posted_to, journals, hash FROM books WHERE organization_id = $1")
        .bind(organization.uuid())
        .fetch_one(tx.conn())
        .await
}

/// The first and last number of what is proven; none when there is nothing.
pub async fn numbers(
    tx: &mut Tx,
    organization: OrganizationId,
    book: &Book,
    month: Option<Span>,
) -> sqlx::Result<Option<(i64, i64)>> {
    let Some(month) = month else { return Ok((book.journals > 0).then_some((1, book.journals))) };
    let found: (Option<i64>, Option<i64>) = sqlx::query_as(
        "SELECT min(number), max(number) FROM journals WHERE organization_id = $1 AND number <= $2
           AND at >= $3 AND at < $4",
    )
    .bind(organization.uuid())
    .bind(book.journals)
    .bind(kernel::clock::bind(month.since))
    .bind(kernel::clock::bind(month.until))
    .fetch_one(tx.conn())
    .await?;
    Ok(found.0.zip(found.1))
}

#[derive(sqlx::FromRow)]
pub struct JournalRow {
    pub number: i64,
    pub kind: String,
    pub head: String,
    pub from_at: Option<Moment>,
    pub to_at: Option<Moment>,
    pub hash: Vec<u8>,
}

/// The next journals whose entries together are within the budget, one at least.
pub async fn journals(
    tx: &mut Tx,
    organization: OrganizationId,
    after: i64,
    last: i64,
    budget: u64,
) -> sqlx::Result<Vec<JournalRow>> {
    // bound: journals of one step
    const MOST: i64 = 2_000;
    sqlx::query_as(
        "SELECT number, kind, head, from_at, to_at, hash FROM (
           SELECT j.number, j.kind, j.from_at, j.to_at, j.hash, journal_head(j.organization_id, j.number, j.id, j.kind, j.at, j.from_at,
               j.to_at, j.actor, j.reason, j.reverses, j.reference) AS head,
             sum(size.lines) OVER (ORDER BY j.number) - size.lines AS before
           FROM (SELECT * FROM journals WHERE organization_id = $1 AND number > $2 AND number <= $3 ORDER BY number LIMIT $5) j
           CROSS JOIN LATERAL (SELECT count(*) AS lines FROM entries e WHERE e.organization_id = $1 AND e.number = j.number) size) page
         WHERE before < $4 ORDER BY number",
    )
    .bind(organization.uuid())
    .bind(after)
    .bind(last)
    .bind(i64::try_from(budget).unwrap_or(i64::MAX))
    .bind(MOST)
    .fetch_all(tx.conn())
    .await
}

/// What the journals before a place came to.
pub struct Before {
    pub hash: Vec<u8>,
    pub closed_to: Option<Moment>,
}

pub async fn before(tx: &mut Tx, organization: OrganizationId, number: i64) -> sqlx::Result<Before> {
    let (hash, closed_to): (Option<Vec<u8>>, Option<Moment>) = sqlx::query_as(
        "SELECT (SELECT hash FROM journals WHERE organization_id = $1 AND number = $2),
                (SELECT to_at FROM journals WHERE organization_id = $1 AND number <= $2 AND kind = 'usage' ORDER BY number DESC LIMIT 1)",
    )
    .bind(organization.uuid())
    .bind(number)
    .fetch_one(tx.conn())
    .await?;
    Ok(Before { hash: hash.unwrap_or_default(), closed_to })
}

#[derive(sqlx::FromRow)]
pub struct EntryRow {
    pub number: i64,
    pub line: i32,
    pub currency: String,
    pub amount: i64,
    pub is_of_usage: bool,
    pub account: Option<String>,
    pub text: String,
}

pub fn entries(
    tx: &mut Tx,
    organization: OrganizationId,
    after: i64,
    last: i64,
) -> BoxStream<'_, sqlx::Result<EntryRow>> {
    sqlx::query_as(
        "SELECT e.number, e.line, e.currency, e.amount, e.subject_id IS NOT NULL AS is_of_usage, a.kind AS account,
           entry_text(e.line, e.account_id, e.currency, e.amount, e.subject_id, e.meter, e.interval) AS text
         FROM entries e LEFT JOIN accounts a ON a.id = e.account_id AND a.organization_id = e.organization_id AND a.currency = e.currency
         WHERE e.organization_id = $1 AND e.number > $2 AND e.number <= $3 ORDER BY e.number, e.line",
    )
    .bind(organization.uuid())
    .bind(after)
    .bind(last)
    .fetch(tx.conn())
}

/// Marks from one moment on and before another, as they were hashed.
pub fn marks(
    tx: &mut Tx,
    organization: OrganizationId,
    from: Option<Moment>,
    until: Moment,
) -> BoxStream<'_, sqlx::Result<(Moment, String)>> {
    sqlx::query_as(
        "SELECT u.at, usage_text(u) FROM usage u WHERE u.organization_id = $1 AND ($2::timestamptz IS NULL OR u.at >= $2) AND u.at < $3
         ORDER BY u.at, u.subject_id, u.meter COLLATE \"C\", u.number",
    )
    .bind(organization.uuid())
    .bind(from)
    .bind(until)
    .fetch(tx.conn())
}

/// A subject with a mark in time that is posted and that no journal covers.
pub async fn loose_mark(
    tx: &mut Tx,
    organization: OrganizationId,
    closed_to: Option<Moment>,
    book: &Book,
) -> sqlx::Result<Option<(String, Uuid)>> {
    sqlx::query_as(
        "SELECT subject_kind, subject_id FROM usage WHERE organization_id = $1 AND ($2::timestamptz IS NULL OR at >= $2) AND at < $3 ORDER BY at LIMIT 1",
    )
    .bind(organization.uuid())
    .bind(closed_to)
    .bind(book.posted_to)
    .fetch_optional(tx.conn())
    .await
}

/// A subject and meter whose row among the open intervals is missing, or there without one.
pub async fn wrong_open_interval(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<Option<(Uuid, String)>> {
    sqlx::query_as(
        "SELECT coalesce(o.subject_id, s.subject_id), coalesce(o.meter, s.meter)
         FROM (SELECT s.subject_id, s.meter, s.number, s.project_id FROM usage s WHERE s.organization_id = $1 AND s.kind = 'start'
           AND NOT EXISTS (SELECT FROM usage e WHERE e.organization_id = $1 AND e.subject_id = s.subject_id AND e.meter = s.meter
             AND e.interval = s.number AND e.kind = 'end')) s
         FULL JOIN (SELECT * FROM open_intervals WHERE organization_id = $1) o
           ON o.subject_id = s.subject_id AND o.meter = s.meter AND o.interval = s.number AND o.project_id = s.project_id
         WHERE o.subject_id IS NULL OR s.subject_id IS NULL LIMIT 1",
    )
    .bind(organization.uuid())
    .fetch_optional(tx.conn())
    .await
}

/// A journal after the last one that the books had when they were read, written before they were.
pub async fn beyond(tx: &mut Tx, organization: OrganizationId, book: &Book) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar(
        "SELECT min(j.number) FROM journals j WHERE j.organization_id = $1 AND j.number > $2
           AND j.number > (SELECT journals FROM books WHERE organization_id = $1)",
    )
    .bind(organization.uuid())
    .bind(book.journals)
    .fetch_one(tx.conn())
    .await
}

/// The newest journal that the audit log attests, if it is another now or gone.
pub async fn unattested(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar(
        "SELECT kept.number FROM (
           SELECT (detail ->> 'number')::bigint AS number, detail ->> 'hash' AS hash FROM audit
           WHERE organization_id = $1 AND action = $2 ORDER BY id DESC LIMIT 1) kept
         LEFT JOIN journals j ON j.organization_id = $1 AND j.number = kept.number
         WHERE encode(j.hash, 'hex') IS DISTINCT FROM kept.hash",
    )
    .bind(organization.uuid())
    .bind(crate::ledger::ATTEST)
    .fetch_optional(tx.conn())
    .await
}

/// The number of a checkpoint that is not the sum of what it stands for.
pub async fn wrong_checkpoint(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar(
        "SELECT kept.number FROM (
           SELECT c.account_id, c.number, c.balance - lag(c.balance, 1, 0::bigint) OVER whole AS added, lag(c.number, 1, 0::bigint) OVER whole AS since
           FROM checkpoints c WHERE c.organization_id = $1 WINDOW whole AS (PARTITION BY c.account_id ORDER BY c.number)) kept
         WHERE kept.added <> (SELECT coalesce(sum(e.amount), 0) FROM entries e
           WHERE e.account_id = kept.account_id AND e.number > kept.since AND e.number <= kept.number)
         ORDER BY kept.number LIMIT 1",
    )
    .bind(organization.uuid())
    .fetch_optional(tx.conn())
    .await
}

#[derive(sqlx::FromRow)]
pub struct MarkRow {
    pub subject_kind: String,
    pub subject_id: Uuid,
    pub meter: String,
    pub number: i64,
    pub kind: String,
    pub at_us: i64,
    pub of_interval: i64,
    pub sku_id: Uuid,
    pub unit: String,
    pub price_kind: String,
    pub quantity: i64,
    pub total: Option<i64>,
    pub currency: String,
    pub price_id: Option<Uuid>,
    pub price_micros: i64,
    pub per_units: i64,
    pub micros_per_hour: i64,
    pub amount: i64,
}

/// Marks by subject and meter; of one subject alone when it is given.
pub async fn usage(
    tx: &mut Tx,
    organization: OrganizationId,
    after: Option<Uuid>,
    only: Option<Uuid>,
    limit: i64,
) -> sqlx::Result<Vec<MarkRow>> {
    sqlx::query_as(
        "SELECT subject_kind, subject_id, meter, number, kind, epoch_us(at) AS at_us, interval AS of_interval, sku_id, unit, price_kind,
           quantity, total, currency, price_id, price_micros, per_units, micros_per_hour, amount
         FROM usage WHERE organization_id = $1 AND subject_id > coalesce($2, '00000000-0000-0000-0000-000000000000'::uuid)
           AND ($3::uuid IS NULL OR subject_id = $3) ORDER BY subject_id, meter COLLATE \"C\", number LIMIT $4",
    )
    .bind(organization.uuid())
    .bind(after)
    .bind(only)
    .bind(limit)
    .fetch_all(tx.conn())
    .await
}

/// A refund of what was charged after a host was last heard.
#[derive(sqlx::FromRow)]
pub struct RefundRow {
    pub number: i64,
    pub reference: String,
    pub currency: String,
    pub amount: i64,
}

/// Refunds that lost hosts caused; few, as those are.
pub async fn refunds(tx: &mut Tx, organization: OrganizationId, numbers: (i64, i64)) -> sqlx::Result<Vec<RefundRow>> {
    sqlx::query_as(
        "SELECT j.number, j.reference, a.currency, sum(e.amount)::bigint AS amount FROM journals j
         JOIN entries e ON e.organization_id = j.organization_id AND e.number = j.number
         JOIN accounts a ON a.id = e.account_id AND a.kind = 'wallet'
         WHERE j.organization_id = $1 AND j.number BETWEEN $2 AND $3 AND starts_with(j.reference, $4 || ':')
         GROUP BY 1, 2, 3 ORDER BY 1",
    )
    .bind(organization.uuid())
    .bind(numbers.0)
    .bind(numbers.1)
    .bind(crate::ledger::LOST_HOST)
    .fetch_all(tx.conn())
    .await
}

/// What all versions of a price have in common: SKU, unit, kind and currency.
pub type PriceName = (Uuid, String, String, String);
type PriceColumns = (Uuid, String, String, String, Uuid, i64, i64, i64, i64);

pub async fn prices(tx: &mut Tx, skus: &[Uuid]) -> sqlx::Result<HashMap<PriceName, Vec<Price>>> {
    let rows: Vec<PriceColumns> = sqlx::query_as(
        "SELECT sku_id, unit, kind, currency, id, version, price_micros, per_units, epoch_us(effective_at)
         FROM prices WHERE sku_id = ANY($1)",
    )
    .bind(skus)
    .fetch_all(tx.conn())
    .await?;
    let mut prices: HashMap<PriceName, Vec<Price>> = HashMap::new();
    for (sku, unit, kind, currency, id, version, price_micros, per_units, effective_us) in rows {
        let price = Price { id, version, price_micros, per_units, effective_us };
        prices.entry((sku, unit, kind, currency)).or_default().push(price);
    }
    Ok(prices)
}

/// Windows of a range of numbers that end after a moment.
pub async fn windows(
    tx: &mut Tx,
    organization: OrganizationId,
    numbers: (i64, i64),
    after_us: i64,
) -> sqlx::Result<Vec<Window>> {
    let rows: Vec<(i64, i64, i64)> = sqlx::query_as(
        "SELECT number, epoch_us(from_at), epoch_us(to_at) FROM journals
         WHERE organization_id = $1 AND number BETWEEN $2 AND $3 AND kind = 'usage' AND epoch_us(to_at) > $4 ORDER BY number",
    )
    .bind(organization.uuid())
    .bind(numbers.0)
    .bind(numbers.1)
    .bind(after_us)
    .fetch_all(tx.conn())
    .await?;
    Ok(rows.into_iter().map(|(number, from_us, to_us)| Window { number, from_us, to_us }).collect())
}

#[derive(sqlx::FromRow)]
pub struct ChargedRow {
    pub subject_id: Uuid,
    pub meter: String,
    pub of_interval: i64,
    pub number: i64,
    pub amount: i64,
    pub currency: String,
    /// Of the account.
    pub account: String,
}

/// Lines for intervals, of subjects after one and up to another.
pub fn charged(
    tx: &mut Tx,
    organization: OrganizationId,
    (after, until): (Option<Uuid>, Option<Uuid>),
    numbers: (i64, i64),
) -> BoxStream<'_, sqlx::Result<ChargedRow>> {
    sqlx::query_as(
        "SELECT e.subject_id, coalesce(e.meter, '') AS meter, coalesce(e.interval, 0) AS of_interval, e.number, e.amount, e.currency,
           coalesce(a.subject, '') AS account
         FROM entries e LEFT JOIN accounts a ON a.id = e.account_id
         WHERE e.organization_id = $1 AND e.subject_id > coalesce($2, '00000000-0000-0000-0000-000000000000'::uuid)
           AND ($3::uuid IS NULL OR e.subject_id <= $3) AND e.number BETWEEN $4 AND $5
         ORDER BY e.subject_id, e.meter COLLATE \"C\", e.interval, e.number",
    )
    .bind(organization.uuid())
    .bind(after)
    .bind(until)
    .bind(numbers.0)
    .bind(numbers.1)
    .fetch(tx.conn())
}
