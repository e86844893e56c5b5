//! The rows of `invoices`, `invoice_series` and `invoicing`, and the sums of
//! the ledger that they are made of.

use std::collections::BTreeMap;

use contract::{
    Label,
    billing_profiles::{Party, Tax},
    id::{InvoiceId, OrganizationId},
    invoices::{AllInvoicesFilter, Invoice, InvoiceLine, InvoiceSummary},
    ledger::Month,
};
use jiff::{Timestamp, tz::TimeZone};
use kernel::{Tx, clock, money::Currency};
use sqlx::types::Json;
use uuid::Uuid;

use super::{Period, month};

/// How far an organization's months were gone through.
pub struct Progress {
    /// The first that was not.
    pub period: Period,
    /// The newest journal that was looked at.
    pub journal: i64,
}

/// Locks it until the commit, so that two workers take turns.
pub async fn progress(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<Option<Progress>> {
    sqlx::query(
        "INSERT INTO invoicing (organization_id, month)
         SELECT b.organization_id, month_of(coalesce((SELECT min(u.at) FROM usage u WHERE u.organization_id = $1), app_now()))
         FROM books b WHERE b.organization_id = $1 ON CONFLICT DO NOTHING",
    )
    .bind(organization.uuid())
    .execute(tx.conn())
    .await?;
    let row: Option<(jiff_sqlx::Timestamp, jiff_sqlx::Timestamp, i64)> = sqlx::query_as(
        "SELECT month, month_after(month), journal FROM invoicing WHERE organization_id = $1 FOR UPDATE",
    )
    .bind(organization.uuid())
    .fetch_optional(tx.conn())
    .await?;
    Ok(row.map(|(start, end, journal)| Progress { period: period(start, end), journal }))
}

/// Writes down that all journals were looked at, and the month if it was over.
pub async fn went(tx: &mut Tx, organization: OrganizationId, is_over: bool) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE invoicing i SET journal = b.journals, month = CASE WHEN $2 THEN month_after(i.month) ELSE i.month END
         FROM books b WHERE i.organization_id = $1 AND b.organization_id = $1",
    )
    .bind(organization.uuid())
    .bind(is_over)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Organizations with a month that is over and was not gone through.
pub async fn overdue(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT b.organization_id FROM books b LEFT JOIN invoicing i USING (organization_id)
         WHERE EXISTS (SELECT FROM billing_profiles p WHERE p.organization_id IS NULL)
           AND (i.organization_id IS NULL OR month_after(i.month) <= app_now()) LIMIT $1",
    )
    .bind(limit)
    .fetch_all(tx.conn())
    .await
}

