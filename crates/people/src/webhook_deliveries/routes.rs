//! Looking at deliveries, and sending one again.

use contract::{
    Code, Page,
    id::{WebhookDeliveryId, WebhookId},
    webhook_deliveries::{GetWebhookDelivery, ListWebhookDeliveries, ResendWebhookDelivery, WebhookDelivery},
    webhooks::WebhookState,
};
use kernel::lifecycle::transition;

use super::{
    lifecycle::{Event, WebhookDeliveryLifecycle},
    store::{self, StoredDelivery},
};
use crate::{PeopleArea, webhooks};
use platform::http::{Call, Failure, Handle, Request};

impl Handle<ListWebhookDeliveries> for PeopleArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ListWebhookDeliveries>,
    ) -> Result<Page<WebhookDelivery>, Failure> {
        let webhook = request.path.webhook_id;
        if webhooks::target(&mut call.tx, webhook.uuid()).await?.is_none() {
            return Err(Failure::not_found("webhook"));
        }
        let rows = store::list(&mut call.tx, webhook, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<GetWebhookDelivery> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<GetWebhookDelivery>) -> Result<WebhookDelivery, Failure> {
        Ok(read(call, request.path.webhook_id, request.path.delivery_id).await?.delivery)
    }
}

impl Handle<ResendWebhookDelivery> for PeopleArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ResendWebhookDelivery>,
    ) -> Result<WebhookDelivery, Failure> {
        let (webhook, id) = (request.path.webhook_id, request.path.delivery_id);
        let held = read(call, webhook, id).await?;
        let state = webhooks::target(&mut call.tx, webhook.uuid()).await?.map(|it| it.state);
        match state {
            Some(WebhookState::Active) => (),
            Some(WebhookState::Disabled) if held.delivery.is_test => (),
            Some(WebhookState::Disabled) => {
                return Err(Failure::new(Code::Conflict, "the webhook is disabled; enable it first"));
            }
            Some(WebhookState::Deleted) | None => return Err(Failure::new(Code::Conflict, "the webhook is deleted")),
        }
        // Asked for by a member, so it is the organization's news.
        let row = held.versioned(Some(call.organization().uuid()))?;
        transition::<WebhookDeliveryLifecycle>(&mut call.tx, row, Event::ResendRequested, "").await?;
        store::restart(&mut call.tx, id.uuid()).await?;
        Ok(read(call, webhook, id).await?.delivery)
    }
}

/// The path's organization was authorized; a delivery of another webhook is not found.
async fn read(call: &mut Call, webhook: WebhookId, id: WebhookDeliveryId) -> Result<StoredDelivery, Failure> {
    let held = store::get(&mut call.tx, id.uuid()).await?.filter(|it| it.delivery.webhook_id == webhook);
    held.ok_or_else(|| Failure::not_found("delivery"))
}
