//! The rows of `corrections`.

use contract::{
    Timestamp, Word,
    corrections::{Correction, CorrectionFilter, CorrectionKind, CorrectionState},
    id::{CorrectionId, OrganizationId},
};
use kernel::{
    Tx,
    machine::Versioned,
    money::{Currency, Money},
};
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    kind: String,
    state: String,
    version: i64,
    currency: Option<String>,
    amount: Option<i64>,
    reverses: Option<i64>,
    reason: String,
    proposed_by: String,
    decided_by: Option<String>,
    decision: Option<String>,
    number: Option<i64>,
    created_at: jiff_sqlx::Timestamp,
    expires_at: jiff_sqlx::Timestamp,
}

const COLUMNS: &str = "id, organization_id, kind, state, version, currency, amount, reverses, reason, proposed_by, decided_by, \
                       decision, number, created_at, expires_at";

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
    correction(tx, row).await
}

/// Notes who decided, and what came of it; the move itself is the machine's.
pub async fn decide(
    tx: &mut Tx,
    id: CorrectionId,
    by: &str,
    decision: Option<&str>,
    number: Option<i64>,
) -> sqlx::Result<()> {
    sqlx::query("UPDATE corrections SET decided_by = $2, decision = $3, number = $4 WHERE id = $1")
        .bind(id.uuid())
        .bind(by)
        .bind(decision)
        .bind(number)
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn get(tx: &mut Tx, id: CorrectionId) -> sqlx::Result<Option<Correction>> {
    let statement = format!("SELECT {COLUMNS} FROM corrections WHERE id = $1");
    let row: Option<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id.uuid()).fetch_optional(tx.conn()).await?;
    match row {
        Some(row) => Ok(Some(correction(tx, row).await?)),
        None => Ok(None),
    }
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
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        found.push(correction(tx, row).await?);
    }
    Ok(found)
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

async fn correction(tx: &mut Tx, row: Row) -> sqlx::Result<Correction> {
    let organization_id = row.organization_id.into();
    let journal = match row.number {
        Some(number) => crate::ledger::journal(tx, organization_id, number).await?,
        None => None,
    };
    let state = crate::rows::word(&row.state)?;
    let is_open = state == CorrectionState::Proposed;
    Ok(Correction {
        id: row.id.into(),
        organization_id,
        kind: crate::rows::word(&row.kind)?,
        state,
        currency: row.currency.as_deref().map(crate::rows::text).transpose()?,
        amount_micros: row.amount,
        reverses: row.reverses,
        reason: row.reason,
        proposed_by: row.proposed_by,
        decided_by: row.decided_by,
        decision: row.decision,
        journal,
        version: row.version,
        created_at: row.created_at.to_jiff(),
        expires_at: is_open.then(|| row.expires_at.to_jiff()),
    })
}
