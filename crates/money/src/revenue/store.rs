//! Sums over `entries`, `usage` and `slots`, of all organizations.

use contract::{
    Timestamp,
    revenue::{RevenueLine, UtilizationLine},
};
use kernel::{Tx, clock};
use uuid::Uuid;

type RevenueColumns = (String, Uuid, String, String, i64);

/// A journal that takes another back has the same accounts with the other sign,
/// so that the lines of a period sum to what the revenue accounts changed by in it.
pub async fn revenue(tx: &mut Tx, since: Timestamp, until: Timestamp, limit: i64) -> sqlx::Result<Vec<RevenueLine>> {
    let rows: Vec<RevenueColumns> = sqlx::query_as(
        "SELECT to_char(j.at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), s.id, s.name, e.currency, sum(e.amount)::bigint
         FROM journals j JOIN entries e ON e.organization_id = j.organization_id AND e.number = j.number
         JOIN accounts a ON a.id = e.account_id AND a.kind = 'revenue' JOIN skus s ON s.id::text = a.subject
         WHERE j.at >= $1 AND j.at < $2 GROUP BY 1, 2, 3, 4 ORDER BY 1, 3, 4 LIMIT $3",
    )
    .bind(clock::bind(since))
    .bind(clock::bind(until))
    .bind(limit)
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter()
        .map(|(day, sku_id, sku, currency, amount_micros)| {
            let currency = platform::rows::text(&currency)?;
            Ok(RevenueLine { day, sku_id: sku_id.into(), sku, currency, amount_micros })
        })
        .collect()
}

/// A GPU was there from when its node enrolled until it retired; one that the
/// host no longer reports is not counted. Sold is what `usage` says of it.
pub async fn utilization(tx: &mut Tx, since: Timestamp, until: Timestamp) -> sqlx::Result<Vec<UtilizationLine>> {
    let rows: Vec<(String, i64, i64)> = sqlx::query_as(
        "WITH days AS MATERIALIZED (
           SELECT to_char(day, 'YYYY-MM-DD') AS day, greatest(day AT TIME ZONE 'UTC', $1) AS since,
             least((day + '1 day') AT TIME ZONE 'UTC', $2, app_now()) AS until
           FROM generate_series(date_trunc('day', $1 AT TIME ZONE 'UTC'), $2 AT TIME ZONE 'UTC', '1 day') AS day
           WHERE day AT TIME ZONE 'UTC' < $2),
         there AS MATERIALIZED (
           SELECT n.created_at AS began, CASE WHEN n.state = 'retired' THEN n.state_since END AS ended, count(*) AS gpus
           FROM nodes n JOIN slots s ON s.node_id = n.id AND s.condition <> 'missing'
           WHERE n.created_at < $2 AND (n.state <> 'retired' OR n.state_since > $1) GROUP BY n.id),
         runs AS MATERIALIZED (
           SELECT s.at AS began, NULL::timestamptz AS ended, s.quantity AS gpus FROM open_intervals o
           JOIN usage s ON s.organization_id = o.organization_id AND s.subject_id = o.subject_id AND s.meter = o.meter AND s.number = o.interval
           WHERE s.unit = 'gpu_hour'
           UNION ALL
           -- Not from `intervals`: of all organizations, only an organization at a time lets the index on time be used.
           SELECT s.at, e.at, s.quantity FROM organizations o
           CROSS JOIN LATERAL (SELECT * FROM usage u WHERE u.organization_id = o.id AND u.at > $1 AND u.kind = 'end' AND u.unit = 'gpu_hour') e
           JOIN usage s ON s.organization_id = e.organization_id AND s.subject_id = e.subject_id AND s.meter = e.meter AND s.number = e.interval
           WHERE s.at < $2),
         spans AS MATERIALIZED (SELECT began, ended, gpus, true AS is_sold FROM runs UNION ALL SELECT began, ended, gpus, false FROM there)
         SELECT days.day, coalesce(sum(seconds) FILTER (WHERE is_sold), 0)::bigint, coalesce(sum(seconds) FILTER (WHERE NOT is_sold), 0)::bigint
         FROM days LEFT JOIN LATERAL (
           SELECT is_sold, gpus * extract(epoch FROM least(days.until, ended) - greatest(days.since, began)) AS seconds
           FROM spans WHERE began < days.until AND (ended IS NULL OR ended > days.since)) AS piece ON true
         GROUP BY days.day ORDER BY days.day",
    )
    .bind(clock::bind(since))
    .bind(clock::bind(until))
    .fetch_all(tx.conn())
    .await?;
    let line =
        |(day, sold_gpu_seconds, there_gpu_seconds)| UtilizationLine { day, sold_gpu_seconds, there_gpu_seconds };
    Ok(rows.into_iter().map(line).collect())
}
