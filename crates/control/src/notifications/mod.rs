//! Notifications: what people are told of events that concern them, in the
//! console and by mail, and what they want to be told.

mod audience;
mod consume;
mod routes;
mod store;
pub mod unsubscribe;
mod watch;
mod wording;

pub use consume::Tell;
pub use store::{forget_old, wants_mail};
pub use watch::concern;

use contract::id::UserId;
use kernel::Tx;

use crate::mails;

/// Removes everything that was told to a person who goes.
pub async fn forget(tx: &mut Tx, user: UserId, address: &str) -> sqlx::Result<()> {
    store::forget(tx, user).await?;
    mails::forget_of(tx, user).await?;
    mails::forget_refusal(tx, address).await
}
