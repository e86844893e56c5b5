//! The rows of `books`, `accounts`, `journals`, `entries` and `checkpoints`.

use contract::{
    Timestamp,
    id::{JournalId, OrganizationId},
    ledger::{JournalFilter, WalletChange},
};
use kernel::{
    Tx,
    money::{Currency, Money},
};
use sqlx::types::Json;
use uuid::Uuid;

use super::{
    AccountKind, Journal, Line,
    lost::{Excess, LOST_HOST},
};

/// Makes postings and marks of an organization wait, until the commit. Says
/// whether it has books.
pub async fn lock(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<bool> {
    sqlx::query("SELECT pg_advisory_xact_lock(books_key($1))").bind(organization.uuid()).execute(tx.conn()).await?;
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM books WHERE organization_id = $1)")
        .bind(organization.uuid())
        .fetch_one(tx.conn())
        .await
}

pub async fn by_reference(
    tx: &mut Tx,
    organization: OrganizationId,
    reference: &str,
) -> sqlx::Result<Option<(JournalId, i64, String)>> {
    let found: Option<(Uuid, i64, String)> =
        sqlx::query_as("SELECT id, number, kind FROM journals WHERE organization_id = $1 AND reference = $2")
            .bind(organization.uuid())
            .bind(reference)
            .fetch_optional(tx.conn())
            .await?;
    Ok(found.map(|(id, number, kind)| (id.into(), number, kind)))
}

/// Columns of lines, as statements unnest them.
struct Columns {
    kinds: Vec<String>,
    subjects: Vec<String>,
    currencies: Vec<String>,
    amounts: Vec<i64>,
}

fn columns(lines: &[Line]) -> Columns {
    Columns {
        kinds: lines.iter().map(|it| it.account.kind.as_str().to_owned()).collect(),
        subjects: lines.iter().map(|it| it.account.subject.clone()).collect(),
        currencies: lines.iter().map(|it| it.account.currency.to_string()).collect(),
        amounts: lines.iter().map(|it| it.amount).collect(),
    }
}

pub async fn open_accounts(tx: &mut Tx, organization: OrganizationId, lines: &[Line]) -> sqlx::Result<()> {
    let columns = columns(lines);
    sqlx::query(
        "INSERT INTO accounts (organization_id, kind, subject, currency)
         SELECT DISTINCT $1::uuid, * FROM unnest($2::text[], $3::text[], $4::text[]) ON CONFLICT DO NOTHING",
    )
    .bind(organization.uuid())
    .bind(columns.kinds)
    .bind(columns.subjects)
    .bind(columns.currencies)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Writes the journal that comes next, and answers its number and hash; the books are locked.
pub async fn insert(tx: &mut Tx, id: JournalId, journal: &Journal) -> sqlx::Result<(i64, String)> {
    let columns = columns(&journal.lines);
    sqlx::query_as(
        "WITH book AS MATERIALIZED (
           SELECT journals + 1 AS number, hash, app_clock() AS now FROM books WHERE organization_id = $1),
         lines AS MATERIALIZED (
           SELECT added.line::integer, a.id AS account_id, added.currency, added.amount
           FROM unnest($7::text[], $8::text[], $9::text[], $10::bigint[]) WITH ORDINALITY AS added (kind, subject, currency, amount, line)
           LEFT JOIN accounts a ON a.organization_id = $1 AND a.kind = added.kind AND a.subject = added.subject AND a.currency = added.currency),
         sealed AS MATERIALIZED (
           SELECT book.number, book.now, journal_hash(book.hash,
             journal_head($1, book.number, $2, $3, book.now, NULL, NULL, $4, $5, $11, $6),
             (SELECT string_agg(entry_text(line, account_id, currency, amount, NULL, NULL, NULL), E'\\n' ORDER BY line) FROM lines), '') AS hash
           FROM book),
         journal AS (
           INSERT INTO journals (organization_id, number, id, kind, at, actor, reason, reference, reverses, hash)
           SELECT $1, number, $2, $3, now, $4, $5, $6, $11, hash FROM sealed),
         posted AS (
           INSERT INTO entries (organization_id, number, line, account_id, currency, amount)
           SELECT $1, sealed.number, line, account_id, currency, amount FROM lines, sealed)
         UPDATE books SET journals = sealed.number, hash = sealed.hash FROM sealed WHERE organization_id = $1
         RETURNING journals, encode(books.hash, 'hex')",
    )
    .bind(journal.organization.uuid())
    .bind(id.uuid())
    .bind(journal.kind)
    .bind(&journal.actor)
    .bind(&journal.reason)
    .bind(journal.reference.as_deref())
    .bind(columns.kinds)
    .bind(columns.subjects)
    .bind(columns.currencies)
    .bind(columns.amounts)
    .bind(journal.reverses)
    .fetch_one(tx.conn())
    .await
}