pub async fn name(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<String> {
    sqlx::query_scalar("SELECT name FROM organizations WHERE id = $1")
        .bind(organization.uuid())
        .fetch_one(tx.conn())
        .await
}

#[derive(sqlx::FromRow)]
struct LineRow {
    currency: String,
    project_id: Uuid,
    project: String,
    sku_id: Uuid,
    sku: String,
    unit: String,
    price_kind: String,
    price_micros: i64,
    per_units: i64,
    tag: Option<String>,
    consumed: i64,
    amount: i64,
}

// bound: so many values of a tag have lines of their own, the largest ones
const MOST_VALUES: i64 = 500;
/// The value that stands for those beyond.
const OTHERS: &str = "(other)";

/// What was used in a month by project, SKU, price and value of a tag, less the windows that
/// were taken back before it was invoiced.
pub async fn lines(
    tx: &mut Tx,
    organization: OrganizationId,
    period: Period,
    tag_key: Option<&Label>,
) -> sqlx::Result<BTreeMap<Currency, Vec<InvoiceLine>>> {
    // `charged` has a row for each interval: its pieces in the month are summed, because counts
    // have many and what was taken back names the interval.
    let rows: Vec<LineRow> = sqlx::query_as(
        "WITH charged AS MATERIALIZED (
           SELECT i.subject_id, i.meter, i.interval, i.project_id, i.sku_id, i.unit, i.price_kind, i.price_micros, i.per_units, i.currency, i.tags,
             sum(consumed(i.unit, i.quantity, c.since, c.until)) AS consumed,
             sum(i.amount + accrued(i.micros_per_hour, c.until - i.started_at) - accrued(i.micros_per_hour, c.since - i.started_at)) AS amount
           FROM intervals i CROSS JOIN LATERAL (SELECT greatest($2, i.started_at) AS since, least($3, i.ended_at) AS until) c
           WHERE i.organization_id = $1 AND i.closed_at >= $2 AND c.until > c.since AND i.price_micros > 0
           GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
         taken AS MATERIALIZED (
           SELECT e.subject_id, e.meter, e.interval, sum(e.amount) AS amount, sum(piece.consumed) AS consumed
           FROM journals r JOIN journals u ON u.organization_id = r.organization_id AND u.number = r.reverses
           JOIN entries e ON e.organization_id = u.organization_id AND e.number = u.number
           CROSS JOIN LATERAL (
             SELECT sum(consumed(i.unit, i.quantity, greatest(u.from_at, i.started_at), least(u.to_at, i.ended_at))) AS consumed
             FROM intervals i WHERE i.organization_id = $1 AND i.subject_id = e.subject_id AND i.meter = e.meter AND i.interval = e.interval
               AND least(u.to_at, i.ended_at) > greatest(u.from_at, i.started_at)) piece
           WHERE r.organization_id = $1 AND r.reverses IS NOT NULL AND u.kind = 'usage' AND u.to_at > $2 AND u.to_at <= $3
             AND e.subject_id IS NOT NULL
           GROUP BY 1, 2, 3),
         named AS MATERIALIZED (
           SELECT coalesce(c.tags ->> $4, '') AS value FROM charged c GROUP BY 1 ORDER BY sum(c.amount) DESC, 1 LIMIT $5)
         SELECT c.currency, c.project_id, p.name AS project, c.sku_id, s.name AS sku, c.unit, c.price_kind, c.price_micros, c.per_units,
           CASE WHEN $4::text IS NOT NULL THEN coalesce(n.value, $6) END AS tag,
           sum(c.consumed - coalesce(t.consumed, 0))::bigint AS consumed,
           sum(c.amount - coalesce(t.amount, 0))::bigint AS amount
         FROM charged c LEFT JOIN taken t USING (subject_id, meter, interval) LEFT JOIN named n ON n.value = coalesce(c.tags ->> $4, '')
         JOIN projects p ON p.id = c.project_id JOIN skus s ON s.id = c.sku_id
         GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 HAVING sum(c.amount - coalesce(t.amount, 0)) <> 0 ORDER BY 1, 3, 5, 10, 6, 7, 8, 9, 2",
    )
    .bind(organization.uuid())
    .bind(clock::bind(period.start))
    .bind(clock::bind(period.end))
    .bind(tag_key.map(Label::as_str))
    .bind(MOST_VALUES)
    .bind(OTHERS)
    .fetch_all(tx.conn())
    .await?;
    let mut all: BTreeMap<Currency, Vec<InvoiceLine>> = BTreeMap::new();
    for row in rows {
        all.entry(platform::rows::text(&row.currency)?).or_default().push(line(row)?);
    }
    Ok(all)
}

fn line(row: LineRow) -> sqlx::Result<InvoiceLine> {
    Ok(InvoiceLine {
        project_id: row.project_id.into(),
        project: row.project,
        sku_id: row.sku_id.into(),
        sku: row.sku,
        unit: platform::rows::word(&row.unit)?,
        price_kind: platform::rows::word(&row.price_kind)?,
        consumed: row.consumed,
        price_micros: row.price_micros,
        per_units: row.per_units,
        tag: row.tag,
        amount_micros: row.amount,
    })
}

/// What a month's journals took from each wallet, less what was taken back.
pub async fn charged(
    tx: &mut Tx,
    organization: OrganizationId,
    period: Period,
) -> sqlx::Result<BTreeMap<Currency, i64>> {
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "SELECT a.currency, (-sum(e.amount))::bigint FROM journals u JOIN accounts a ON a.organization_id = u.organization_id
         JOIN entries e ON e.account_id = a.id AND e.number = u.number
         WHERE u.organization_id = $1 AND u.kind = 'usage' AND u.to_at > $2 AND u.to_at <= $3 AND a.kind = 'wallet'
           AND NOT EXISTS (SELECT FROM journals r WHERE r.organization_id = $1 AND r.reverses = u.number)
         GROUP BY a.currency",
    )
    .bind(organization.uuid())
    .bind(clock::bind(period.start))
    .bind(clock::bind(period.end))
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter().map(|(currency, sum)| Ok((platform::rows::text(&currency)?, sum))).collect()
}

