//! Sums over `usage`.

use contract::{
    Label, Timestamp,
    id::{OrganizationId, ProjectId},
    usage::{UsageBy, UsageLine},
};
use kernel::{Tx, clock};

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
