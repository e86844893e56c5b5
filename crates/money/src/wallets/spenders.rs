//! What another area has that spends money, and ends when there is none.

use contract::id::AllocationId;
use kernel::{Tx, bus::BoxFuture, machine::TransitionError};

pub trait Spenders: Send + Sync {
    /// Ends these, in this order, because the money for them ran out. Says how many there were to end.
    fn out_of_funds<'a>(
        &'a self,
        tx: &'a mut Tx,
        ids: &'a [AllocationId],
        reason: &'a str,
    ) -> BoxFuture<'a, Result<u64, TransitionError>>;
}
