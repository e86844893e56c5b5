//! Sums over `usage`.

use std::collections::BTreeMap;

use contract::{
    Label, Timestamp,
    id::{AllocationId, OrganizationId, ProjectId},
    usage::{AllocationCost, Charge, UsageBy, UsageLine},
};
use kernel::{Tx, clock};
use sqlx::types::Json;
use uuid::Uuid;

use crate::{invoices::Period, metering::subject_text};

/// How usage is cut, and when it was used.
pub struct UsageGrouping<'a> {
    pub by: UsageBy,
    pub tag: Option<&'a Label>,
    pub project: Option<ProjectId>,
    pub since: Timestamp,
    pub until: Timestamp,
}

#[derive(sqlx::FromRow)]
struct LineRow {
    key: String,
    currency: String,
    unit: Option<String>,
    gpu_seconds: i64,
    quantity: i64,
    amount: i64,
    intervals: i64,
}

/// Amounts are taken from the start of each interval, so that the days of a
/// month sum to the month, and months to what was posted.
pub async fn lines(
    tx: &mut Tx,
    organization: OrganizationId,
    cut: UsageGrouping<'_>,
    limit: i64,
) -> sqlx::Result<Vec<UsageLine>> {
    let (key, pieces) = match cut.by {
        UsageBy::Project => ("(SELECT name FROM projects p WHERE p.id = run.project_id)", WHOLE),
        UsageBy::Sku => ("(SELECT name FROM skus s WHERE s.id = run.sku_id)", WHOLE),
        UsageBy::Tag => ("coalesce(run.tags ->> $5, '')", WHOLE),
        UsageBy::Day => ("to_char(piece.since AT TIME ZONE 'UTC', 'YYYY-MM-DD')", DAYS),
        UsageBy::Meter => ("run.meter", WHOLE),
    };
    let unit = if cut.by == UsageBy::Meter { "run.unit" } else { "NULL::text" };
    let order = if cut.by == UsageBy::Day { "1, 2" } else { "amount DESC, 1, 2" };
    let statement = format!(
        "SELECT {key} AS key, run.currency, {unit} AS unit,
           coalesce(sum(run.quantity * extract(epoch FROM clipped.until - clipped.since)) FILTER (WHERE run.unit = 'gpu_hour'), 0)::bigint
             AS gpu_seconds,
           sum(CASE WHEN is_rate(run.unit) THEN run.quantity * extract(epoch FROM clipped.until - clipped.since) ELSE run.quantity END)::bigint
             AS quantity,
           sum(run.amount + accrued(run.micros_per_hour, clipped.until - run.started_at)
             - accrued(run.micros_per_hour, clipped.since - run.started_at))::bigint AS amount,
           count(DISTINCT (run.subject_id, run.meter, run.interval)) AS intervals
         FROM intervals run CROSS JOIN LATERAL ({pieces}) AS piece (since, until)
         CROSS JOIN LATERAL (SELECT greatest(piece.since, run.started_at) AS since, least(piece.until, run.ended_at,
           greatest(app_now(), CASE WHEN run.is_open THEN run.started_at ELSE run.ended_at END)) AS until) AS clipped
         WHERE run.organization_id = $1 AND run.closed_at >= $2 AND run.started_at < $3 AND ($4::uuid IS NULL OR run.project_id = $4)
           AND clipped.until > clipped.since AND ($5::text IS NULL OR true)
         GROUP BY 1, 2, 3 ORDER BY {order} LIMIT $6"
    );
    let rows: Vec<LineRow> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organization.uuid())
        .bind(clock::bind(cut.since))
        .bind(clock::bind(cut.until))
        .bind(cut.project.map(|it| it.uuid()))
        .bind(cut.tag.map(Label::as_str))
        .bind(limit)
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter()
        .map(|row| {
            Ok(UsageLine {
                key: row.key,
                currency: platform::rows::text(&row.currency)?,
                gpu_seconds: row.gpu_seconds,
                quantity: row.unit.is_some().then_some(row.quantity),
                unit: row.unit.as_deref().map(platform::rows::word).transpose()?,
                amount_micros: row.amount,
                intervals: row.intervals,
            })
        })
        .collect()
}

/// The period as one piece.
const WHOLE: &str = "VALUES ($2::timestamptz, $3::timestamptz)";

