//! What another area knows of the sessions that gateways carry.

use std::time::Duration;

use kernel::{Tx, bus::BoxFuture, lifecycle::TransitionError};

pub trait CarriedSessions: Send + Sync {
    /// Sessions that no gateway has spoken of for so long have lost it; how many.
    fn lose_unheard<'a>(&'a self, tx: &'a mut Tx, silent: Duration) -> BoxFuture<'a, Result<usize, TransitionError>>;
}
