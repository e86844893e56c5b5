//! The rows of `corrections`.

use contract::{
    Timestamp, Word,
    corrections::{Correction, CorrectionFilter, CorrectionKind, CorrectionState},
    id::{CorrectionId, OrganizationId},
};
use kernel::{
    Tx,
    lifecycle::Versioned,
    money::{Currency, Money},
};
use sqlx::types::Json;
use uuid::Uuid;

use super::second_person::Proposal;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Option<Uuid>,
    kind: String,
    state: String,
    version: i64,
    currency: Option<String>,
    amount: Option<i64>,
    reverses: Option<i64>,
    summary: Option<String>,
    reason: String,
    proposed_by: String,
    decided_by: Option<String>,
    decision: Option<String>,
    result: Option<String>,
    created_at: jiff_sqlx::Timestamp,
    expires_at: jiff_sqlx::Timestamp,
}

const COLUMNS: &str = "id, organization_id, kind, state, version, currency, amount, reverses, summary, reason, proposed_by, \
                       decided_by, decision, result, created_at, expires_at";

/// What is changed.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// From another account into the wallet, or out of it when negative.
    Amount(CorrectionKind, Money),
    /// The opposite of a journal.
    Reverse(i64),
}

pub struct New<'a> {
    pub organization: OrganizationId,
    pub change: Change,
    pub reason: &'a str,
    pub proposed_by: &'a str,
    pub expires_at: Timestamp,
}

pub async fn insert(tx: &mut Tx, new: New<'_>) -> sqlx::Result<Correction> {
    let (kind, amount, reverses) = match new.change {
        Change::Amount(kind, amount) => (kind, Some(amount), None),
        Change::Reverse(number) => (CorrectionKind::Reversal, None, Some(number)),
    };
    let statement = format!(
        "INSERT INTO corrections (id, organization_id, kind, state, currency, amount, reverses, reason, proposed_by, expires_at)
         VALUES ($1, $2, $3, 'proposed', $4, $5, $6, $7, $8, $9) RETURNING {COLUMNS}"
    );
    let row: Row = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(CorrectionId::generate().uuid())
        .bind(new.organization.uuid())
        .bind(kind.as_str())
        .bind(amount.map(|it| it.currency().as_str().to_owned()))
        .bind(amount.map(Money::micros))
        .bind(reverses)
        .bind(new.reason)
        .bind(new.proposed_by)
        .bind(kernel::clock::bind(new.expires_at))
        .fetch_one(tx.conn())
        .await?;
    correction(row)
}

/// What waits for a second person and is no change of the books itself.
pub struct Waiting<'a> {
    pub organization: Option<OrganizationId>,
    pub kind: CorrectionKind,
    pub request: &'a serde_json::Value,
    pub summary: &'a str,
    pub reason: &'a str,
    pub proposed_by: &'a str,
    pub expires_at: Timestamp,
}

/// None when the same waits already.
pub async fn insert_waiting(tx: &mut Tx, new: Waiting<'_>) -> sqlx::Result<Option<Correction>> {
    let statement = format!(
        "INSERT INTO corrections (id, organization_id, kind, state, request, summary, reason, proposed_by, expires_at)
         VALUES ($1, $2, $3, 'proposed', $4, $5, $6, $7, $8)
         ON CONFLICT (request) WHERE state = 'proposed' DO NOTHING RETURNING {COLUMNS}"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(CorrectionId::generate().uuid())
        .bind(new.organization.map(|it| it.uuid()))
        .bind(new.kind.as_str())
        .bind(new.request)
        .bind(new.summary)
        .bind(new.reason)
        .bind(new.proposed_by)
        .bind(kernel::clock::bind(new.expires_at))
        .fetch_optional(tx.conn())
        .await?;
    row.map(correction).transpose()
}

/// The correction in which the same waits.
pub async fn waiting(tx: &mut Tx, request: &serde_json::Value) -> sqlx::Result<Option<Correction>> {
    let statement = format!("SELECT {COLUMNS} FROM corrections WHERE state = 'proposed' AND request = $1 FOR UPDATE");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(request).fetch_optional(tx.conn()).await?;
    row.map(correction).transpose()
}

/// What is to be done, unless it is a change of the books.
pub async fn proposal(tx: &mut Tx, id: CorrectionId) -> sqlx::Result<Option<Proposal>> {
    let statement = "SELECT request FROM corrections WHERE id = $1";
    let found: Option<Option<Json<Proposal>>> =
        sqlx::query_scalar(statement).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    Ok(found.flatten().map(|it| it.0))
}

/// Lets nobody else decide about it until the commit.
pub async fn lock(tx: &mut Tx, id: CorrectionId) -> sqlx::Result<()> {
    sqlx::query("SELECT FROM corrections WHERE id = $1 FOR UPDATE").bind(id.uuid()).execute(tx.conn()).await?;
    Ok(())
}

/// What came of a decision.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome<'a> {
    /// Why it was turned down.
    pub decision: Option<&'a str>,
    /// The journal that was posted.
    pub number: Option<i64>,
    /// What was made or changed besides.
    pub result: Option<&'a str>,
}

