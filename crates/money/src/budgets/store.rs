//! The rows of `budgets` and `budget_notices`, and sums over usage and allocations.

use std::time::Duration;

use contract::{
    Timestamp, Word,
    budgets::{BudgetFilter, BudgetMode, BudgetPeriod, BudgetSpec},
    id::{BudgetId, OrganizationId, ProjectId},
    prices::CurrencyCode,
};
use kernel::{Tx, clock, money::Currency};
use serde_json::json;
use sqlx::types::Json;
use uuid::Uuid;

use super::period::Span;
use crate::wallets::Expected;

/// The kind of their work.
pub const KIND: &str = crate::metering::BUDGET;

#[derive(Debug, Clone)]
pub struct BudgetLimits {
    pub id: BudgetId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    /// Whose usage it bounds: all of the project, or that of something inside it.
    pub subject_kind: String,
    pub subject: Uuid,
    pub amount_micros: i64,
    pub currency: CurrencyCode,
    pub period: BudgetPeriod,
    pub thresholds: Vec<u16>,
    pub version: i64,
}

impl BudgetLimits {
    /// What has to be used for this percentage to be reached.
    pub fn share(&self, percent: u16) -> i128 {
        (i128::from(self.amount_micros) * i128::from(percent) + 99) / 100
    }
}

pub struct StoredBudget {
    pub known: BudgetLimits,
    pub mode: BudgetMode,
    pub created_at: Timestamp,
}

/// What a project used in a period, and what it uses now.
#[derive(Debug, Clone, Copy)]
pub struct Use {
    pub spent: i128,
    pub burn: i128,
    /// How many intervals are open; each is rounded down by itself.
    pub running: i128,
}

// bound: the longest sleep of a visit, so that it is a time that databases can tell
const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);

impl Use {
    /// After how long so much is used, for certain; none while nothing runs.
    pub fn reaches(&self, target: i128) -> Option<Duration> {
        if self.burn <= 0 {
            return None;
        }
        let missing = (target - self.spent).max(0) + self.running;
        let micros = (missing * 3_600_000_000 + self.burn - 1) / self.burn;
        Some(u64::try_from(micros).map_or(LONGEST, |it| Duration::from_micros(it).min(LONGEST)))
    }
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    project_id: Uuid,
    subject_kind: String,
    subject_id: Uuid,
    amount_micros: i64,
    currency: String,
    period: String,
    mode: String,
    thresholds: Vec<i32>,
    version: i64,
    created_at: jiff_sqlx::Timestamp,
}

const SELECT: &str =
    "SELECT id, organization_id, project_id, subject_kind, subject_id, amount_micros, currency, period, mode, thresholds, version, created_at
    FROM budgets";

pub async fn insert(
    tx: &mut Tx,
    id: BudgetId,
    organization: OrganizationId,
    spec: &BudgetSpec,
    thresholds: &[u16],
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO budgets (id, organization_id, project_id, subject_id, amount_micros, currency, period, mode, thresholds)
         VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8)",
    )
    .bind(id.uuid())
    .bind(organization.uuid())
    .bind(spec.project_id.uuid())
    .bind(spec.amount_micros)
    .bind(spec.currency.as_str())
    .bind(spec.period.as_str())
    .bind(spec.mode.as_str())
    .bind(numbers(thresholds))
    .execute(tx.conn())
    .await?;
    Ok(())
}

pub async fn count(tx: &mut Tx, project: ProjectId) -> sqlx::Result<u64> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM budgets WHERE project_id = $1")
        .bind(project.uuid())
        .fetch_one(tx.conn())
        .await?;
    Ok(count.unsigned_abs())
}

pub async fn get(tx: &mut Tx, organization: OrganizationId, id: BudgetId) -> sqlx::Result<Option<StoredBudget>> {
    let statement = format!("{SELECT} WHERE organization_id = $1 AND id = $2");
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organization.uuid())
        .bind(id.uuid())
        .fetch_optional(tx.conn())
        .await?;
    row.map(found).transpose()
}

pub async fn known(tx: &mut Tx, id: BudgetId) -> sqlx::Result<Option<BudgetLimits>> {
    let statement = format!("{SELECT} WHERE id = $1");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(|it| found(it).map(|it| it.known)).transpose()
}

