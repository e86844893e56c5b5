//! The rows of `usage` and `open_intervals`. Each function is one statement, however
//! many marks it writes. It comes after the locks, so that its snapshot and its
//! clock do.

use contract::Word;
use kernel::Tx;
use serde_json::{Value, json};
use sqlx::types::Json;
use uuid::Uuid;

use super::{Affected, Stop, Used};

/// Makes a posting, and whoever sets a price of a SKU, wait until the commit; and
/// others who count the same subjects. A mark lies after any posting and any price
/// that committed before it was locked.
pub async fn lock(tx: &mut Tx, organizations: &[Uuid], skus: &[Uuid], counted: &[Uuid]) -> sqlx::Result<()> {
    // In one order for everybody, so that no two wait for each other.
    sqlx::query(
        "SELECT CASE WHEN rank = 3 THEN pg_advisory_xact_lock(key) ELSE pg_advisory_xact_lock_shared(key) END
         FROM (SELECT 1 AS rank, books_key(id) AS key FROM unnest($1::uuid[]) AS id
               UNION ALL SELECT 2, price_key(id) FROM unnest($2::uuid[]) AS id
               UNION ALL SELECT 3, hashtextextended('count:' || id, 0) FROM unnest($3::uuid[]) AS id
               ORDER BY 1, 2 OFFSET 0) AS keys",
    )
    .bind(organizations)
    .bind(skus)
    .bind(counted)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Starts intervals; where they `continue`, at the moment of the last mark. Without a price they are free.
pub async fn start(tx: &mut Tx, used: &[Used], continues: bool) -> sqlx::Result<Vec<Affected>> {
    // `begun` is materialized because the clock must be read once: the moment that finds the price is
    // the one that is written. Accounts are looked up first, because an insert that conflicts takes
    // a number of the sequence, too. A hold is consumed from here on at the price of the mark,
    // which may be newer than that of the request, and no longer than the usage can last.
    let rows: Vec<(bool, Uuid)> = sqlx::query_as(
        "WITH begun AS MATERIALIZED (
           SELECT w.*, coalesce(last.number, 0) + 1 AS number,
             CASE WHEN $3 THEN last.at ELSE greatest(app_clock(), b.posted_to, last.at) END AS at
           FROM jsonb_to_recordset($1) AS w (organization_id uuid, subject_kind text, subject_id uuid, meter text, project_id uuid,
             allocation_id uuid, volume_id uuid, app_instance_id uuid, deployment_id uuid, component text, operating_mode text,
             sku_id uuid, unit text, price_kind text, quantity bigint, currency text, tags jsonb, nodes uuid[], ends_at timestamptz, cause text)
           JOIN books b USING (organization_id)
           LEFT JOIN LATERAL (SELECT number, at FROM usage u WHERE u.organization_id = w.organization_id AND u.subject_id = w.subject_id
             AND u.meter = w.meter ORDER BY u.number DESC LIMIT 1) last ON true),
         priced AS MATERIALIZED (
           SELECT begun.*, p.id AS price_id, coalesce(p.price_micros, 0) AS price_micros, coalesce(p.price_micros, 0) * quantity AS micros_per_hour
           FROM begun LEFT JOIN LATERAL price_in_force(begun.sku_id, begun.unit, begun.price_kind, begun.currency, begun.at) p ON true),
         marks AS (
           INSERT INTO usage (organization_id, subject_kind, subject_id, meter, number, kind, at, interval, project_id, allocation_id,
             volume_id, app_instance_id, deployment_id, component, operating_mode, correlation_id, sku_id, unit, price_kind, quantity,
             currency, price_id, price_micros, per_units, micros_per_hour, amount, nodes, tags, cause)
           SELECT organization_id, subject_kind, subject_id, meter, number, 'start', at, number, project_id, allocation_id,
             volume_id, app_instance_id, deployment_id, component, operating_mode, $2, sku_id, unit, price_kind, quantity,
             currency, price_id, price_micros, 1, micros_per_hour, 0, nodes, tags, cause FROM priced),
         opened AS (
           INSERT INTO open_intervals (organization_id, subject_id, meter, interval, project_id, ends_at)
           SELECT organization_id, subject_id, meter, number, project_id, ends_at FROM priced),
         accounts AS (
           INSERT INTO accounts (organization_id, kind, subject, currency)
           SELECT DISTINCT p.organization_id, wanted.kind, wanted.subject, p.currency
           FROM priced p CROSS JOIN LATERAL (VALUES ('wallet', ''), ('revenue', p.sku_id::text)) AS wanted (kind, subject)
           WHERE p.micros_per_hour > 0 AND NOT EXISTS (SELECT FROM accounts a WHERE a.organization_id = p.organization_id
             AND a.kind = wanted.kind AND a.subject = wanted.subject AND a.currency = p.currency)
           ON CONFLICT DO NOTHING),
         added AS (
           INSERT INTO wallets (organization_id, currency)
           SELECT DISTINCT organization_id, currency FROM priced p WHERE micros_per_hour > 0
             AND NOT EXISTS (SELECT FROM wallets w WHERE w.organization_id = p.organization_id AND w.currency = p.currency)
           ON CONFLICT DO NOTHING RETURNING id),
         held AS (
           UPDATE holds h SET held_to = greatest(p.at, least(p.at + make_interval(secs => h.seconds), p.ends_at)),
             micros_per_hour = CASE WHEN p.micros_per_hour > 0 THEN p.micros_per_hour ELSE h.micros_per_hour END
           FROM priced p WHERE h.organization_id = p.organization_id AND h.subject_id = p.subject_id AND h.meter = p.meter)
         SELECT true, id FROM added
         UNION ALL SELECT true, w.id FROM wallets w
           WHERE (w.organization_id, w.currency) IN (SELECT organization_id, currency FROM priced WHERE micros_per_hour > 0)
         UNION ALL SELECT false, b.id FROM budgets b WHERE b.project_id IN (SELECT project_id FROM priced)",
    )
    .bind(Json(records(used)))
    .bind(tx.cause.to_string())
    .bind(continues)
    .fetch_all(tx.conn())
    .await?;
    Ok(woken(rows))
}