/// Usage that was taken back after it was invoiced.
pub struct TakenBack {
    pub organization: OrganizationId,
    pub reversal: i64,
    pub usage: i64,
    pub invoice: InvoiceId,
    pub number: String,
    pub period: Period,
    pub currency: Currency,
    pub tag_key: Option<Label>,
    pub tax: Option<Tax>,
}

#[derive(sqlx::FromRow)]
struct TakenRow {
    reversal: i64,
    usage: i64,
    id: Uuid,
    number: String,
    period_start: jiff_sqlx::Timestamp,
    period_end: jiff_sqlx::Timestamp,
    currency: String,
    tag_key: Option<String>,
    tax: Option<Json<Tax>>,
}

pub async fn taken_back(tx: &mut Tx, organization: OrganizationId, after: i64) -> sqlx::Result<Vec<TakenBack>> {
    let rows: Vec<TakenRow> = sqlx::query_as(
        "SELECT r.number AS reversal, u.number AS usage, i.id, i.number, i.period_start, i.period_end, i.currency, i.tag_key, i.tax
         FROM journals r JOIN journals u ON u.organization_id = r.organization_id AND u.number = r.reverses
         JOIN invoices i ON i.organization_id = r.organization_id AND i.kind = 'invoice' AND i.period_start < u.to_at AND i.period_end >= u.to_at
         WHERE r.organization_id = $1 AND r.reverses IS NOT NULL AND r.number > $2 AND u.kind = 'usage' AND r.number > i.journals
           AND EXISTS (SELECT FROM entries e WHERE e.organization_id = $1 AND e.number = u.number AND e.currency = i.currency)
         ORDER BY r.number, i.currency",
    )
    .bind(organization.uuid())
    .bind(after)
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(TakenBack {
                organization,
                reversal: row.reversal,
                usage: row.usage,
                invoice: row.id.into(),
                number: row.number,
                period: period(row.period_start, row.period_end),
                currency: platform::rows::text(&row.currency)?,
                tag_key: tag_key(row.tag_key)?,
                tax: row.tax.map(|it| it.0),
            })
        })
        .collect()
}

/// What a journal of usage charged, taken back in lines as the invoice has them.
pub async fn reversed_lines(tx: &mut Tx, taken: &TakenBack) -> sqlx::Result<Vec<InvoiceLine>> {
    let rows: Vec<LineRow> = sqlx::query_as(
        "SELECT s.currency, s.project_id, p.name AS project, s.sku_id, k.name AS sku, s.unit, s.price_kind, s.price_micros, s.per_units,
           CASE WHEN v.tag_key IS NULL THEN NULL WHEN jsonb_path_query_array(v.lines, '$[*].tag') ? coalesce(s.tags ->> v.tag_key, '')
             THEN coalesce(s.tags ->> v.tag_key, '') ELSE $5 END AS tag,
           (-sum(piece.consumed))::bigint AS consumed, (-sum(e.amount))::bigint AS amount
         FROM journals u JOIN entries e ON e.organization_id = u.organization_id AND e.number = u.number
         JOIN usage s ON s.organization_id = e.organization_id AND s.subject_id = e.subject_id AND s.meter = e.meter AND s.number = e.interval
         CROSS JOIN LATERAL (
           SELECT sum(consumed(i.unit, i.quantity, greatest(u.from_at, i.started_at), least(u.to_at, i.ended_at))) AS consumed
           FROM intervals i WHERE i.organization_id = $1 AND i.subject_id = e.subject_id AND i.meter = e.meter AND i.interval = e.interval
             AND least(u.to_at, i.ended_at) > greatest(u.from_at, i.started_at)) piece
         JOIN projects p ON p.id = s.project_id JOIN skus k ON k.id = s.sku_id
         JOIN invoices v ON v.organization_id = u.organization_id AND v.id = $4
         WHERE u.organization_id = $1 AND u.number = $2 AND s.currency = $3
         GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ORDER BY 3, 5, 10, 6, 7, 8, 9, 2",
    )
    .bind(taken.organization.uuid())
    .bind(taken.usage)
    .bind(taken.currency.as_str())
    .bind(taken.invoice.uuid())
    .bind(OTHERS)
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter().map(line).collect()
}

