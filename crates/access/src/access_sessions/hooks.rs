//! What other areas ask of access sessions in their own transactions.

use std::time::Duration;

use contract::id::UserId;
use fleet::gateways::CarriedSessions;
use kernel::{Tx, bus::BoxFuture, lifecycle::TransitionError};
use people::users::InsideSessions;

pub struct SessionHooks;

impl InsideSessions for SessionHooks {
    fn end_all_of<'a>(
        &'a self,
        tx: &'a mut Tx,
        user: UserId,
        reason: &'a str,
    ) -> BoxFuture<'a, Result<(), TransitionError>> {
        Box::pin(super::end_all_of(tx, user, reason))
    }

    fn forget_addresses<'a>(&'a self, tx: &'a mut Tx, user: UserId) -> BoxFuture<'a, sqlx::Result<()>> {
        Box::pin(super::forget_addresses(tx, user))
    }
}

impl CarriedSessions for SessionHooks {
    fn lose_unheard<'a>(&'a self, tx: &'a mut Tx, silent: Duration) -> BoxFuture<'a, Result<usize, TransitionError>> {
        Box::pin(super::lose_unheard(tx, silent))
    }
}
