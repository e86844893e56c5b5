//! Notifications: what people are told of events that concern them, in the
//! console and by mail, and what they want to be told.

mod audience;
mod consume;
mod reasons;
mod refunds;
mod routes;
mod store;
pub mod unsubscribe;
mod watch;
mod wording;

pub use consume::Tell;
pub use reasons::AllocationReasons;
pub use refunds::Refunds;
pub use store::{forget_old, wants_mail};

use contract::id::UserId;
use kernel::Tx;

use crate::mails;

use crate::PeopleArea;
use kernel::lifecycle::ParentEnd;
use platform::policies::settings;
use platform::registry::{Registry, Retention};
use std::sync::Arc;

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.table("notifications", ParentEnd::Stays("notifications, retained for `notifications.keep_days`"));
    registry.consumer(|area| Arc::new(Tell { by_mail: area.sending.is_some(), policies: area.policies.clone() }));
    registry.expiry(&["notifications"], |area, most| {
        Box::pin(async move {
            let retention = settings::days(area.policies.number(settings::NOTIFICATIONS_KEEP_DAYS));
            forget_old(&area.db, retention, most).await
        })
    });
    registry.retention(&["notification_preferences"], Retention::Removed("when the person is erased"));
}

/// Removes everything that was told to a person who goes.
pub async fn forget(tx: &mut Tx, user: UserId, address: &str) -> sqlx::Result<()> {
    store::forget(tx, user).await?;
    mails::forget_of(tx, user).await?;
    mails::forget_refusal(tx, address).await
}
