//! Deliveries: each event on its way to one webhook, sent until it arrives or
//! policy gives it up, and shown until it is swept.

pub mod lifecycle;
mod reconcile;
mod routes;
mod send;
mod store;

pub use reconcile::DeliveryReconciler;
pub use send::Sender;
pub use store::forget_old;

use contract::{webhook_deliveries::WebhookDelivery, webhooks::Webhook};
use kernel::{Tx, lifecycle::Lifecycle, outbox::Message, work};
use uuid::Uuid;

use crate::PeopleArea;
use platform::policies::settings;
use platform::registry::Registry;

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.lifecycle::<lifecycle::WebhookDeliveryLifecycle>();
    registry.reconciler(|area: &PeopleArea| DeliveryReconciler {
        sender: Sender::new(area.policies.clone()),
        keyring: area.keyring.clone(),
        policies: area.policies.clone(),
    });
    registry.expiry(&["webhook_deliveries"], |area, most| {
        Box::pin(async move {
            let retention = settings::days(area.policies.number(settings::WEBHOOK_KEEP_DAYS));
            forget_old(&area.db, retention, most).await
        })
    });
}

/// Adds a delivery of the event for each webhook that has none of it yet.
pub async fn add(tx: &mut Tx, organization: Uuid, webhooks: &[Uuid], message: &Message) -> sqlx::Result<()> {
    for id in store::insert(tx, organization, webhooks, message, false).await? {
        work::wake(tx, lifecycle::WebhookDeliveryLifecycle::NAME, id);
    }
    Ok(())
}

/// Adds a delivery that somebody asked for to see whether events arrive.
pub async fn add_test(tx: &mut Tx, webhook: &Webhook, message: &Message) -> sqlx::Result<WebhookDelivery> {
    let (organization, webhooks) = (webhook.organization_id.uuid(), [webhook.id.uuid()]);
    let added = store::insert(tx, organization, &webhooks, message, true).await?;
    let id = added.first().copied().ok_or(sqlx::Error::RowNotFound)?;
    work::wake(tx, lifecycle::WebhookDeliveryLifecycle::NAME, id);
    Ok(store::get(tx, id).await?.ok_or(sqlx::Error::RowNotFound)?.delivery)
}