/// Writes down the wallets' balances now and then, so that reading one sums few entries.
pub async fn checkpoint(tx: &mut Tx, organization: OrganizationId, number: i64) -> sqlx::Result<()> {
    // bound: how many journals a balance sums at most
    const EVERY: i64 = 256;
    if number % EVERY != 0 {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO checkpoints (organization_id, account_id, number, balance)
         SELECT $1, a.id, $2, coalesce(last.balance, 0) + coalesce((SELECT sum(e.amount) FROM entries e
           WHERE e.account_id = a.id AND e.number > coalesce(last.number, 0) AND e.number <= $2), 0)::bigint
         FROM accounts a LEFT JOIN LATERAL (
           SELECT c.number, c.balance FROM checkpoints c WHERE c.account_id = a.id ORDER BY c.number DESC LIMIT 1) last ON true
         WHERE a.organization_id = $1 AND a.kind = 'wallet' ON CONFLICT DO NOTHING",
    )
    .bind(organization.uuid())
    .bind(number)
    .execute(tx.conn())
    .await?;
    Ok(())
}

#[derive(sqlx::FromRow)]
pub struct Sums {
    pub posted: i64,
    pub accrued: i64,
    pub held: i64,
    pub burn: i64,
}

/// One statement, and so one state of the books: a posting moves money from
/// one sum to another at once.
pub async fn sums(tx: &mut Tx, organization: OrganizationId, currency: Currency) -> sqlx::Result<Sums> {
    sqlx::query_as(
        "WITH wallet AS (SELECT id FROM accounts WHERE organization_id = $1 AND kind = 'wallet' AND subject = '' AND currency = $2),
         newest AS (SELECT c.number, c.balance FROM checkpoints c WHERE c.account_id = (SELECT id FROM wallet) ORDER BY c.number DESC LIMIT 1),
         -- Both ends are named, or the planner takes it for a third of all entries; and by
         -- bare values, because row security lets no `coalesce` near an index.
         ends AS (SELECT coalesce((SELECT number FROM newest), 0) AS after, journals AS last, posted_to
           FROM books WHERE organization_id = $1),
         since AS (SELECT sum(e.amount) AS amount FROM entries e
           WHERE e.account_id = (SELECT id FROM wallet) AND e.number > (SELECT after FROM ends) AND e.number <= (SELECT last FROM ends)),
         running AS (
           SELECT sum(i.amount + accrued(i.micros_per_hour, least(i.ended_at, moment.now) - i.started_at)
                      - accrued(i.micros_per_hour, greatest((SELECT posted_to FROM ends), i.started_at) - i.started_at)) AS accrued,
                  sum(accrued(i.micros_per_hour, h.held_to - i.started_at) - accrued(i.micros_per_hour, moment.now - i.started_at))
                    FILTER (WHERE i.is_open AND h.held_to > moment.now) AS held,
                  sum(i.micros_per_hour) FILTER (WHERE i.is_open) AS burn
           FROM intervals i
           LEFT JOIN holds h ON h.organization_id = i.organization_id AND h.subject_id = i.subject_id AND h.meter = i.meter
           CROSS JOIN LATERAL (SELECT greatest(app_now(), (SELECT posted_to FROM ends), i.started_at) AS now) moment
           WHERE i.organization_id = $1 AND i.closed_at >= (SELECT posted_to FROM ends) AND i.currency = $2
             AND (i.micros_per_hour > 0 OR i.amount > 0)),
         waiting AS (
           SELECT sum(accrued(micros_per_hour, make_interval(secs => seconds))) AS held FROM holds
           WHERE organization_id = $1 AND currency = $2 AND held_to IS NULL)
         SELECT (coalesce((SELECT balance FROM newest), 0) + coalesce((SELECT amount FROM since), 0))::bigint AS posted,
                coalesce(running.accrued, 0)::bigint AS accrued, (coalesce(running.held, 0) + coalesce(waiting.held, 0))::bigint AS held,
                coalesce(running.burn, 0)::bigint AS burn FROM running, waiting",
    )
    .bind(organization.uuid())
    .bind(currency.as_str())
    .fetch_one(tx.conn())
    .await
}

