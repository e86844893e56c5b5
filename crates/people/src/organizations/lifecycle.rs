//! Which moves an organization may make.

use contract::{
    Word,
    id::OrganizationId,
    organizations::OrganizationState::{self, Active, Closed, Suspended},
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct OrganizationLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Suspended,
    Resumed,
    Closed,
}

impl Lifecycle for OrganizationLifecycle {
    const NAME: &'static str = "organization";
    const TABLE: &'static str = "organizations";
    type State = OrganizationState;
    type Event = Event;
    const STATES: &'static [OrganizationState] = OrganizationState::ALL;
    const EVENTS: &'static [Event] = &[Event::Suspended, Event::Resumed, Event::Closed];
    const INITIAL: OrganizationState = Active;
    const PARENT_END: ParentEnd = ParentEnd::Unowned;
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: OrganizationState) -> bool {
        match state {
            Active | Suspended | Closed => false,
        }
    }

    fn next(from: OrganizationState, event: Event) -> Option<OrganizationState> {
        match (from, event) {
            (Active, Event::Suspended) => Some(Suspended),
            (Suspended, Event::Resumed) => Some(Active),
            (Active | Suspended, Event::Closed) => Some(Closed),
            (Active, Event::Resumed) | (Suspended, Event::Suspended) => None,
            (Closed, Event::Suspended | Event::Resumed | Event::Closed) => None,
        }
    }

    fn label(state: OrganizationState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::Suspended => "suspended",
            Event::Resumed => "resumed",
            Event::Closed => "closed",
        }
    }

    fn text_id(id: Uuid) -> String {
        OrganizationId::from(id).to_string()
    }
}