pub async fn list(tx: &mut Tx, organization: OrganizationId, filter: &BudgetFilter) -> sqlx::Result<Vec<StoredBudget>> {
    let statement = format!(
        "{SELECT} WHERE organization_id = $1 AND ($2::uuid IS NULL OR project_id = $2) AND ($3::uuid IS NULL OR id < $3)
         ORDER BY id DESC LIMIT $4"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organization.uuid())
        .bind(filter.project_id.map(|it| it.uuid()))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(found).collect()
}

/// What of a budget changes.
pub struct Change {
    pub amount_micros: Option<i64>,
    pub mode: Option<BudgetMode>,
    pub thresholds: Option<Vec<u16>>,
}

/// Says whether there is one.
pub async fn change(tx: &mut Tx, organization: OrganizationId, id: BudgetId, change: &Change) -> sqlx::Result<bool> {
    let changed = sqlx::query(
        "UPDATE budgets SET amount_micros = coalesce($3, amount_micros), mode = coalesce($4, mode),
           thresholds = coalesce($5, thresholds), version = version + 1 WHERE organization_id = $1 AND id = $2",
    )
    .bind(organization.uuid())
    .bind(id.uuid())
    .bind(change.amount_micros)
    .bind(change.mode.map(|it| it.as_str()))
    .bind(change.thresholds.as_deref().map(numbers))
    .execute(tx.conn())
    .await?;
    Ok(changed.rows_affected() > 0)
}

pub async fn delete(tx: &mut Tx, id: BudgetId) -> sqlx::Result<bool> {
    let gone = sqlx::query("DELETE FROM budgets WHERE id = $1").bind(id.uuid()).execute(tx.conn()).await?;
    Ok(gone.rows_affected() > 0)
}

/// The hard budgets of a project. Those who ask for something there take turns
/// at them, until the commit.
pub async fn lock_hard(tx: &mut Tx, project: ProjectId, currency: Currency) -> sqlx::Result<Vec<BudgetLimits>> {
    let statement =
        format!("{SELECT} WHERE project_id = $1 AND mode = 'hard' AND currency = $2 ORDER BY id FOR NO KEY UPDATE");
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(project.uuid())
        .bind(currency.as_str())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(|it| found(it).map(|it| it.known)).collect()
}

/// Whether it is still as it was seen; then nobody changes it until the commit.
pub async fn lock_version(tx: &mut Tx, known: &BudgetLimits) -> sqlx::Result<bool> {
    let found = sqlx::query("SELECT FROM budgets WHERE id = $1 AND version = $2 FOR NO KEY UPDATE")
        .bind(known.id.uuid())
        .bind(known.version)
        .fetch_optional(tx.conn())
        .await?;
    Ok(found.is_some())
}

/// What a budget's subject used in the period, counted from the start of each
/// interval, so that its periods sum to what was posted.
pub async fn usage(tx: &mut Tx, known: &BudgetLimits, span: Span) -> sqlx::Result<Use> {
    let (spent, burn, running): (i64, i64, i64) = sqlx::query_as(
        "SELECT least(coalesce(sum(i.amount + accrued(i.micros_per_hour, c.until - i.started_at)
                   - accrued(i.micros_per_hour, c.since - i.started_at)) FILTER (WHERE c.until > c.since), 0), 9e18)::bigint,
                least(coalesce(sum(i.micros_per_hour) FILTER (WHERE i.is_open), 0), 9e18)::bigint,
                count(*) FILTER (WHERE i.is_open)
         FROM intervals i
         CROSS JOIN LATERAL (SELECT greatest($5, i.started_at) AS since,
           least($6, i.ended_at, greatest(app_now(), CASE WHEN i.is_open THEN i.started_at ELSE i.ended_at END)) AS until) c
         WHERE i.project_id = $1 AND i.closed_at >= coalesce($5, '-infinity') AND i.currency = $2
           AND (i.micros_per_hour > 0 OR i.amount > 0)
           AND ($3 = 'project' OR $4 = CASE $3 WHEN 'allocation' THEN i.allocation_id WHEN 'volume' THEN i.volume_id
             WHEN 'app_instance' THEN i.app_instance_id WHEN 'deployment' THEN i.deployment_id END)",
    )
    .bind(known.project.uuid())
    .bind(known.currency.as_str())
    .bind(&known.subject_kind)
    .bind(known.subject)
    .bind(span.since.map(clock::bind))
    .bind(span.until.map(clock::bind))
    .fetch_one(tx.conn())
    .await?;
    Ok(Use { spent: spent.into(), burn: burn.into(), running: running.into() })
}

