//! What another area keeps about people who are inside what they rent.

use contract::id::UserId;
use kernel::{Tx, bus::BoxFuture, lifecycle::TransitionError};

pub trait InsideSessions: Send + Sync {
    /// Ends every session that a person opened or took over, whatever they showed.
    fn end_all_of<'a>(
        &'a self,
        tx: &'a mut Tx,
        user: UserId,
        reason: &'a str,
    ) -> BoxFuture<'a, Result<(), TransitionError>>;
    /// Erases where a person came from.
    fn forget_addresses<'a>(&'a self, tx: &'a mut Tx, user: UserId) -> BoxFuture<'a, sqlx::Result<()>>;
}
