//! Sums over `usage`.

use std::collections::BTreeMap;

use contract::{
    Label, Timestamp,
    id::{OrganizationId, ProjectId},
    usage::{Charge, UsageBy, UsageLine},
};
use kernel::{Tx, clock};
use sqlx::types::Json;
use uuid::Uuid;

use crate::invoices::Period;

/// How usage is cut, and when it was used.
pub struct Cut<'a> {
    pub by: UsageBy,
    pub tag: Option<&'a Label>,
    pub project: Option<ProjectId>,
    pub since: Timestamp,
    pub until: Timestamp,
}

type Row = (String, String, i64, i64, i64);

/// Amounts are taken from the start of each interval, so that the days of a
/// month sum to the month, and months to what was posted.
pub async fn lines(
    tx: &mut Tx,
    organization: OrganizationId,
    cut: Cut<'_>,
    limit: i64,
) -> sqlx::Result<Vec<UsageLine>> {
    let (key, pieces) = match cut.by {
        UsageBy::Project => ("(SELECT name FROM projects p WHERE p.id = run.project_id)", WHOLE),
        UsageBy::Sku => ("(SELECT name FROM skus s WHERE s.id = run.sku_id)", WHOLE),
        UsageBy::Tag => ("coalesce(run.tags ->> $5, '')", WHOLE),
        UsageBy::Day => ("to_char(piece.since AT TIME ZONE 'UTC', 'YYYY-MM-DD')", DAYS),
    };
    let order = if cut.by == UsageBy::Day { "1, 2" } else { "4 DESC, 1, 2" };
    let statement = format!(
        "WITH runs AS (
           SELECT s.*, NULL::timestamptz AS ended FROM allocations a CROSS JOIN LATERAL (SELECT u.* FROM usage u
             WHERE u.organization_id = a.organization_id AND u.allocation_id = a.id ORDER BY u.version DESC LIMIT 1) s
           WHERE a.organization_id = $1 AND a.state = 'active' AND s.kind = 'start'
           UNION ALL
           SELECT s.*, e.at FROM usage e
           JOIN usage s ON s.organization_id = e.organization_id AND s.allocation_id = e.allocation_id AND s.version = e.interval
           WHERE e.organization_id = $1 AND e.kind = 'end' AND e.at > $2)
         SELECT {key} AS key, run.currency,
           sum(run.gpus * extract(epoch FROM clipped.until - clipped.since))::bigint,
           sum(accrued(run.micros_per_hour, clipped.until - run.at) - accrued(run.micros_per_hour, clipped.since - run.at))::bigint,
           count(DISTINCT (run.allocation_id, run.version))
         FROM runs run CROSS JOIN LATERAL ({pieces}) AS piece (since, until)
         CROSS JOIN LATERAL (SELECT greatest(piece.since, run.at) AS since,
           least(piece.until, run.ended, greatest(app_now(), run.at)) AS until) AS clipped
         WHERE run.at < $3 AND ($4::uuid IS NULL OR run.project_id = $4) AND clipped.until > clipped.since AND ($5::text IS NULL OR true)
         GROUP BY 1, 2 ORDER BY {order} LIMIT $6"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organization.uuid())
        .bind(clock::bind(cut.since))
        .bind(clock::bind(cut.until))
        .bind(cut.project.map(|it| it.uuid()))
        .bind(cut.tag.map(Label::as_str))
        .bind(limit)
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter()
        .map(|(key, currency, gpu_seconds, amount_micros, intervals)| {
            let currency = crate::rows::text(&currency)?;
            Ok(UsageLine { key, currency, gpu_seconds, amount_micros, intervals })
        })
        .collect()
}

/// The period as one piece.
const WHOLE: &str = "VALUES ($2::timestamptz, $3::timestamptz)";

/// The period day by day.
const DAYS: &str = "SELECT greatest(day AT TIME ZONE 'UTC', $2), least((day + '1 day') AT TIME ZONE 'UTC', $3)
    FROM generate_series(date_trunc('day', greatest($2, run.at) AT TIME ZONE 'UTC'),
      least($3, run.ended, app_now()) AT TIME ZONE 'UTC', '1 day') AS day";

pub async fn posted_to(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<Timestamp> {
    let moment: jiff_sqlx::Timestamp = sqlx::query_scalar("SELECT posted_to FROM books WHERE organization_id = $1")
        .bind(organization.uuid())
        .fetch_one(tx.conn())
        .await?;
    Ok(moment.to_jiff())
}

#[derive(sqlx::FromRow)]
struct ChargeRow {
    allocation_id: Uuid,
    of_interval: i64,
    project_id: Uuid,
    project: String,
    sku_id: Uuid,
    sku: String,
    region: Option<String>,
    gpus: i32,
    from_at: jiff_sqlx::Timestamp,
    to_at: jiff_sqlx::Timestamp,
    gpu_micros: i64,
    currency: String,
    price_id: Option<Uuid>,
    price: i64,
    amount: i64,
    tags: Json<BTreeMap<String, String>>,
    invoice: Option<String>,
}

/// What each interval came to in a period, in the order of their names.
pub async fn charges(
    tx: &mut Tx,
    organization: OrganizationId,
    period: Period,
    after: Option<(Uuid, i64)>,
    limit: i64,
) -> sqlx::Result<Vec<Charge>> {
    let rows: Vec<ChargeRow> = sqlx::query_as(
        "SELECT c.allocation_id, c.of_interval, c.project_id, p.name AS project, c.sku_id, s.name AS sku, r.name AS region, c.gpus,
           c.from_at, c.to_at, c.gpus * (epoch_us(c.to_at) - epoch_us(c.from_at)) AS gpu_micros, c.currency, c.price_id,
           c.micros_per_hour / c.gpus AS price, c.amount, c.tags, i.number AS invoice
         FROM charges($1, $2, $3) c JOIN projects p ON p.id = c.project_id JOIN skus s ON s.id = c.sku_id
         JOIN allocations a ON a.organization_id = $1 AND a.id = c.allocation_id LEFT JOIN regions r ON r.id = a.region_id
         LEFT JOIN invoices i ON i.organization_id = $1 AND i.kind = 'invoice' AND i.period_start = $2 AND i.currency = c.currency
         WHERE $4::uuid IS NULL OR (c.allocation_id, c.of_interval) > ($4, $5::bigint)
         ORDER BY c.allocation_id, c.of_interval LIMIT $6",
    )
    .bind(organization.uuid())
    .bind(clock::bind(period.start))
    .bind(clock::bind(period.end))
    .bind(after.map(|it| it.0))
    .bind(after.map(|it| it.1))
    .bind(limit)
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter().map(charge).collect()
}

fn charge(row: ChargeRow) -> sqlx::Result<Charge> {
    Ok(Charge {
        allocation_id: row.allocation_id.into(),
        interval: row.of_interval,
        project_id: row.project_id.into(),
        project: row.project,
        sku_id: row.sku_id.into(),
        sku: row.sku,
        region: row.region,
        gpus: row.gpus,
        from: row.from_at.to_jiff(),
        to: row.to_at.to_jiff(),
        gpu_micros: row.gpu_micros,
        currency: crate::rows::text(&row.currency)?,
        price_id: row.price_id.map(Into::into),
        price_micros_per_gpu_hour: row.price,
        amount_micros: row.amount,
        tags: row.tags.0,
        invoice: row.invoice,
    })
}
