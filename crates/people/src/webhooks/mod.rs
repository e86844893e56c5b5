//! Webhooks: addresses of an organization's own to which its events are sent.
//! The sending itself, and what became of it, is in `webhook_deliveries`.

mod consume;
pub mod destination;
pub mod lifecycle;
mod routes;
mod secret;
mod store;

pub use consume::{DeleteWithOrganization, FanOut};
pub use secret::{SECRETS, Secrets};
pub use store::{Target, arrived, forget_old, target};

use kernel::{
    Tx,
    lifecycle::{TransitionError, transition},
};
use uuid::Uuid;

use lifecycle::{Event, WebhookLifecycle};
use platform::policies::{Policies, settings};

use crate::PeopleArea;
use platform::registry::Registry;
use std::sync::Arc;

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.lifecycle::<lifecycle::WebhookLifecycle>();
    registry.consumer(|_| Arc::new(DeleteWithOrganization));
    registry.consumer(|_| Arc::new(FanOut));
    registry.expiry(&["webhooks"], |area, most| {
        Box::pin(async move {
            let retention = settings::days(area.policies.number(settings::WEBHOOK_KEEP_DAYS));
            forget_old(&area.db, retention, most).await
        })
    });
    SECRETS.iter().for_each(|column| registry.secret(column));
}

/// Counts a delivery that was given up, and disables a webhook that had too
/// many of them in a row.
pub async fn gave_up(tx: &mut Tx, policies: &Policies, id: Uuid, error: &str) -> Result<(), TransitionError> {
    let Some((row, failures)) = store::count_failure(tx, id).await? else { return Ok(()) };
    let most = policies.number(settings::WEBHOOK_DISABLE_AFTER);
    if u64::try_from(failures).unwrap_or(0) < most {
        return Ok(());
    }
    let reason = format!("{failures} deliveries in a row failed; the last one {error}");
    store::note_disabled(tx, id, &reason).await?;
    transition::<WebhookLifecycle>(tx, row, Event::Disabled, &reason).await?;
    tracing::info!(webhook = %contract::id::WebhookId::from(id), failures, "a webhook was disabled");
    Ok(())
}
