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
    /// Resend a delivery now, whatever its state; the count of attempts restarts.
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
    /// Whether it is a test.
    pub is_test: bool,
    pub state: Open<WebhookDeliveryState>,
    pub attempts: i32,
    /// The status of the last response, if any.
    pub last_status: Option<i32>,
    /// The error of the last attempt, if it failed.
    pub error: Option<String>,
    pub created_at: Timestamp,
    /// The time of the next attempt; absent if there is none.
    pub next_attempt_at: Option<Timestamp>,
    pub delivered_at: Option<Timestamp>,
}

words! {
    WebhookDeliveryState {
        /// Will be sent or retried automatically.
        Pending = "pending",
        /// The receiver answered with a status of 200 to 299.
        Delivered = "delivered",
        /// All attempts failed; it can be resent manually.
        Exhausted = "exhausted",
    }
}

moved_event! {
    /// An event arrived at a webhook.
    WebhookDeliveryDelivered = "webhook_delivery.delivered", staff: PlatformOrganizationsRead
}
moved_event! {
    /// All attempts to deliver an event to a webhook failed.
    WebhookDeliveryExhausted = "webhook_delivery.exhausted", staff: PlatformOrganizationsRead
}
moved_event! {
    /// A delivery was resent.
    WebhookDeliveryResendRequested = "webhook_delivery.resend_requested", staff: PlatformOrganizationsRead
}
