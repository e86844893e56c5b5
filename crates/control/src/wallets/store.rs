//! The rows of `wallets` and `holds`.

use contract::id::OrganizationId;
use kernel::{
    Tx,
    money::{Currency, Rate},
};

use super::Hold;

/// Makes those who want to hold something take turns, until the commit.
pub async fn lock(tx: &mut Tx, organization: OrganizationId, currency: Currency) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO wallets (organization_id, currency) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(organization.uuid())
        .bind(currency.as_str())
        .execute(tx.conn())
        .await?;
    sqlx::query("SELECT FROM wallets WHERE organization_id = $1 AND currency = $2 FOR UPDATE")
        .bind(organization.uuid())
        .bind(currency.as_str())
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn insert(tx: &mut Tx, hold: &Hold, rate: Rate) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO holds (allocation_id, organization_id, currency, micros_per_hour, seconds) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(hold.allocation.uuid())
    .bind(hold.organization.uuid())
    .bind(hold.currency.as_str())
    .bind(rate.micros_per_hour())
    .bind(hold.lasts.as_secs())
    .execute(tx.conn())
    .await?;
    Ok(())
}