/// The currencies in which an organization has a wallet.
pub async fn currencies(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<Vec<Currency>> {
    let codes: Vec<String> = sqlx::query_scalar(
        "SELECT currency FROM accounts WHERE organization_id = $1 AND kind = 'wallet' ORDER BY currency",
    )
    .bind(organization.uuid())
    .fetch_all(tx.conn())
    .await?;
    codes.iter().map(|it| platform::rows::text(it)).collect()
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    number: i64,
    kind: String,
    at: jiff_sqlx::Timestamp,
    from_at: Option<jiff_sqlx::Timestamp>,
    to_at: Option<jiff_sqlx::Timestamp>,
    actor: String,
    reason: String,
    reference: Option<String>,
    reverses: Option<i64>,
    hash: String,
    wallets: Json<Vec<Change>>,
}

#[derive(serde::Deserialize)]
struct Change {
    currency: String,
    amount: i64,
    balance: i64,
}

/// One line of a journal, by what it is for.
pub struct LineRow {
    pub kind: AccountKind,
    pub subject: String,
    pub currency: Currency,
    pub amount: i64,
}

/// What a journal said, line by line.
pub async fn lines(tx: &mut Tx, organization: OrganizationId, number: i64) -> sqlx::Result<Vec<LineRow>> {
    let rows: Vec<(String, String, String, i64)> = sqlx::query_as(
        "SELECT a.kind, a.subject, a.currency, sum(e.amount)::bigint FROM entries e JOIN accounts a ON a.id = e.account_id
         WHERE e.organization_id = $1 AND e.number = $2 GROUP BY a.kind, a.subject, a.currency HAVING sum(e.amount) <> 0 ORDER BY 1, 2, 3",
    )
    .bind(organization.uuid())
    .bind(number)
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter()
        .map(|(kind, subject, currency, amount)| {
            let kind = AccountKind::parse(&kind).ok_or(sqlx::Error::RowNotFound)?;
            Ok(LineRow { kind, subject, currency: platform::rows::text(&currency)?, amount })
        })
        .collect()
}

/// What the intervals of a subject come to after a moment, where that was not refunded yet.
pub async fn excess(
    tx: &mut Tx,
    organization: OrganizationId,
    subject: Uuid,
    after: Timestamp,
) -> sqlx::Result<Vec<Excess>> {
    let rows: Vec<(String, i64, String, i64)> = sqlx::query_as(
        "SELECT x.meter, x.interval, x.currency, x.amount FROM (
           SELECT i.meter, i.interval, i.currency, (accrued(i.micros_per_hour, i.ended_at - i.started_at)
             - accrued(i.micros_per_hour, greatest($3, i.started_at) - i.started_at))::bigint AS amount
           FROM intervals i WHERE i.organization_id = $1 AND i.subject_id = $2 AND NOT i.is_open AND i.closed_at > $3) x
         WHERE x.amount > 0 AND NOT EXISTS (SELECT FROM journals j WHERE j.organization_id = $1
           AND starts_with(j.reference, $4 || ':' || $2::text || ':' || x.meter || ':' || x.interval::text || ':')) ORDER BY 1, 2",
    )
    .bind(organization.uuid())
    .bind(subject)
    .bind(kernel::clock::bind(after))
    .bind(LOST_HOST)
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter()
        .map(|(meter, interval, currency, amount)| {
            Ok(Excess { meter, interval, currency: platform::rows::text(&currency)?, amount })
        })
        .collect()
}

/// What journals whose reference begins so gave to the wallets, in each currency.
pub async fn refunded(tx: &mut Tx, organization: OrganizationId, prefix: &str) -> sqlx::Result<Vec<Money>> {
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "SELECT a.currency, sum(e.amount)::bigint FROM journals j
         JOIN entries e ON e.organization_id = j.organization_id AND e.number = j.number
         JOIN accounts a ON a.id = e.account_id AND a.kind = 'wallet'
         WHERE j.organization_id = $1 AND starts_with(j.reference, $2) GROUP BY 1 ORDER BY 1",
    )
    .bind(organization.uuid())
    .bind(prefix)
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter()
        .map(|(currency, micros)| Ok(Money::from_micros(micros, platform::rows::text(&currency)?)))
        .collect()
}

/// The number of a journal.
pub async fn number(tx: &mut Tx, organization: OrganizationId, id: JournalId) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar("SELECT number FROM journals WHERE organization_id = $1 AND id = $2")
        .bind(organization.uuid())
        .bind(id.uuid())
        .fetch_optional(tx.conn())
        .await
}

