//! Closing windows: from marks to journals, in one statement.

use contract::id::OrganizationId;
use kernel::Tx;
use uuid::Uuid;

use crate::ledger;

/// What closing a window came to.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct PostingOutcome {
    /// The journal, if there was anything to say.
    pub number: Option<i64>,
    /// Its hash, hexadecimal.
    pub hash: Option<String>,
    /// Nothing was posted in this hour before.
    pub is_first_of_hour: bool,
    /// It ended with a month, and there is more of the next.
    pub is_behind: bool,
    /// How many intervals were charged.
    pub lines: i64,
    /// How many intervals are still open.
    pub open: i64,
}

/// Posts an organization's usage up to now, or to the end of the month in which
/// it was posted last: no journal is of two months. A window without marks or
/// amounts leaves no journal. Nothing when it has no books.
pub async fn close(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<Option<PostingOutcome>> {
    if !ledger::lock(tx, organization).await? {
        return Ok(None);
    }
    // The snapshot and the clock of this statement come after the lock. It is one statement
    // because marks of the organization wait for the lock until the commit: a round trip per
    // stage would make them wait longer.
    //
    // `book` and `spans` are materialized because their functions must run once: the
    // moment and the id that are hashed must be those that are written. OFFSET 0 keeps the
    // planner from computing the clock in each place that uses it.
    //
    // An amount is the difference of two sums from the start of its interval: what is cut off by
    // rounding in one window comes in a later one, and nothing is lost or charged twice. What was
    // counted carries such a difference in its mark; all counts of an interval make one line.
    //
    // Accounts are joined from the left. A missing one makes a line without an account, which the
    // table refuses; an inner join would silently charge nothing.
    //
    // `sealed` hashes the lines before they are inserted, because the hash stands in the
    // journal's own row and no row may change later.
    sqlx::query_as(
        "WITH book AS MATERIALIZED (
           SELECT gen_random_uuid() AS id, posted_to, journals + 1 AS number, hash, moment, least(moment, month_after(posted_to)) AS now
           FROM (SELECT *, greatest(app_clock(), posted_to) AS moment FROM books WHERE organization_id = $1 OFFSET 0) b),
         spans AS MATERIALIZED (
           SELECT subject_id, meter, interval AS of_interval, sku_id, currency, micros_per_hour, amount AS counted, started_at, ended_at, is_open
           FROM intervals WHERE organization_id = $1 AND closed_at >= (SELECT posted_to FROM book)),
         amounts AS (
           SELECT subject_id, meter, of_interval, sku_id, currency, sum(counted + accrued(micros_per_hour, least(ended_at, now) - started_at)
             - accrued(micros_per_hour, greatest(posted_to, started_at) - started_at)) AS amount
           FROM spans, book WHERE (micros_per_hour > 0 OR counted > 0) AND least(ended_at, now) > greatest(posted_to, started_at)
           GROUP BY 1, 2, 3, 4, 5),
         priced AS MATERIALIZED (
           SELECT (row_number() OVER (ORDER BY x.subject_id, x.meter COLLATE \"C\", x.of_interval))::integer AS line, a.id AS account_id, x.currency,
             x.amount::bigint, x.subject_id, x.meter, x.of_interval
           FROM amounts x LEFT JOIN accounts a
             ON a.organization_id = $1 AND a.kind = 'revenue' AND a.subject = x.sku_id::text AND a.currency = x.currency
           WHERE x.amount > 0),
         lines AS MATERIALIZED (
           SELECT * FROM priced
           UNION ALL
           SELECT ((SELECT count(*) FROM priced) + row_number() OVER (ORDER BY p.currency))::integer, w.id, p.currency,
             -sum(p.amount)::bigint, NULL, NULL, NULL
           FROM priced p LEFT JOIN accounts w
             ON w.organization_id = $1 AND w.kind = 'wallet' AND w.subject = '' AND w.currency = p.currency
           GROUP BY p.currency, w.id),
         marks AS (
           SELECT count(*) AS count, coalesce(string_agg(usage_text(u), E'\\n' ORDER BY u.at, u.subject_id, u.meter COLLATE \"C\", u.number), '') AS text
           FROM usage u, book WHERE u.organization_id = $1 AND u.at >= book.posted_to AND u.at < book.now),
         sealed AS MATERIALIZED (
           SELECT book.id, book.number, journal_hash(book.hash,
             journal_head($1, book.number, book.id, 'usage', book.moment, book.posted_to, book.now, $2, '', NULL, NULL),
             coalesce((SELECT string_agg(entry_text(line, account_id, currency, amount, subject_id, meter, of_interval), E'\\n' ORDER BY line)
               FROM lines), ''), marks.text) AS hash
           FROM book, marks WHERE marks.count > 0 OR EXISTS (SELECT FROM lines)),
         journal AS (
           INSERT INTO journals (organization_id, number, id, kind, at, from_at, to_at, actor, hash)
           SELECT $1, sealed.number, sealed.id, 'usage', book.moment, book.posted_to, book.now, $2, sealed.hash FROM sealed, book),
         posted AS (
           INSERT INTO entries (organization_id, number, line, account_id, currency, amount, subject_id, meter, interval)
           SELECT $1, sealed.number, lines.* FROM lines, sealed)
         UPDATE books SET posted_to = book.now, journals = coalesce(sealed.number, books.journals), hash = coalesce(sealed.hash, books.hash)
         FROM book LEFT JOIN sealed ON true WHERE books.organization_id = $1
         RETURNING sealed.number, encode(sealed.hash, 'hex') AS hash, date_trunc('hour', book.posted_to) <> date_trunc('hour', book.now) AS is_first_of_hour,
           book.now < book.moment AS is_behind, (SELECT count(*) FROM priced) AS lines, (SELECT count(*) FROM spans WHERE is_open) AS open",
    )
    .bind(organization.uuid())
    .bind(tx.actor.as_str().to_owned())
    .fetch_optional(tx.conn())
    .await
}

/// Organizations whose windows nobody closed for a while although they use something.
pub async fn overdue(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT b.organization_id FROM books b
         WHERE EXISTS (SELECT FROM open_intervals o WHERE o.organization_id = b.organization_id)
           OR EXISTS (SELECT FROM usage u WHERE u.organization_id = b.organization_id AND u.at >= b.posted_to) LIMIT $1",
    )
    .bind(limit)
    .fetch_all(tx.conn())
    .await
}
