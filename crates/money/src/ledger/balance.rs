//! What an organization has: posted entries less what its open intervals have
//! come to since and what is held for them. Nothing here is stored.

use contract::{Timestamp, id::OrganizationId};
use jiff::SignedDuration;
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

impl Balance {
    /// What there is, held or not.
    pub fn in_hand(&self) -> Money {
        let micros = self.posted.micros().saturating_sub(self.accrued.micros());
        Money::from_micros(micros, self.posted.currency())
    }

    /// Until when that lasts if nothing changes; nothing when nothing runs.
    pub fn lasts_until(&self, now: Timestamp) -> Option<Timestamp> {
        lasts_until(now, self.in_hand().micros(), self.burn.micros_per_hour())
    }
}

/// When an amount is gone that so much of is spent in an hour.
fn lasts_until(now: Timestamp, available: i64, per_hour: i64) -> Option<Timestamp> {
    if per_hour <= 0 {
        return None;
    }
    let left_us = i128::from(available.max(0)) * 3_600_000_000 / i128::from(per_hour);
    now.checked_add(SignedDuration::from_micros(i64::try_from(left_us).ok()?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_is_the_moment_at_which_nothing_is_left() {
        let now = Timestamp::UNIX_EPOCH;
        let after = |seconds| Some(now + SignedDuration::from_secs(seconds));
        assert_eq!(lasts_until(now, 5_000_000, 2_500_000), after(7200));
        assert_eq!(lasts_until(now, -1, 2_500_000), after(0), "it is gone already");
        assert_eq!(lasts_until(now, 5, 0), None, "nothing runs");
        assert_eq!(lasts_until(now, i64::MAX, 1), None, "beyond all calendars");
    }
}
