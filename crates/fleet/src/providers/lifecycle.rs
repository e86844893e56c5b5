//! Which moves a provider may make.

use contract::{
    Word,
    id::ProviderId,
    providers::ProviderState::{self, Active, Removed, Removing},
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct ProviderLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    RemoveRequested,
    Removed,
}

impl Lifecycle for ProviderLifecycle {
    const NAME: &'static str = "provider";
    const TABLE: &'static str = "providers";
    type State = ProviderState;
    type Event = Event;
    const STATES: &'static [ProviderState] = ProviderState::ALL;
    const EVENTS: &'static [Event] = &[Event::RemoveRequested, Event::Removed];
    const INITIAL: ProviderState = Active;
    const PARENT_END: ParentEnd = ParentEnd::Unowned;
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: ProviderState) -> bool {
        match state {
            // One that is active is listed again and again.
            Active | Removing => true,
            Removed => false,
        }
    }

    fn next(from: ProviderState, event: Event) -> Option<ProviderState> {
        match (from, event) {
            (Active, Event::RemoveRequested) => Some(Removing),
            (Removing, Event::Removed) => Some(Removed),
            (Removing | Removed, Event::RemoveRequested) => None,
            (Active | Removed, Event::Removed) => None,
        }
    }

    fn label(state: ProviderState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::RemoveRequested => "remove_requested",
            Event::Removed => "removed",
        }
    }

    fn text_id(id: Uuid) -> String {
        ProviderId::from(id).to_string()
    }
}