/// What a wallet holds now but for usage after a moment.
pub async fn balance_at(
    tx: &mut Tx,
    organization: OrganizationId,
    currency: Currency,
    end: Timestamp,
) -> sqlx::Result<i64> {
    let posted = crate::ledger::balance(tx, organization, currency).await?.posted.micros();
    let later: i64 = sqlx::query_scalar(
        "SELECT coalesce(sum(e.amount), 0)::bigint FROM journals u JOIN accounts a ON a.organization_id = u.organization_id
         JOIN entries e ON e.account_id = a.id AND e.number = u.number
         WHERE u.organization_id = $1 AND u.kind = 'usage' AND u.to_at > $3 AND a.kind = 'wallet' AND a.currency = $2",
    )
    .bind(organization.uuid())
    .bind(currency.as_str())
    .bind(clock::bind(end))
    .fetch_one(tx.conn())
    .await?;
    Ok(posted.saturating_sub(later))
}

/// A number that was taken.
pub struct TakenNumber {
    pub year: i32,
    pub serial: i64,
    pub number: String,
    pub issued_at: Timestamp,
}

/// The next number of the year. Dates never go back from one to the next.
pub async fn take_number(tx: &mut Tx) -> sqlx::Result<TakenNumber> {
    let now = clock::now(tx).await?;
    let year = i32::from(now.to_zoned(TimeZone::UTC).year());
    let (serial, issued_at): (i64, jiff_sqlx::Timestamp) = sqlx::query_as(
        "INSERT INTO invoice_series (year, last, issued_at) VALUES ($1, 1, app_now())
         ON CONFLICT (year) DO UPDATE SET last = invoice_series.last + 1, issued_at = greatest(invoice_series.issued_at, excluded.issued_at)
         RETURNING last, issued_at",
    )
    .bind(year)
    .fetch_one(tx.conn())
    .await?;
    Ok(TakenNumber { year, serial, number: format!("{year}-{serial:06}"), issued_at: issued_at.to_jiff() })
}

pub struct New<'a> {
    pub invoice: &'a Invoice,
    pub year: i32,
    pub serial: i64,
    pub corrects: Option<InvoiceId>,
    pub reversal: Option<i64>,
}

/// Writes the invoice, and answers the hash of its PDF.
pub async fn insert(tx: &mut Tx, new: New<'_>, pdf: &[u8]) -> sqlx::Result<String> {
    let it = new.invoice;
    sqlx::query_scalar(
        "INSERT INTO invoices (id, organization_id, year, serial, kind, corrects, reversal, period_start, period_end, issued_at, currency,
           seller, buyer, lines, subtotal_micros, rounding_micros, tax, tax_micros, total_micros, paid_micros, due_micros, journal, journals, pdf,
           tag_key)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, b.journals, $23, $24
         FROM books b WHERE b.organization_id = $2 RETURNING encode(sha256(pdf), 'hex')",
    )
    .bind(it.id.uuid())
    .bind(it.organization_id.uuid())
    .bind(new.year)
    .bind(new.serial)
    .bind(it.kind.to_string())
    .bind(new.corrects.map(|it| it.uuid()))
    .bind(new.reversal)
    .bind(clock::bind(it.period_start))
    .bind(clock::bind(it.period_end))
    .bind(clock::bind(it.issued_at))
    .bind(it.currency.as_str())
    .bind(Json(&it.seller))
    .bind(Json(&it.buyer))
    .bind(Json(&it.lines))
    .bind(it.subtotal_micros)
    .bind(it.rounding_micros)
    .bind(it.tax.as_ref().map(Json))
    .bind(it.tax_micros)
    .bind(it.total_micros)
    .bind(it.paid_micros)
    .bind(it.due_micros)
    .bind(it.journal)
    .bind(pdf)
    .bind(it.tag_key.as_ref().map(Label::as_str))
    .fetch_one(tx.conn())
    .await
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    number: String,
    kind: String,
    corrects: Option<String>,
    period_start: jiff_sqlx::Timestamp,
    period_end: jiff_sqlx::Timestamp,
    issued_at: jiff_sqlx::Timestamp,
    currency: String,
    seller: Json<Party>,
    buyer: Json<Party>,
    tag_key: Option<String>,
    lines: Json<Vec<InvoiceLine>>,
    subtotal_micros: i64,
    rounding_micros: i64,
    tax: Option<Json<Tax>>,
    tax_micros: i64,
    total_micros: i64,
    paid_micros: i64,
    due_micros: i64,
    journal: Option<i64>,
    pdf_sha256: String,
}

