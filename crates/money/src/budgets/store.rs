//! The rows of `budgets` and `budget_notices`, and sums over usage and allocations.

use std::time::Duration;

use contract::{
    Timestamp, Word,
    budgets::{BudgetFilter, BudgetMode, BudgetPeriod, BudgetSpec},
    id::{BudgetId, OrganizationId, ProjectId},
    prices::CurrencyCode,
};
use kernel::{Tx, clock, money::Currency};
use uuid::Uuid;

use super::{check::Asked, period::Span};

/// The kind of their work.
pub const KIND: &str = "budget";

#[derive(Debug, Clone)]
pub struct Known {
    pub id: BudgetId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub amount_micros: i64,
    pub currency: CurrencyCode,
    pub period: BudgetPeriod,
    pub thresholds: Vec<u16>,
    pub version: i64,
}

impl Known {
    /// What has to be used for this percentage to be reached.
    pub fn share(&self, percent: u16) -> i128 {
        (i128::from(self.amount_micros) * i128::from(percent) + 99) / 100
    }
}

pub struct Found {
    pub known: Known,
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
    amount_micros: i64,
    currency: String,
    period: String,
    mode: String,
    thresholds: Vec<i32>,
    version: i64,
    created_at: jiff_sqlx::Timestamp,
}

const SELECT: &str =
    "SELECT id, organization_id, project_id, amount_micros, currency, period, mode, thresholds, version, created_at
    FROM budgets";

pub async fn insert(
    tx: &mut Tx,
    id: BudgetId,
    organization: OrganizationId,
    spec: &BudgetSpec,
    thresholds: &[u16],
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO budgets (id, organization_id, project_id, amount_micros, currency, period, mode, thresholds)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
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

pub async fn get(tx: &mut Tx, organization: OrganizationId, id: BudgetId) -> sqlx::Result<Option<Found>> {
    let statement = format!("{SELECT} WHERE organization_id = $1 AND id = $2");
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organization.uuid())
        .bind(id.uuid())
        .fetch_optional(tx.conn())
        .await?;
    row.map(found).transpose()
}

pub async fn known(tx: &mut Tx, id: BudgetId) -> sqlx::Result<Option<Known>> {
    let statement = format!("{SELECT} WHERE id = $1");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(|it| found(it).map(|it| it.known)).transpose()
}

pub async fn list(tx: &mut Tx, organization: OrganizationId, filter: &BudgetFilter) -> sqlx::Result<Vec<Found>> {
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
pub async fn lock_hard(tx: &mut Tx, project: ProjectId, currency: Currency) -> sqlx::Result<Vec<Known>> {
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
pub async fn lock_version(tx: &mut Tx, known: &Known) -> sqlx::Result<bool> {
    let found = sqlx::query("SELECT FROM budgets WHERE id = $1 AND version = $2 FOR NO KEY UPDATE")
        .bind(known.id.uuid())
        .bind(known.version)
        .fetch_optional(tx.conn())
        .await?;
    Ok(found.is_some())
}

/// What the project used in the period, counted from the start of each interval,
/// so that its periods sum to what was posted.
pub async fn usage(tx: &mut Tx, known: &Known, span: Span) -> sqlx::Result<Use> {
    used(tx, known.project, known.currency.as_str(), span).await
}

async fn used(tx: &mut Tx, project: ProjectId, currency: &str, span: Span) -> sqlx::Result<Use> {
    let (spent, burn, running): (i64, i64, i64) = sqlx::query_as(
        "SELECT least(coalesce(sum(accrued(r.micros_per_hour, c.until - r.started_at)
                   - accrued(r.micros_per_hour, c.since - r.started_at)) FILTER (WHERE c.until > c.since), 0), 9e18)::bigint,
                least(coalesce(sum(r.micros_per_hour) FILTER (WHERE r.ended_at IS NULL), 0), 9e18)::bigint,
                count(*) FILTER (WHERE r.ended_at IS NULL)
         FROM project_runs($1, $2, coalesce($3, '-infinity')) r
         CROSS JOIN LATERAL (SELECT greatest($3, r.started_at) AS since,
           least($4, r.ended_at, greatest(app_now(), r.started_at)) AS until) c",
    )
    .bind(project.uuid())
    .bind(currency)
    .bind(span.since.map(clock::bind))
    .bind(span.until.map(clock::bind))
    .fetch_one(tx.conn())
    .await?;
    Ok(Use { spent: spent.into(), burn: burn.into(), running: running.into() })
}

