//! What another area knows of money that notifications speak of.

use contract::id::{AllocationId, OrganizationId};
use kernel::{Tx, bus::BoxFuture, money::Money};

pub trait Refunds: Send + Sync {
    /// What was refunded for an allocation, in each currency.
    fn of_allocation<'a>(
        &'a self,
        tx: &'a mut Tx,
        organization: OrganizationId,
        allocation: AllocationId,
    ) -> BoxFuture<'a, sqlx::Result<Vec<Money>>>;
}
