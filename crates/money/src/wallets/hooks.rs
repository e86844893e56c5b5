//! What other areas ask of money in their own transactions.

use contract::id::{AllocationId, OrganizationId};
use kernel::{Tx, bus::BoxFuture, money::Money};
use people::notifications::Refunds;
use platform::policies::Reactions;

use crate::ledger;

pub struct MoneyHooks;

impl Reactions for MoneyHooks {
    /// Wallets sleep until the moment that follows from these.
    fn platform_policy_changed<'a>(&'a self, tx: &'a mut Tx, key: &'a str) -> BoxFuture<'a, sqlx::Result<()>> {
        Box::pin(async move {
            if key.starts_with("billing.") {
                super::look_again(tx).await?;
            }
            Ok(())
        })
    }
}

impl Refunds for MoneyHooks {
    fn of_allocation<'a>(
        &'a self,
        tx: &'a mut Tx,
        organization: OrganizationId,
        allocation: AllocationId,
    ) -> BoxFuture<'a, sqlx::Result<Vec<Money>>> {
        Box::pin(ledger::refunded(tx, organization, allocation))
    }
}