/// Notes who decided, and what came of it; the move itself is the machine's.
pub async fn decide(tx: &mut Tx, id: CorrectionId, by: &str, outcome: Outcome<'_>) -> sqlx::Result<()> {
    sqlx::query("UPDATE corrections SET decided_by = $2, decision = $3, number = $4, result = $5 WHERE id = $1")
        .bind(id.uuid())
        .bind(by)
        .bind(outcome.decision)
        .bind(outcome.number)
        .bind(outcome.result)
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn get(tx: &mut Tx, id: CorrectionId) -> sqlx::Result<Option<Correction>> {
    let statement = format!("SELECT {COLUMNS} FROM corrections WHERE id = $1");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    row.map(correction).transpose()
}

pub async fn list(tx: &mut Tx, filter: &CorrectionFilter) -> sqlx::Result<Vec<Correction>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM corrections WHERE ($1::text IS NULL OR state = $1) AND ($2::uuid IS NULL OR organization_id = $2)
           AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(filter.state.map(|it| it.as_str()))
        .bind(filter.organization_id.map(|it| it.uuid()))
        .bind(filter.cursor.map(|it| it.0))
        .bind(filter.limit.probe())
        .fetch_all(tx.conn())
        .await?;
    rows.into_iter().map(correction).collect()
}

/// The numbers of the journals that corrections were posted as.
pub async fn posted(tx: &mut Tx, ids: &[CorrectionId]) -> sqlx::Result<Vec<(CorrectionId, i64)>> {
    let rows: Vec<(Uuid, i64)> =
        sqlx::query_as("SELECT id, number FROM corrections WHERE id = ANY($1) AND number IS NOT NULL")
            .bind(ids.iter().map(|it| it.uuid()).collect::<Vec<_>>())
            .fetch_all(tx.conn())
            .await?;
    Ok(rows.into_iter().map(|(id, number)| (id.into(), number)).collect())
}

/// Corrections whose time is up.
pub async fn overdue(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar("SELECT id FROM corrections WHERE state = 'proposed' AND expires_at <= app_now() LIMIT $1")
        .bind(limit)
        .fetch_all(tx.conn())
        .await
}

/// What it is to change, as it was proposed.
pub fn change(correction: &Correction) -> sqlx::Result<Change> {
    match (correction.reverses, &correction.currency, correction.amount_micros) {
        (Some(number), ..) => Ok(Change::Reverse(number)),
        (None, Some(currency), Some(micros)) => {
            let currency: Currency = crate::rows::text(currency.as_str())?;
            let kind = crate::rows::known(correction.kind.as_str())?;
            Ok(Change::Amount(kind, Money::from_micros(micros, currency)))
        }
        _ => Err(sqlx::Error::RowNotFound),
    }
}

/// Staff's own: its moves are no events of the organization.
pub fn versioned(correction: &Correction) -> sqlx::Result<Versioned<CorrectionState>> {
    Ok(Versioned {
        id: correction.id.uuid(),
        organization: None,
        state: crate::rows::known(correction.state.as_str())?,
        version: correction.version,
    })
}

/// Without its journal, which the ledger knows by [`posted`].
fn correction(row: Row) -> sqlx::Result<Correction> {
    let state = crate::rows::word(&row.state)?;
    let is_open = state == CorrectionState::Proposed;
    Ok(Correction {
        id: row.id.into(),
        organization_id: row.organization_id.map(OrganizationId::from),
        kind: crate::rows::word(&row.kind)?,
        state,
        currency: row.currency.as_deref().map(crate::rows::text).transpose()?,
        amount_micros: row.amount,
        reverses: row.reverses,
        summary: row.summary,
        reason: row.reason,
        proposed_by: row.proposed_by,
        decided_by: row.decided_by,
        decision: row.decision,
        journal: None,
        result: row.result,
        version: row.version,
        created_at: row.created_at.to_jiff(),
        expires_at: is_open.then(|| row.expires_at.to_jiff()),
    })
}