/// Whether a journal is one that invoices rely on: their own, and those that
/// took usage back, which credit notes tell of.
pub async fn is_final(tx: &mut Tx, organization: OrganizationId, number: i64) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM journals j LEFT JOIN journals u ON u.organization_id = j.organization_id AND u.number = j.reverses
         WHERE j.organization_id = $1 AND j.number = $2 AND (j.kind IN ('invoice', 'credit_note') OR u.kind = 'usage'))",
    )
    .bind(organization.uuid())
    .bind(number)
    .fetch_one(tx.conn())
    .await
}

/// The journal that took another one back.
pub async fn reversed_by(tx: &mut Tx, organization: OrganizationId, number: i64) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar("SELECT number FROM journals WHERE organization_id = $1 AND reverses = $2")
        .bind(organization.uuid())
        .bind(number)
        .fetch_optional(tx.conn())
        .await
}

pub async fn get(
    tx: &mut Tx,
    organization: OrganizationId,
    number: i64,
) -> sqlx::Result<Option<contract::ledger::Journal>> {
    let after = Some(contract::Cursor(position(number + 1)));
    let filter =
        JournalFilter { cursor: after, limit: contract::Limit::new(1).unwrap_or_default(), ..JournalFilter::default() };
    Ok(list(tx, organization, &filter).await?.into_iter().find(|it| it.number == number))
}

/// A cursor's form of a journal's number.
pub fn position(number: i64) -> Uuid {
    Uuid::from_u128(u128::from(number.unsigned_abs()))
}

/// Journals with what each did to the wallets, newest first.
pub async fn list(
    tx: &mut Tx,
    organization: OrganizationId,
    filter: &JournalFilter,
) -> sqlx::Result<Vec<contract::ledger::Journal>> {
    let before = filter.cursor.map(|it| i64::try_from(it.0.as_u128()).unwrap_or(i64::MAX));
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT j.id, j.number, j.kind, j.at, j.from_at, j.to_at, j.actor, j.reason, j.reference, j.reverses, encode(j.hash, 'hex') AS hash,
           (SELECT coalesce(json_agg(json_build_object('currency', c.currency, 'amount', c.amount, 'balance', c.balance) ORDER BY c.currency), '[]')
            FROM (
              SELECT e.currency, sum(e.amount)::bigint AS amount, (coalesce(max(kept.balance), 0) + coalesce((SELECT sum(s.amount) FROM entries s
                WHERE s.account_id = e.account_id AND s.number > max(coalesce(kept.number, 0)) AND s.number <= j.number), 0))::bigint AS balance
              FROM entries e JOIN accounts a ON a.id = e.account_id AND a.kind = 'wallet'
              LEFT JOIN LATERAL (SELECT k.number, k.balance FROM checkpoints k WHERE k.account_id = e.account_id AND k.number <= j.number
                ORDER BY k.number DESC LIMIT 1) kept ON true
              WHERE e.organization_id = j.organization_id AND e.number = j.number GROUP BY e.currency, e.account_id) c) AS wallets
         FROM journals j WHERE j.organization_id = $1 AND ($2::text IS NULL OR j.kind = $2) AND ($3::timestamptz IS NULL OR j.at >= $3)
           AND ($4::timestamptz IS NULL OR j.at < $4) AND ($5::bigint IS NULL OR j.number < $5) ORDER BY j.number DESC LIMIT $6",
    )
    .bind(organization.uuid())
    .bind(filter.kind.as_ref().map(|it| it.as_str()))
    .bind(filter.since.map(kernel::clock::bind))
    .bind(filter.until.map(kernel::clock::bind))
    .bind(before)
    .bind(filter.limit.probe())
    .fetch_all(tx.conn())
    .await?;
    rows.into_iter().map(journal).collect()
}

fn journal(row: Row) -> sqlx::Result<contract::ledger::Journal> {
    let change = |it: Change| {
        Ok(WalletChange {
            currency: platform::rows::text(&it.currency)?,
            amount_micros: it.amount,
            balance_micros: it.balance,
        })
    };
    Ok(contract::ledger::Journal {
        id: row.id.into(),
        number: row.number,
        kind: row.kind,
        at: row.at.to_jiff(),
        from_at: row.from_at.map(|it| it.to_jiff()),
        to_at: row.to_at.map(|it| it.to_jiff()),
        actor: row.actor,
        reason: Some(row.reason).filter(|it| !it.is_empty()),
        reference: row.reference,
        reverses: row.reverses,
        wallets: row.wallets.0.into_iter().map(change).collect::<sqlx::Result<_>>()?,
        hash: row.hash,
    })
}