/// Ends open intervals, at their limit if that is over; never before what is posted
/// already: what is charged beyond the limit is refunded by a journal.
pub async fn stop(tx: &mut Tx, stops: &[Stop]) -> sqlx::Result<Vec<Affected>> {
    let rows: Vec<(bool, Uuid)> = sqlx::query_as(
        "WITH wanted AS (
           SELECT * FROM jsonb_to_recordset($1) AS w (organization_id uuid, subject_id uuid, meter text, no_later_than timestamptz,
             keeps_hold boolean, ended_by text)),
         ended AS MATERIALIZED (
           SELECT s.*, w.ended_by, w.no_later_than, b.posted_to, greatest(app_clock(), b.posted_to, s.at) AS moment
           FROM wanted w JOIN open_intervals o USING (organization_id, subject_id, meter)
           JOIN usage s ON s.organization_id = o.organization_id AND s.subject_id = o.subject_id AND s.meter = o.meter AND s.number = o.interval
           JOIN books b ON b.organization_id = o.organization_id),
         marks AS (
           INSERT INTO usage (organization_id, subject_kind, subject_id, meter, number, kind, at, interval, project_id, allocation_id,
             volume_id, app_instance_id, deployment_id, component, operating_mode, correlation_id, sku_id, unit, price_kind, quantity,
             currency, price_id, price_micros, per_units, micros_per_hour, amount, nodes, tags, cause)
           SELECT organization_id, subject_kind, subject_id, meter, number + 1, 'end',
             CASE WHEN no_later_than < moment THEN greatest(no_later_than, posted_to, at) ELSE moment END, number, project_id, allocation_id,
             volume_id, app_instance_id, deployment_id, component, operating_mode, $2, sku_id, unit, price_kind, quantity,
             currency, price_id, price_micros, per_units, micros_per_hour, amount, nodes, tags, ended_by FROM ended),
         closed AS (
           DELETE FROM open_intervals o USING ended e
           WHERE o.organization_id = e.organization_id AND o.subject_id = e.subject_id AND o.meter = e.meter),
         whole AS (
           UPDATE holds h SET held_to = NULL FROM wanted w
           WHERE w.keeps_hold AND h.organization_id = w.organization_id AND h.subject_id = w.subject_id AND h.meter = w.meter),
         released AS (
           DELETE FROM holds h USING wanted w
           WHERE NOT w.keeps_hold AND h.organization_id = w.organization_id AND h.subject_id = w.subject_id AND h.meter = w.meter)
         SELECT true, w.id FROM wallets w
           WHERE (w.organization_id, w.currency) IN (SELECT organization_id, currency FROM ended WHERE micros_per_hour > 0)
         UNION ALL SELECT false, b.id FROM budgets b WHERE b.project_id IN (SELECT project_id FROM ended)",
    )
    .bind(Json(stops.iter().map(stop_record).collect::<Vec<_>>()))
    .bind(tx.cause.to_string())
    .fetch_all(tx.conn())
    .await?;
    Ok(woken(rows))
}