/// The period day by day.
const DAYS: &str = "SELECT greatest(day AT TIME ZONE 'UTC', $2), least((day + '1 day') AT TIME ZONE 'UTC', $3)
    FROM generate_series(date_trunc('day', greatest($2, run.started_at) AT TIME ZONE 'UTC'),
      least($3, run.ended_at, app_now()) AT TIME ZONE 'UTC', '1 day') AS day";

pub async fn posted_to(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<Timestamp> {
    let moment: jiff_sqlx::Timestamp = sqlx::query_scalar("SELECT posted_to FROM books WHERE organization_id = $1")
        .bind(organization.uuid())
        .fetch_one(tx.conn())
        .await?;
    Ok(moment.to_jiff())
}

#[derive(sqlx::FromRow)]
struct ChargeRow {
    subject_kind: String,
    subject_id: Uuid,
    meter: String,
    interval: i64,
    number: i64,
    project_id: Uuid,
    project: String,
    allocation_id: Option<Uuid>,
    sku_id: Uuid,
    sku: String,
    region: Option<String>,
    unit: String,
    price_kind: String,
    quantity: i64,
    from_at: jiff_sqlx::Timestamp,
    to_at: jiff_sqlx::Timestamp,
    consumed: i64,
    currency: String,
    price_id: Option<Uuid>,
    price_micros: i64,
    per_units: i64,
    amount: i64,
    tags: Json<BTreeMap<String, String>>,
    invoice: Option<String>,
}

/// The place of a charge in an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargeKey {
    pub subject: Uuid,
    pub meter: String,
    pub number: i64,
}

/// What each interval came to in a period, in the order of their names, and the place of the last.
pub async fn charges(
    tx: &mut Tx,
    organization: OrganizationId,
    period: Period,
    after: Option<&ChargeKey>,
    limit: usize,
) -> sqlx::Result<(Vec<Charge>, Option<ChargeKey>)> {
    let mut rows: Vec<ChargeRow> = sqlx::query_as(
        "SELECT i.subject_kind, i.subject_id, i.meter, i.interval, i.number, i.project_id, p.name AS project, i.allocation_id, i.sku_id,
           s.name AS sku, r.name AS region, i.unit, i.price_kind, i.quantity, c.since AS from_at, c.until AS to_at,
           consumed(i.unit, i.quantity, c.since, c.until)::bigint AS consumed, i.currency, i.price_id, i.price_micros, i.per_units,
           (i.amount + accrued(i.micros_per_hour, c.until - i.started_at) - accrued(i.micros_per_hour, c.since - i.started_at))::bigint AS amount,
           i.tags, v.number AS invoice
         FROM intervals i CROSS JOIN LATERAL (SELECT greatest($2, i.started_at) AS since, least($3, i.ended_at) AS until) c
         JOIN projects p ON p.id = i.project_id JOIN skus s ON s.id = i.sku_id
         LEFT JOIN allocations a ON a.organization_id = $1 AND a.id = i.allocation_id LEFT JOIN regions r ON r.id = a.region_id
         LEFT JOIN invoices v ON v.organization_id = $1 AND v.kind = 'invoice' AND v.period_start = $2 AND v.currency = i.currency
         WHERE i.organization_id = $1 AND i.closed_at >= $2 AND c.until > c.since
           AND ($4::uuid IS NULL OR (i.subject_id, i.meter, i.number) > ($4, $5::text, $6::bigint))
         ORDER BY i.subject_id, i.meter, i.number LIMIT $7",
    )
    .bind(organization.uuid())
    .bind(clock::bind(period.start))
    .bind(clock::bind(period.end))
    .bind(after.map(|it| it.subject))
    .bind(after.map(|it| &*it.meter))
    .bind(after.map(|it| it.number))
    .bind(i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1))
    .fetch_all(tx.conn())
    .await?;
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let key = |it: &ChargeRow| ChargeKey { subject: it.subject_id, meter: it.meter.clone(), number: it.number };
    let last = rows.last().filter(|_| has_more).map(key);
    Ok((rows.into_iter().map(charge).collect::<sqlx::Result<_>>()?, last))
}

