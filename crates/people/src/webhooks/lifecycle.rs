//! Which moves a webhook may make.

use contract::{
    Word,
    id::WebhookId,
    webhooks::WebhookState::{self, Active, Deleted, Disabled},
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct WebhookLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// By itself, after too many failures.
    Disabled,
    SwitchedOff,
    Enabled,
    Deleted,
}

impl Lifecycle for WebhookLifecycle {
    const NAME: &'static str = "webhook";
    const TABLE: &'static str = "webhooks";
    type State = WebhookState;
    type Event = Event;
    const STATES: &'static [WebhookState] = WebhookState::ALL;
    const EVENTS: &'static [Event] = &[Event::Disabled, Event::SwitchedOff, Event::Enabled, Event::Deleted];
    const INITIAL: WebhookState = Active;
    const PARENT_END: ParentEnd = ParentEnd::EndsToo("`webhooks/consume.rs`, when its organization is closed");
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: WebhookState) -> bool {
        match state {
            Active | Disabled | Deleted => false,
        }
    }

    fn next(from: WebhookState, event: Event) -> Option<WebhookState> {
        match (from, event) {
            (Active, Event::Disabled | Event::SwitchedOff) => Some(Disabled),
            (Disabled, Event::Enabled) => Some(Active),
            (Active | Disabled, Event::Deleted) => Some(Deleted),
            (Active, Event::Enabled) | (Disabled, Event::Disabled | Event::SwitchedOff) => None,
            (Deleted, Event::Disabled | Event::SwitchedOff | Event::Enabled | Event::Deleted) => None,
        }
    }

    fn label(state: WebhookState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::Disabled => "disabled",
            Event::SwitchedOff => "switched_off",
            Event::Enabled => "enabled",
            Event::Deleted => "deleted",
        }
    }

    fn text_id(id: Uuid) -> String {
        WebhookId::from(id).to_string()
    }
}