/// What was used, what was asked for before, and what one request may use.
pub struct Sums {
    pub spent: i128,
    pub held: i128,
    pub asked: i128,
}

pub async fn sums(tx: &mut Tx, asked: &Asked, span: Span) -> sqlx::Result<Sums> {
    let currency = asked.currency.as_str();
    let spent = used(tx, asked.project, currency, span).await?.spent;
    let own = Some(asked.allocation.uuid());
    let (held, asked) = may_use(tx, (asked.project, currency), span, asked.window_minutes, own).await?;
    Ok(Sums { spent, held, asked })
}

/// What the project may use besides until the period ends.
pub async fn held(tx: &mut Tx, known: &Known, span: Span, window_minutes: u64) -> sqlx::Result<i128> {
    let place = (known.project, known.currency.as_str());
    Ok(may_use(tx, place, span, window_minutes, None).await?.0)
}

/// What the allocations of a project may use from now until the period ends: what
/// runs until its lease or window ends, the rest as if it started now, at today's
/// price. One of them is told apart.
async fn may_use(
    tx: &mut Tx,
    (project, currency): (ProjectId, &str),
    span: Span,
    window_minutes: u64,
    own: Option<Uuid>,
) -> sqlx::Result<(i128, i128)> {
    let (held, asked): (i64, i64) = sqlx::query_as(
        "SELECT least(coalesce(sum(may.amount) FILTER (WHERE a.id IS DISTINCT FROM $5), 0), 9e18)::bigint,
                least(coalesce(sum(may.amount) FILTER (WHERE a.id = $5), 0), 9e18)::bigint
         FROM allocations a
         LEFT JOIN LATERAL (SELECT u.at, u.micros_per_hour FROM usage u
           WHERE a.state = 'active' AND u.organization_id = a.organization_id AND u.allocation_id = a.id
           ORDER BY u.version DESC LIMIT 1) run ON true
         LEFT JOIN LATERAL (SELECT p.price_micros_per_gpu_hour * a.gpus * a.nodes AS micros_per_hour FROM prices p
           WHERE a.state <> 'active' AND p.sku_id = a.sku_id AND p.currency = a.currency AND p.effective_at <= app_now()
           ORDER BY p.effective_at DESC, p.version DESC LIMIT 1) price ON true
         CROSS JOIN LATERAL (SELECT coalesce(run.at, app_now()) AS begins, greatest(app_now(), run.at) AS now,
           coalesce(run.micros_per_hour, price.micros_per_hour, 0) AS rate) m
         CROSS JOIN LATERAL (SELECT least($4, coalesce(a.lease_ends_at,
           m.begins + make_interval(mins => coalesce(a.lease_minutes, $3)))) AS ends) e
         CROSS JOIN LATERAL (SELECT accrued(m.rate, e.ends - m.begins) - accrued(m.rate, m.now - m.begins) AS amount
           WHERE e.ends > m.now) may
         WHERE a.project_id = $1 AND a.currency = $2 AND a.state NOT IN ('releasing', 'released', 'release_failed', 'failed')",
    )
    .bind(project.uuid())
    .bind(currency)
    .bind(i32::try_from(window_minutes).unwrap_or(i32::MAX))
    .bind(span.until.map(clock::bind))
    .bind(own)
    .fetch_one(tx.conn())
    .await?;
    Ok((held.into(), asked.into()))
}

/// Notes that these thresholds were told of; answers which were not before.
pub async fn tell(tx: &mut Tx, known: &Known, span: Span, reached: &[u16]) -> sqlx::Result<Vec<u16>> {
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
pub async fn told(tx: &mut Tx, id: BudgetId, span: Span) -> sqlx::Result<Option<u16>> {
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
         WHERE EXISTS (SELECT FROM allocations a WHERE a.project_id = b.project_id AND a.state = 'active') LIMIT $1",
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

fn found(row: Row) -> sqlx::Result<Found> {
    let known = Known {
        id: row.id.into(),
        organization: row.organization_id.into(),
        project: row.project_id.into(),
        amount_micros: row.amount_micros,
        currency: platform::rows::text(&row.currency)?,
        period: platform::rows::known(&row.period)?,
        thresholds: percents(row.thresholds),
        version: row.version,
    };
    Ok(Found { known, mode: platform::rows::known(&row.mode)?, created_at: row.created_at.to_jiff() })
}