fn charge(row: ChargeRow) -> sqlx::Result<Charge> {
    Ok(Charge {
        subject_id: subject_text(&row.subject_kind, row.subject_id),
        subject_kind: row.subject_kind,
        meter: row.meter,
        interval: row.interval,
        number: row.number,
        project_id: row.project_id.into(),
        project: row.project,
        allocation_id: row.allocation_id.map(Into::into),
        sku_id: row.sku_id.into(),
        sku: row.sku,
        region: row.region,
        unit: platform::rows::word(&row.unit)?,
        price_kind: platform::rows::word(&row.price_kind)?,
        quantity: row.quantity,
        from: row.from_at.to_jiff(),
        to: row.to_at.to_jiff(),
        consumed: row.consumed,
        currency: platform::rows::text(&row.currency)?,
        price_id: row.price_id.map(Into::into),
        price_micros: row.price_micros,
        per_units: row.per_units,
        amount_micros: row.amount,
        tags: row.tags.0,
        invoice: row.invoice,
    })
}

#[derive(sqlx::FromRow)]
struct CostRow {
    currency: String,
    at: jiff_sqlx::Timestamp,
    posted_to: jiff_sqlx::Timestamp,
    posted: i64,
    taken_back: i64,
    accrued: i64,
    held: i64,
    burn: i64,
    active_seconds: i64,
    gpu_seconds: i64,
    intervals: i64,
}

/// What an allocation cost: its lines in the books, and what its intervals have
/// come to since they were posted, cut as the next posting will cut them.
pub async fn cost(
    tx: &mut Tx,
    organization: OrganizationId,
    project: ProjectId,
    allocation: AllocationId,
) -> sqlx::Result<Option<AllocationCost>> {
    let row: Option<CostRow> = sqlx::query_as(
        "WITH book AS (SELECT posted_to, greatest(app_now(), posted_to) AS now FROM books WHERE organization_id = $1),
         runs AS (
           SELECT i.subject_id, i.meter, i.started_at AS since, CASE WHEN i.is_open THEN greatest(book.now, i.started_at) ELSE i.ended_at END AS until,
             i.is_open, i.unit, i.quantity, i.micros_per_hour, i.amount
           FROM book CROSS JOIN intervals i
           WHERE i.organization_id = $1 AND i.project_id = $2 AND i.subject_id = $3),
         used AS (
           SELECT sum(CASE WHEN until > posted_to THEN amount ELSE 0 END + accrued(micros_per_hour, until - since)
               - accrued(micros_per_hour, greatest(least(book.posted_to, until), since) - since)) AS accrued,
             sum(micros_per_hour) FILTER (WHERE is_open) AS burn,
             sum(extract(epoch FROM until - since)) FILTER (WHERE unit = 'gpu_hour') AS active_seconds,
             sum(quantity * extract(epoch FROM until - since)) FILTER (WHERE unit = 'gpu_hour') AS gpu_seconds,
             count(*) FILTER (WHERE is_rate(unit)) AS intervals
           FROM runs, book),
         posted AS (
           SELECT sum(e.amount) AS amount, sum(e.amount) FILTER (WHERE r.number IS NOT NULL) AS taken_back
           FROM (SELECT DISTINCT subject_id, meter FROM runs) s
           JOIN entries e ON e.organization_id = $1 AND e.subject_id = s.subject_id AND e.meter = s.meter
           LEFT JOIN journals r ON r.organization_id = e.organization_id AND r.reverses = e.number),
         held AS (
           SELECT sum(CASE WHEN h.held_to IS NULL THEN accrued(h.micros_per_hour, make_interval(secs => h.seconds))
             WHEN h.held_to > book.now THEN accrued(run.micros_per_hour, h.held_to - run.since) - accrued(run.micros_per_hour, run.until - run.since)
             END) AS amount
           FROM book CROSS JOIN holds h LEFT JOIN runs run ON run.is_open AND run.subject_id = h.subject_id AND run.meter = h.meter
           WHERE h.organization_id = $1 AND h.subject_id = $3)
         SELECT a.currency, book.now AS at, book.posted_to, coalesce(posted.amount, 0)::bigint AS posted,
           coalesce(posted.taken_back, 0)::bigint AS taken_back, coalesce(used.accrued, 0)::bigint AS accrued,
           coalesce((SELECT amount FROM held), 0)::bigint AS held, coalesce(used.burn, 0)::bigint AS burn,
           trunc(coalesce(used.active_seconds, 0))::bigint AS active_seconds, trunc(coalesce(used.gpu_seconds, 0))::bigint AS gpu_seconds, used.intervals
         FROM allocations a, book, used, posted WHERE a.organization_id = $1 AND a.project_id = $2 AND a.id = $3",
    )
    .bind(organization.uuid())
    .bind(project.uuid())
    .bind(allocation.uuid())
    .fetch_optional(tx.conn())
    .await?;
    row.map(|it| counted(allocation, it)).transpose()
}