/// One that the scope shows; of one organization if it is said.
pub async fn get(tx: &mut Tx, id: InvoiceId, organization: Option<OrganizationId>) -> sqlx::Result<Option<Invoice>> {
    let row: Option<Row> = sqlx::query_as(
        "SELECT i.id, i.organization_id, i.number, i.kind, c.number AS corrects, i.period_start, i.period_end, i.issued_at, i.currency,
           i.seller, i.buyer, i.tag_key, i.lines, i.subtotal_micros, i.rounding_micros, i.tax, i.tax_micros, i.total_micros, i.paid_micros,
           i.due_micros, i.journal, encode(sha256(i.pdf), 'hex') AS pdf_sha256
         FROM invoices i LEFT JOIN invoices c ON c.organization_id = i.organization_id AND c.id = i.corrects
         WHERE i.id = $1 AND ($2::uuid IS NULL OR i.organization_id = $2)",
    )
    .bind(id.uuid())
    .bind(organization.map(|it| it.uuid()))
    .fetch_optional(tx.conn())
    .await?;
    row.map(invoice).transpose()
}

/// The document as it was issued.
pub async fn pdf(tx: &mut Tx, id: InvoiceId) -> sqlx::Result<Vec<u8>> {
    sqlx::query_scalar("SELECT pdf FROM invoices WHERE id = $1").bind(id.uuid()).fetch_one(tx.conn()).await
}

#[derive(sqlx::FromRow)]
struct SummaryRow {
    id: Uuid,
    organization_id: Uuid,
    number: String,
    kind: String,
    period_start: jiff_sqlx::Timestamp,
    currency: String,
    total_micros: i64,
    due_micros: i64,
    issued_at: jiff_sqlx::Timestamp,
}

pub async fn list(tx: &mut Tx, filter: &AllInvoicesFilter) -> sqlx::Result<Vec<InvoiceSummary>> {
    let rows: Vec<SummaryRow> = sqlx::query_as(
        "SELECT id, organization_id, number, kind, period_start, currency, total_micros, due_micros, issued_at FROM invoices
         WHERE ($1::uuid IS NULL OR organization_id = $1) AND ($2::timestamptz IS NULL OR period_start = $2) AND ($3::uuid IS NULL OR id < $3)
         ORDER BY id DESC LIMIT $4",
    )
    .bind(filter.organization_id.map(|it| it.uuid()))
    .bind(filter.month.as_ref().and_then(Period::of).map(|it| clock::bind(it.start)))
    .bind(filter.cursor.map(|it| it.0))
    .bind(filter.limit.probe())
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(InvoiceSummary {
                id: row.id.into(),
                organization_id: row.organization_id.into(),
                number: row.number,
                kind: platform::rows::word(&row.kind)?,
                month: month_text(row.period_start)?,
                currency: platform::rows::text(&row.currency)?,
                total_micros: row.total_micros,
                due_micros: row.due_micros,
                issued_at: row.issued_at.to_jiff(),
            })
        })
        .collect()
}

fn invoice(row: Row) -> sqlx::Result<Invoice> {
    Ok(Invoice {
        id: row.id.into(),
        organization_id: row.organization_id.into(),
        number: row.number,
        kind: platform::rows::word(&row.kind)?,
        corrects: row.corrects,
        month: month_text(row.period_start)?,
        period_start: row.period_start.to_jiff(),
        period_end: row.period_end.to_jiff(),
        issued_at: row.issued_at.to_jiff(),
        currency: platform::rows::text(&row.currency)?,
        seller: row.seller.0,
        buyer: row.buyer.0,
        tag_key: tag_key(row.tag_key)?,
        lines: row.lines.0,
        subtotal_micros: row.subtotal_micros,
        rounding_micros: row.rounding_micros,
        net_micros: row.subtotal_micros + row.rounding_micros,
        tax: row.tax.map(|it| it.0),
        tax_micros: row.tax_micros,
        total_micros: row.total_micros,
        paid_micros: row.paid_micros,
        due_micros: row.due_micros,
        journal: row.journal,
        pdf_sha256: row.pdf_sha256,
    })
}

fn tag_key(text: Option<String>) -> sqlx::Result<Option<Label>> {
    text.map(|it| platform::rows::text(&it)).transpose()
}

fn month_text(start: jiff_sqlx::Timestamp) -> sqlx::Result<Month> {
    platform::rows::text(&month(start.to_jiff()))
}

fn period(start: jiff_sqlx::Timestamp, end: jiff_sqlx::Timestamp) -> Period {
    Period { start: start.to_jiff(), end: end.to_jiff() }
}
