//! Which moves a delivery may make.

use contract::{
    Word,
    id::WebhookDeliveryId,
    webhook_deliveries::WebhookDeliveryState::{self, Delivered, Exhausted, Pending},
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct WebhookDeliveryLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Delivered,
    Exhausted,
    ResendRequested,
}

impl Lifecycle for WebhookDeliveryLifecycle {
    const NAME: &'static str = "webhook_delivery";
    const TABLE: &'static str = "webhook_deliveries";
    type State = WebhookDeliveryState;
    type Event = Event;
    const STATES: &'static [WebhookDeliveryState] = WebhookDeliveryState::ALL;
    const EVENTS: &'static [Event] = &[Event::Delivered, Event::Exhausted, Event::ResendRequested];
    const INITIAL: WebhookDeliveryState = Pending;
    const PARENT_END: ParentEnd = ParentEnd::EndsToo("with its webhook");
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: WebhookDeliveryState) -> bool {
        match state {
            Pending => true,
            Delivered | Exhausted => false,
        }
    }

    fn next(from: WebhookDeliveryState, event: Event) -> Option<WebhookDeliveryState> {
        match (from, event) {
            (Pending, Event::Delivered) => Some(Delivered),
            (Pending, Event::Exhausted) => Some(Exhausted),
            (Pending | Delivered | Exhausted, Event::ResendRequested) => Some(Pending),
            (Delivered | Exhausted, Event::Delivered | Event::Exhausted) => None,
        }
    }

    fn label(state: WebhookDeliveryState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::Delivered => "delivered",
            Event::Exhausted => "exhausted",
            Event::ResendRequested => "resend_requested",
        }
    }

    fn text_id(id: Uuid) -> String {
        WebhookDeliveryId::from(id).to_string()
    }
}
