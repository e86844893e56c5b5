//! Deliveries: what became of each event that a webhook was to be sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Page, Timestamp, endpoint,
    id::{EventId, OrganizationId, WebhookDeliveryId, WebhookId},
    list_query, moved_event,
    webhooks::WebhookPath,
    words,
};

endpoint! {
    /// List the deliveries of a webhook.
    ListWebhookDeliveries = GET "/v1/organizations/{organization_id}/webhooks/{webhook_id}/deliveries" {
        path: WebhookPath,
        query: WebhookDeliveryFilter,
        returns: 200 Page<WebhookDelivery>,
        auth: Organization(WebhooksRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Read one delivery.
    GetWebhookDelivery = GET "/v1/organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}" {
        path: WebhookDeliveryPath,
        returns: 200 WebhookDelivery,
        auth: Organization(WebhooksRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Send a delivery again now, whatever became of it; attempts count anew.
    ResendWebhookDelivery = POST "/v1/organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/resend" {
        path: WebhookDeliveryPath,
        returns: 202 WebhookDelivery,
        auth: Organization(WebhooksWrite),
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("webhook_delivery.resend"),
        problems: [NotFound, Conflict, Suspended],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WebhookDeliveryPath {
    pub organization_id: OrganizationId,
    pub webhook_id: WebhookId,
    pub delivery_id: WebhookDeliveryId,
}

list_query! {
    WebhookDeliveryFilter {
        /// Only deliveries in this state.
        state: WebhookDeliveryState,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookDelivery {
    pub id: WebhookDeliveryId,
    pub webhook_id: WebhookId,
    /// The event, as `message_id` in the body names it too.
    pub event_id: EventId,
    pub subject: String,
    /// Whether somebody asked for it to see whether events arrive.
    pub is_test: bool,
    pub state: Open<WebhookDeliveryState>,
    pub attempts: i32,
    /// The status of the last answer, if there was one.
    pub last_status: Option<i32>,
    /// Why the last attempt failed, if it did.
    pub error: Option<String>,
    pub created_at: Timestamp,
    /// When it is sent next; absent when it is not.
    pub next_attempt_at: Option<Timestamp>,
    pub delivered_at: Option<Timestamp>,
}

words! {
    WebhookDeliveryState {
        /// Will be sent, or sent again, by itself.
        Pending = "pending",
        /// The receiver answered with a status of 200 to 299.
        Delivered = "delivered",
        /// Given up; it can be sent again by hand.
        Exhausted = "exhausted",
    }
}

moved_event! {
    /// An event arrived at a webhook.
    WebhookDeliveryDelivered = "webhook_delivery.delivered"
}
moved_event! {
    /// An event was sent to a webhook as often as policy allows, in vain.
    WebhookDeliveryExhausted = "webhook_delivery.exhausted"
}
moved_event! {
    /// Somebody asked for an event to be sent to a webhook again.
    WebhookDeliveryResendRequested = "webhook_delivery.resend_requested"
}
