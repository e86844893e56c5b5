//! The rows of `wallets` and `holds`.

use contract::{
    Timestamp,
    id::{AllocationId, OrganizationId, WalletId},
    wallets::WalletState,
};
use kernel::{
    Tx, clock,
    machine::Versioned,
    money::{Currency, Rate},
};
use uuid::Uuid;

use super::{
    Hold,
    plan::{Charge, Standing},
};

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
pub struct Locked {
    pub id: WalletId,
    pub organization: OrganizationId,
    pub currency: Currency,
    pub version: i64,
    pub standing: Standing,
}

impl Locked {
    pub fn row(&self) -> Versioned<WalletState> {
        let (state, organization) = (self.standing.state, Some(self.organization.uuid()));
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
    told_micros: Option<i64>,
}

/// Makes those who want to hold something take turns, until the commit.
pub async fn lock(tx: &mut Tx, id: WalletId) -> sqlx::Result<Option<Locked>> {
    let row: Option<Row> = sqlx::query_as(
        "SELECT organization_id, currency, state, version, grace_ends_at, told_micros FROM wallets WHERE id = $1 FOR UPDATE",
    )
    .bind(id.uuid())
    .fetch_optional(tx.conn())
    .await?;
    let Some(row) = row else { return Ok(None) };
    let standing = Standing {
        state: platform::rows::known(&row.state)?,
        grace_ends_at: row.grace_ends_at.map(|it| it.to_jiff()),
        told_micros: row.told_micros,
    };
    let currency = platform::rows::text(&row.currency)?;
    Ok(Some(Locked { id, organization: row.organization_id.into(), currency, version: row.version, standing }))
}

/// How a wallet stands; nothing when there is none yet.
pub async fn standing(
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
    sqlx::query("UPDATE wallets SET grace_ends_at = $2, told_micros = $3 WHERE id = $1")
        .bind(id.uuid())
        .bind(grace_ends_at.map(clock::bind))
        .bind(told)
        .execute(tx.conn())
        .await?;
    Ok(())
}

#[derive(sqlx::FromRow)]
struct ChargeRow {
    id: Uuid,
    micros_per_hour: i64,
    started_at: Option<jiff_sqlx::Timestamp>,
    held_to: Option<jiff_sqlx::Timestamp>,
    seconds: Option<i64>,
    lease_ends_at: Option<jiff_sqlx::Timestamp>,
}

/// What runs and costs something, and what something is held for; oldest first.
pub async fn charges(tx: &mut Tx, organization: OrganizationId, currency: Currency) -> sqlx::Result<Vec<Charge>> {
    let rows: Vec<ChargeRow> = sqlx::query_as(
        "SELECT a.id, coalesce(u.micros_per_hour, h.micros_per_hour) AS micros_per_hour, u.started_at, h.held_to,
           h.seconds::bigint AS seconds, a.lease_ends_at
         FROM (SELECT * FROM unposted($1) WHERE ended_at IS NULL AND micros_per_hour > 0 AND currency = $2) u
         FULL JOIN (SELECT * FROM holds WHERE organization_id = $1 AND currency = $2) h ON h.allocation_id = u.allocation_id
         JOIN allocations a ON a.organization_id = $1 AND a.id = coalesce(u.allocation_id, h.allocation_id)
         WHERE u.allocation_id IS NOT NULL OR h.held_to IS NULL
         ORDER BY a.created_at, a.id",
    )
    .bind(organization.uuid())
    .bind(currency.as_str())
    .fetch_all(tx.conn())
    .await?;
    let charge = |row: ChargeRow| Charge {
        allocation: row.id.into(),
        rate: Rate::from_micros_per_hour(row.micros_per_hour, currency),
        started_at: row.started_at.map(|it| it.to_jiff()),
        held_to: row.held_to.map(|it| it.to_jiff()),
        waits_for: jiff::SignedDuration::from_secs(row.seconds.unwrap_or(0)),
        lease_ends_at: row.lease_ends_at.map(|it| it.to_jiff()),
    };
    Ok(rows.into_iter().map(charge).collect())
}

/// Holds what runs until later; also what ran before anything was held.
pub async fn renew(
    tx: &mut Tx,
    organization: OrganizationId,
    currency: Currency,
    window: jiff::SignedDuration,
    renewed: &[(AllocationId, Timestamp)],
) -> sqlx::Result<()> {
    let ids: Vec<Uuid> = renewed.iter().map(|(id, _)| id.uuid()).collect();
    let to: Vec<jiff_sqlx::Timestamp> = renewed.iter().map(|(_, to)| clock::bind(*to)).collect();
    sqlx::query(
        "INSERT INTO holds (allocation_id, organization_id, currency, micros_per_hour, seconds, held_to)
         SELECT u.allocation_id, $1, $2, u.micros_per_hour, $3, renewed.held_to
         FROM unnest($4::uuid[], $5::timestamptz[]) AS renewed (allocation_id, held_to)
         JOIN unposted($1) u ON u.allocation_id = renewed.allocation_id AND u.ended_at IS NULL
         ON CONFLICT (allocation_id) DO UPDATE SET held_to = excluded.held_to",
    )
    .bind(organization.uuid())
    .bind(currency.as_str())
    .bind(window.as_secs())
    .bind(ids)
    .bind(to)
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// What is held already for something that does not run.
pub async fn waiting(tx: &mut Tx, allocation: AllocationId) -> sqlx::Result<i64> {
    let held: Option<i64> = sqlx::query_scalar(
        "SELECT accrued(micros_per_hour, make_interval(secs => seconds))::bigint FROM holds
         WHERE allocation_id = $1 AND held_to IS NULL",
    )
    .bind(allocation.uuid())
    .fetch_optional(tx.conn())
    .await?;
    Ok(held.unwrap_or(0))
}

pub async fn hold(tx: &mut Tx, hold: &Hold, rate: Rate) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO holds (allocation_id, organization_id, currency, micros_per_hour, seconds) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (allocation_id) DO UPDATE SET micros_per_hour = excluded.micros_per_hour, seconds = excluded.seconds",
    )
    .bind(hold.allocation.uuid())
    .bind(hold.organization.uuid())
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

/// Wallets whose money is being used, or that are in trouble.
pub async fn overdue(tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT w.id FROM wallets w WHERE w.state IN ('grace', 'depleted')
           OR EXISTS (SELECT FROM allocations a WHERE a.organization_id = w.organization_id AND a.state = 'active' AND a.currency = w.currency)
         LIMIT $1",
    )
    .bind(limit)
    .fetch_all(tx.conn())
    .await
}