/// Counts quantities. A count goes on with the interval of the one before if it has the same price and
/// belongs to the same; amounts are differences of the totals' costs, so that no fraction of
/// a price is lost between counts.
pub async fn count(tx: &mut Tx, used: &[Used]) -> sqlx::Result<Vec<Affected>> {
    let rows: Vec<(bool, Uuid)> = sqlx::query_as(
        "WITH counted_now AS MATERIALIZED (
           SELECT w.*, last.number AS last_number, last.interval AS last_interval, last.total AS last_total, last.price_id AS last_price,
             (last.project_id, last.sku_id, last.price_kind, last.currency, last.tags) IS NOT DISTINCT FROM
               (w.project_id, w.sku_id, w.price_kind, w.currency, w.tags)
             AND (last.allocation_id, last.volume_id, last.app_instance_id, last.deployment_id, last.component, last.operating_mode)
               IS NOT DISTINCT FROM (w.allocation_id, w.volume_id, w.app_instance_id, w.deployment_id, w.component, w.operating_mode) AS is_alike,
             greatest(app_clock(), b.posted_to, last.at) AS at
           FROM jsonb_to_recordset($1) AS w (organization_id uuid, subject_kind text, subject_id uuid, meter text, project_id uuid,
             allocation_id uuid, volume_id uuid, app_instance_id uuid, deployment_id uuid, component text, operating_mode text,
             sku_id uuid, unit text, price_kind text, quantity bigint, currency text, tags jsonb, nodes uuid[], cause text)
           JOIN books b USING (organization_id)
           LEFT JOIN LATERAL (SELECT * FROM usage u WHERE u.organization_id = w.organization_id AND u.subject_id = w.subject_id
             AND u.meter = w.meter ORDER BY u.number DESC LIMIT 1) last ON true),
         priced AS MATERIALIZED (
           SELECT c.*, p.id AS price_id, coalesce(p.price_micros, 0) AS price_micros, coalesce(p.per_units, 1) AS per_units,
             coalesce(last_number, 0) + 1 AS number, (is_alike AND last_price IS NOT DISTINCT FROM p.id) AS goes_on
           FROM counted_now c LEFT JOIN LATERAL price_in_force(c.sku_id, c.unit, c.price_kind, c.currency, c.at) p ON true),
         summed AS MATERIALIZED (
           SELECT priced.*, CASE WHEN goes_on THEN last_interval ELSE number END AS interval,
             CASE WHEN goes_on THEN last_total ELSE 0 END + quantity AS total FROM priced),
         marks AS (
           INSERT INTO usage (organization_id, subject_kind, subject_id, meter, number, kind, at, interval, project_id, allocation_id,
             volume_id, app_instance_id, deployment_id, component, operating_mode, correlation_id, sku_id, unit, price_kind, quantity, total,
             currency, price_id, price_micros, per_units, micros_per_hour, amount, nodes, tags, cause)
           SELECT organization_id, subject_kind, subject_id, meter, number, 'count', at, interval, project_id, allocation_id,
             volume_id, app_instance_id, deployment_id, component, operating_mode, $2, sku_id, unit, price_kind, quantity, total,
             currency, price_id, price_micros, per_units, 0,
             counted(price_micros, per_units, total) - counted(price_micros, per_units, total - quantity), nodes, tags, cause FROM summed),
         accounts AS (
           INSERT INTO accounts (organization_id, kind, subject, currency)
           SELECT DISTINCT p.organization_id, wanted.kind, wanted.subject, p.currency
           FROM summed p CROSS JOIN LATERAL (VALUES ('wallet', ''), ('revenue', p.sku_id::text)) AS wanted (kind, subject)
           WHERE p.price_micros > 0 AND NOT EXISTS (SELECT FROM accounts a WHERE a.organization_id = p.organization_id
             AND a.kind = wanted.kind AND a.subject = wanted.subject AND a.currency = p.currency)
           ON CONFLICT DO NOTHING),
         added AS (
           INSERT INTO wallets (organization_id, currency)
           SELECT DISTINCT organization_id, currency FROM summed p WHERE price_micros > 0
             AND NOT EXISTS (SELECT FROM wallets w WHERE w.organization_id = p.organization_id AND w.currency = p.currency)
           ON CONFLICT DO NOTHING RETURNING id)
         SELECT true, id FROM added
         UNION ALL SELECT true, w.id FROM wallets w
           WHERE (w.organization_id, w.currency) IN (SELECT organization_id, currency FROM summed WHERE price_micros > 0)
         UNION ALL SELECT false, b.id FROM budgets b WHERE b.project_id IN (SELECT project_id FROM summed)",
    )
    .bind(Json(records(used)))
    .bind(tx.cause.to_string())
    .fetch_all(tx.conn())
    .await?;
    Ok(woken(rows))
}