/// What subjects may use from now until a period ends: what runs until its end or for
/// the window, the rest as if it started now, at today's price. One of them is
/// told apart.
pub async fn may_use(
    tx: &mut Tx,
    (organization, currency): (OrganizationId, Currency),
    expected: &[Expected],
    span: Span,
    window_minutes: u64,
    own: Option<Uuid>,
) -> sqlx::Result<(i128, i128)> {
    let (held, asked): (i64, i64) = sqlx::query_as(
        "SELECT least(coalesce(sum(may.amount) FILTER (WHERE e.subject_id IS DISTINCT FROM $6), 0), 9e18)::bigint,
                least(coalesce(sum(may.amount) FILTER (WHERE e.subject_id = $6), 0), 9e18)::bigint
         FROM jsonb_to_recordset($1) AS e (subject_id uuid, meter text, unit text, price_kind text, sku_id uuid, quantity bigint,
           ends_at timestamptz, minutes integer)
         LEFT JOIN open_intervals o ON o.organization_id = $2 AND o.subject_id = e.subject_id AND o.meter = e.meter
         LEFT JOIN usage run ON run.organization_id = $2 AND run.subject_id = e.subject_id AND run.meter = e.meter AND run.number = o.interval
         LEFT JOIN LATERAL price_in_force(e.sku_id, e.unit, e.price_kind, $3, app_now()) p ON run.at IS NULL
         CROSS JOIN LATERAL (SELECT coalesce(run.at, app_now()) AS begins, greatest(app_now(), run.at) AS now,
           coalesce(run.micros_per_hour, p.price_micros * e.quantity, 0) AS rate) m
         CROSS JOIN LATERAL (SELECT least($5, coalesce(e.ends_at,
           m.begins + make_interval(mins => coalesce(e.minutes, $4)))) AS ends) f
         CROSS JOIN LATERAL (SELECT accrued(m.rate, f.ends - m.begins) - accrued(m.rate, m.now - m.begins) AS amount
           WHERE f.ends > m.now) may",
    )
    .bind(Json(expected.iter().map(record).collect::<Vec<_>>()))
    .bind(organization.uuid())
    .bind(currency.as_str())
    .bind(i32::try_from(window_minutes).unwrap_or(i32::MAX))
    .bind(span.until.map(clock::bind))
    .bind(own)
    .fetch_one(tx.conn())
    .await?;
    Ok((held.into(), asked.into()))
}

fn record(it: &Expected) -> serde_json::Value {
    json!({
        "subject_id": it.subject,
        "meter": it.meter.name,
        "unit": it.meter.unit.as_str(),
        "price_kind": it.price_kind.as_str(),
        "sku_id": it.sku.uuid(),
        "quantity": it.quantity,
        "ends_at": it.ends_at,
        "minutes": it.minutes,
    })
}

/// Notes that these thresholds were told of; answers which were not before.
pub async fn tell(tx: &mut Tx, known: &BudgetLimits, span: Span, reached: &[u16]) -> sqlx::Result<Vec<u16>> {
    let new: Vec<i32> = sqlx::query_scalar(
        "INSERT INTO budget_notices (organization_id, budget_id, since, percent)
         SELECT $1, $2, coalesce($3, '-infinity'), unnest($4::integer[]) ON CONFLICT DO NOTHING RETURNING percent",
    )
    .bind(known.organization.uuid())
    .bind(known.id.uuid())
    .bind(span.since.map(clock::bind))
    .bind(numbers(reached))
    .fetch_all(tx.conn())
    .await?;
    Ok(percents(new))
}

/// Forgets that others than these were told of in the period.
pub async fn untell_others(tx: &mut Tx, id: BudgetId, span: Span, reached: &[u16]) -> sqlx::Result<()> {
    sqlx::query(
        "DELETE FROM budget_notices WHERE budget_id = $1 AND since = coalesce($2, '-infinity') AND NOT percent = ANY($3)",
    )
    .bind(id.uuid())
    .bind(span.since.map(clock::bind))
    .bind(numbers(reached))
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// The highest threshold of which was told in the period.
pub async fn notified(tx: &mut Tx, id: BudgetId, span: Span) -> sqlx::Result<Option<u16>> {
    let percent: Option<i32> = sqlx::query_scalar(
        "SELECT max(percent) FROM budget_notices WHERE budget_id = $1 AND since = coalesce($2, '-infinity')",
    )
    .bind(id.uuid())
    .bind(span.since.map(clock::bind))
    .fetch_one(tx.conn())
    .await?;
    Ok(percent.and_then(|it| u16::try_from(it).ok()))
}

/// Budgets of projects in which something runs: they wait for a threshold or a period.
pub async fn overdue(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT b.id FROM budgets b
         WHERE EXISTS (SELECT FROM open_intervals o WHERE o.project_id = b.project_id) LIMIT $1",
    )
    .bind(limit)
    .fetch_all(tx.conn())
    .await
}

fn numbers(percents: &[u16]) -> Vec<i32> {
    percents.iter().map(|it| i32::from(*it)).collect()
}

fn percents(numbers: Vec<i32>) -> Vec<u16> {
    numbers.into_iter().filter_map(|it| u16::try_from(it).ok()).collect()
}

fn found(row: Row) -> sqlx::Result<StoredBudget> {
    let known = BudgetLimits {
        id: row.id.into(),
        organization: row.organization_id.into(),
        project: row.project_id.into(),
        subject_kind: row.subject_kind,
        subject: row.subject_id,
        amount_micros: row.amount_micros,
        currency: platform::rows::text(&row.currency)?,
        period: platform::rows::known(&row.period)?,
        thresholds: percents(row.thresholds),
        version: row.version,
    };
    Ok(StoredBudget { known, mode: platform::rows::known(&row.mode)?, created_at: row.created_at.to_jiff() })
}