fn counted(allocation_id: AllocationId, row: CostRow) -> sqlx::Result<AllocationCost> {
    Ok(AllocationCost {
        allocation_id,
        currency: platform::rows::text(&row.currency)?,
        at: row.at.to_jiff(),
        amount_micros: row.posted - row.taken_back + row.accrued,
        posted_micros: row.posted,
        posted_to: row.posted_to.to_jiff(),
        taken_back_micros: row.taken_back,
        accrued_micros: row.accrued,
        held_micros: row.held,
        burn_micros_per_hour: row.burn,
        active_seconds: row.active_seconds,
        gpu_seconds: row.gpu_seconds,
        intervals: row.intervals,
    })
}

/// Journals of a period that cost or gave something besides usage: those
/// posted in it, and what its invoice added. Payments are no charges.
pub async fn other_journals(
    tx: &mut Tx,
    organization: OrganizationId,
    period: Period,
    posted_to: Timestamp,
    after: i64,
    limit: i64,
) -> sqlx::Result<Vec<i64>> {
    sqlx::query_scalar(
        "SELECT j.number FROM journals j
         LEFT JOIN journals u ON u.organization_id = j.organization_id AND u.number = j.reverses
         LEFT JOIN invoices i ON i.organization_id = j.organization_id AND i.journal = j.number AND i.kind = 'invoice'
         WHERE j.organization_id = $1 AND j.kind <> 'usage' AND j.number > $5 AND j.at <= $4
           AND (j.kind IN ('credit', 'adjustment', 'invoice', 'credit_note') OR u.kind IN ('usage', 'credit', 'adjustment'))
           AND CASE WHEN i.id IS NOT NULL THEN i.period_start = $2 ELSE j.at >= $2 AND j.at < $3 END
         ORDER BY j.number LIMIT $6",
    )
    .bind(organization.uuid())
    .bind(clock::bind(period.start))
    .bind(clock::bind(period.end))
    .bind(clock::bind(posted_to))
    .bind(after)
    .bind(limit)
    .fetch_all(tx.conn())
    .await
}

/// What a journal took from a wallet, and how much of it is tax.
#[derive(sqlx::FromRow)]
pub struct OtherRow {
    pub id: Uuid,
    pub kind: String,
    pub at: jiff_sqlx::Timestamp,
    pub reason: String,
    pub from_at: Option<jiff_sqlx::Timestamp>,
    pub to_at: Option<jiff_sqlx::Timestamp>,
    pub is_correction: bool,
    pub currency: String,
    pub wallet: i64,
    pub tax: i64,
    pub invoice: Option<String>,
}

pub async fn other_charges(tx: &mut Tx, organization: OrganizationId, numbers: &[i64]) -> sqlx::Result<Vec<OtherRow>> {
    sqlx::query_as(
        "WITH sums AS (
           SELECT e.number, a.currency, coalesce(sum(e.amount) FILTER (WHERE a.kind = 'wallet'), 0)::bigint AS wallet,
             coalesce(sum(e.amount) FILTER (WHERE a.kind = 'tax'), 0)::bigint AS tax
           FROM entries e JOIN accounts a ON a.id = e.account_id
           WHERE e.organization_id = $1 AND e.number = ANY($2) AND a.kind IN ('wallet', 'tax') GROUP BY 1, 2)
         SELECT j.id, j.kind, j.at, j.reason, coalesce(u.from_at, i.period_start) AS from_at, coalesce(u.to_at, i.period_end) AS to_at,
           j.kind = 'credit_note' OR EXISTS (SELECT FROM invoices p WHERE p.organization_id = $1 AND p.kind = 'invoice'
             AND p.currency = s.currency AND p.period_start < u.to_at AND p.period_end >= u.to_at AND p.journals < j.number) AS is_correction,
           s.currency, s.wallet, s.tax, coalesce(i.number, n.number) AS invoice
         FROM sums s JOIN journals j ON j.organization_id = $1 AND j.number = s.number
         LEFT JOIN journals u ON u.organization_id = $1 AND u.number = j.reverses
         LEFT JOIN invoices i ON i.organization_id = $1 AND i.journal = j.number
         LEFT JOIN invoices n ON n.organization_id = $1 AND n.reversal = j.number AND n.currency = s.currency
         ORDER BY j.number, s.currency",
    )
    .bind(organization.uuid())
    .bind(numbers)
    .fetch_all(tx.conn())
    .await
}
