//! The rows of `wallets` and `holds`.

use contract::{
    Timestamp,
    id::{OrganizationId, WalletId},
    wallets::WalletState,
};
use kernel::{
    Tx, clock,
    lifecycle::Versioned,
    money::{Currency, Rate},
};
use uuid::Uuid;

use super::{
    Hold,
    plan::{Charge, WalletSnapshot},
};
use crate::metering::{Subject, SubjectId};

/// The wallet of a currency; there is one from now on.
pub async fn ensure(tx: &mut Tx, organization: OrganizationId, currency: Currency) -> sqlx::Result<WalletId> {
    sqlx::query("INSERT INTO wallets (organization_id, currency) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(organization.uuid())
        .bind(currency.as_str())
        .execute(tx.conn())
        .await?;
    let id: Uuid = sqlx::query_scalar("SELECT id FROM wallets WHERE organization_id = $1 AND currency = $2")
        .bind(organization.uuid())
        .bind(currency.as_str())
        .fetch_one(tx.conn())
        .await?;
    Ok(id.into())
}

/// A wallet of which no other has its turn until the commit.
pub struct LockedWallet {
    pub id: WalletId,
    pub organization: OrganizationId,
    pub currency: Currency,
    pub version: i64,
    pub snapshot: WalletSnapshot,
}

impl LockedWallet {
    pub fn row(&self) -> Versioned<WalletState> {
        let (state, organization) = (self.snapshot.state, Some(self.organization.uuid()));
        Versioned { id: self.id.uuid(), organization, state, version: self.version }
    }
}

#[derive(sqlx::FromRow)]
struct Row {
    organization_id: Uuid,
    currency: String,
    state: String,
    version: i64,
    grace_ends_at: Option<jiff_sqlx::Timestamp>,
    last_notified_balance_micros: Option<i64>,
}

/// Makes those who want to hold something take turns, until the commit.
pub async fn lock(tx: &mut Tx, id: WalletId) -> sqlx::Result<Option<LockedWallet>> {
    let row: Option<Row> = sqlx::query_as(
        "SELECT organization_id, currency, state, version, grace_ends_at, last_notified_balance_micros FROM wallets WHERE id = $1 FOR UPDATE",
    )
    .bind(id.uuid())
    .fetch_optional(tx.conn())
    .await?;
    let Some(row) = row else { return Ok(None) };
    let snapshot = WalletSnapshot {
        state: platform::rows::known(&row.state)?,
        grace_ends_at: row.grace_ends_at.map(|it| it.to_jiff()),
        last_notified_micros: row.last_notified_balance_micros,
    };
    let currency = platform::rows::text(&row.currency)?;
    Ok(Some(LockedWallet { id, organization: row.organization_id.into(), currency, version: row.version, snapshot }))
}

/// How a wallet stands; nothing when there is none yet.
pub async fn status(
    tx: &mut Tx,
    organization: OrganizationId,
    currency: Currency,
) -> sqlx::Result<Option<(WalletState, Option<Timestamp>)>> {
    let row: Option<(String, Option<jiff_sqlx::Timestamp>)> =
        sqlx::query_as("SELECT state, grace_ends_at FROM wallets WHERE organization_id = $1 AND currency = $2")
            .bind(organization.uuid())
            .bind(currency.as_str())
            .fetch_optional(tx.conn())
            .await?;
    row.map(|(state, ends)| Ok((platform::rows::known(&state)?, ends.map(|it| it.to_jiff())))).transpose()
}

/// Notes when the grace ends, and what there was when somebody was told.
pub async fn note(tx: &mut Tx, id: WalletId, grace_ends_at: Option<Timestamp>, told: Option<i64>) -> sqlx::Result<()> {
    sqlx::query("UPDATE wallets SET grace_ends_at = $2, last_notified_balance_micros = $3 WHERE id = $1")
        .bind(id.uuid())
        .bind(grace_ends_at.map(clock::bind))
        .bind(told)
        .execute(tx.conn())
        .await?;
    Ok(())
}

#[derive(sqlx::FromRow)]
struct ChargeRow {
    kind: String,
    id: Uuid,
    meter: String,
    micros_per_hour: i64,
    started_at: Option<jiff_sqlx::Timestamp>,
    held_to: Option<jiff_sqlx::Timestamp>,
    seconds: Option<i64>,
    ends_at: Option<jiff_sqlx::Timestamp>,
}

/// What runs and costs something, and what something is held for; oldest first, by
/// their ids, which begin with the time.
pub async fn charges(tx: &mut Tx, organization: OrganizationId, currency: Currency) -> sqlx::Result<Vec<Charge>> {
    let rows: Vec<ChargeRow> = sqlx::query_as(
        "SELECT coalesce(i.subject_kind, h.subject_kind) AS kind, coalesce(i.subject_id, h.subject_id) AS id,
           coalesce(i.meter, h.meter) AS meter, coalesce(i.micros_per_hour, h.micros_per_hour) AS micros_per_hour, i.started_at, h.held_to,
           h.seconds::bigint AS seconds, i.ends_at
         FROM (SELECT * FROM intervals WHERE organization_id = $1 AND is_open AND micros_per_hour > 0 AND currency = $2) i
         FULL JOIN (SELECT * FROM holds WHERE organization_id = $1 AND currency = $2) h ON h.subject_id = i.subject_id AND h.meter = i.meter
         WHERE i.subject_id IS NOT NULL OR h.held_to IS NULL
         ORDER BY 2, 3",
    )
    .bind(organization.uuid())
    .bind(currency.as_str())
    .fetch_all(tx.conn())
    .await?;
    let charge = |row: ChargeRow| Charge {
        subject: SubjectId { kind: row.kind, id: row.id, meter: row.meter },
        rate: Rate::from_micros_per_hour(row.micros_per_hour, currency),
        started_at: row.started_at.map(|it| it.to_jiff()),
        held_to: row.held_to.map(|it| it.to_jiff()),
        waits_for: jiff::SignedDuration::from_secs(row.seconds.unwrap_or(0)),
        ends_at: row.ends_at.map(|it| it.to_jiff()),
    };
    Ok(rows.into_iter().map(charge).collect())
}

/// Holds what runs until later; also what ran before anything was held.
pub async fn renew(
    tx: &mut Tx,
    organization: OrganizationId,
    currency: Currency,
    window: jiff::SignedDuration,
    renewed: &[(SubjectId, Timestamp)],
) -> sqlx::Result<()> {
    let ids: Vec<Uuid> = renewed.iter().map(|(it, _)| it.id).collect();
    let meters: Vec<&str> = renewed.iter().map(|(it, _)| &*it.meter).collect();
    let to: Vec<jiff_sqlx::Timestamp> = renewed.iter().map(|(_, to)| clock::bind(*to)).collect();
    sqlx::query(
        "INSERT INTO holds (organization_id, subject_kind, subject_id, meter, currency, micros_per_hour, seconds, held_to)
         SELECT $1, i.subject_kind, i.subject_id, i.meter, $2, i.micros_per_hour, $3, renewed.held_to
         FROM unnest($4::uuid[], $5::text[], $6::timestamptz[]) AS renewed (subject_id, meter, held_to)
         JOIN intervals i ON i.organization_id = $1 AND i.subject_id = renewed.subject_id AND i.meter = renewed.meter AND i.is_open
         ON CONFLICT (organization_id, subject_id, meter) DO UPDATE SET held_to = excluded.held_to",
    )
    .bind(organization.uuid())
    .bind(currency.as_str())
    .bind(window.as_secs())
    .bind(ids)
    .bind(meters)
    .bind(to)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// What is held already for something that does not run.
pub async fn waiting(tx: &mut Tx, subject: Subject) -> sqlx::Result<i64> {
    let held: Option<i64> = sqlx::query_scalar(
        "SELECT accrued(micros_per_hour, make_interval(secs => seconds))::bigint FROM holds
         WHERE organization_id = $1 AND subject_id = $2 AND meter = $3 AND held_to IS NULL",
    )
    .bind(subject.organization.uuid())
    .bind(subject.id)
    .bind(subject.meter.name)
    .fetch_optional(tx.conn())
    .await?;
    Ok(held.unwrap_or(0))
}

pub async fn hold(tx: &mut Tx, hold: &Hold, rate: Rate) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO holds (organization_id, subject_kind, subject_id, meter, currency, micros_per_hour, seconds)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (organization_id, subject_id, meter) DO UPDATE SET micros_per_hour = excluded.micros_per_hour, seconds = excluded.seconds",
    )
    .bind(hold.subject.organization.uuid())
    .bind(hold.subject.meter.subject)
    .bind(hold.subject.id)
    .bind(hold.subject.meter.name)
    .bind(hold.currency.as_str())
    .bind(rate.micros_per_hour())
    .bind(hold.lasts.as_secs().max(1))
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Makes every wallet due.
pub async fn look_again(tx: &mut Tx, kind: &str) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO work (kind, id) SELECT $1, id FROM wallets ORDER BY id
         ON CONFLICT (kind, id) DO UPDATE SET wakes = work.wakes + 1, due_at = least(work.due_at, excluded.due_at)",
    )
    .bind(kind)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Wallets whose money is being used, or that are low or depleted.
pub async fn overdue(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT w.id FROM wallets w WHERE w.state IN ('grace', 'depleted')
           OR EXISTS (SELECT FROM intervals i WHERE i.organization_id = w.organization_id AND i.is_open AND i.currency = w.currency)
         LIMIT $1",
    )
    .bind(limit)
    .fetch_all(tx.conn())
    .await
}
