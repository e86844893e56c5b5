//! What other areas do at once when a policy changes.

use kernel::{Tx, bus::BoxFuture};

pub trait Reactions: Send + Sync {
    /// A policy of the whole platform was set or unset, in this transaction.
    fn platform_policy_changed<'a>(&'a self, tx: &'a mut Tx, key: &'a str) -> BoxFuture<'a, sqlx::Result<()>>;
}
