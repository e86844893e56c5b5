//! What an organization has: posted entries less what its open intervals have
//! come to since and what is held for them. Nothing here is stored.

use contract::id::OrganizationId;
use kernel::{
    Tx,
    money::{Currency, Money, Rate},
};

use super::store;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balance {
    /// The wallet's entries.
    pub posted: Money,
    /// What usage has come to since the last posting.
    pub accrued: Money,
    /// What is held for what was asked for, beside what it has come to already.
    pub held: Money,
    /// Posted less accrued and held. It does not move while holds last.
    pub available: Money,
    /// What runs now costs this much.
    pub burn: Rate,
}

pub async fn balance(tx: &mut Tx, organization: OrganizationId, currency: Currency) -> sqlx::Result<Balance> {
    let sums = store::sums(tx, organization, currency).await?;
    let money = |micros| Money::from_micros(micros, currency);
    Ok(Balance {
        posted: money(sums.posted),
        accrued: money(sums.accrued),
        held: money(sums.held),
        available: money(sums.posted.saturating_sub(sums.accrued).saturating_sub(sums.held)),
        burn: Rate::from_micros_per_hour(sums.burn, currency),
    })
}
