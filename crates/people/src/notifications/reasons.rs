//! What another area knows of allocations that notifications speak of.

use contract::id::AllocationId;
use kernel::{Tx, bus::BoxFuture};

pub trait AllocationReasons: Send + Sync {
    /// Why an allocation failed, ended or waits, as a sentence for people.
    fn sentence<'a>(&'a self, tx: &'a mut Tx, allocation: AllocationId) -> BoxFuture<'a, sqlx::Result<Option<String>>>;
}