fn records(used: &[Used]) -> Vec<Value> {
    used.iter()
        .map(|it| {
            json!({
                "organization_id": it.subject.organization.uuid(),
                "subject_kind": it.subject.meter.subject,
                "subject_id": it.subject.id,
                "meter": it.subject.meter.name,
                "project_id": it.project.uuid(),
                "allocation_id": it.parents.allocation,
                "volume_id": it.parents.volume,
                "app_instance_id": it.parents.app_instance,
                "deployment_id": it.parents.deployment,
                "component": it.parents.component,
                "operating_mode": it.parents.operating_mode,
                "sku_id": it.sku.uuid(),
                "unit": it.subject.meter.unit.as_str(),
                "price_kind": it.price_kind.as_str(),
                "quantity": it.quantity,
                "currency": it.currency.as_str(),
                "tags": it.tags,
                "nodes": it.nodes,
                "ends_at": it.ends_at,
                "cause": it.cause,
            })
        })
        .collect()
}

fn stop_record(it: &Stop) -> Value {
    json!({
        "organization_id": it.subject.organization.uuid(),
        "subject_id": it.subject.id,
        "meter": it.subject.meter.name,
        "no_later_than": it.no_later_than,
        "keeps_hold": it.keeps_hold,
        "ended_by": it.cause,
    })
}

fn woken(rows: Vec<(bool, Uuid)>) -> Vec<Affected> {
    rows.into_iter()
        .map(|(is_wallet, id)| if is_wallet { Affected::Wallet(id) } else { Affected::Budget(id) })
        .collect()
}
