//! Which moves an access session may make.

use contract::{
    Word,
    access_sessions::AccessSessionState::{self, Detached, Ended, Open, Opening},
    id::AccessSessionId,
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct AccessSessionLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Opened,
    Detached,
    Resumed,
    Ended,
}

impl Lifecycle for AccessSessionLifecycle {
    const NAME: &'static str = "access_session";
    const TABLE: &'static str = "access_sessions";
    type State = AccessSessionState;
    type Event = Event;
    const STATES: &'static [AccessSessionState] = AccessSessionState::ALL;
    const EVENTS: &'static [Event] = &[Event::Opened, Event::Detached, Event::Resumed, Event::Ended];
    const INITIAL: AccessSessionState = Opening;
    const PARENT_END: ParentEnd =
        ParentEnd::EndsToo("`access_sessions/authorize.rs`: all sessions end with the allocation");
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    /// Gateways speak of what they carry; only what nobody carries must be looked after.
    fn is_driven(state: AccessSessionState) -> bool {
        match state {
            Detached => true,
            Opening | Open | Ended => false,
        }
    }

    fn next(from: AccessSessionState, event: Event) -> Option<AccessSessionState> {
        match (from, event) {
            (Opening, Event::Opened) => Some(Open),
            (Opening | Open, Event::Detached) => Some(Detached),
            (Detached, Event::Resumed) => Some(Open),
            (Opening | Open | Detached, Event::Ended) => Some(Ended),
            (Open | Detached, Event::Opened) => None,
            (Detached, Event::Detached) => None,
            (Opening | Open, Event::Resumed) => None,
            (Ended, Event::Opened | Event::Detached | Event::Resumed | Event::Ended) => None,
        }
    }

    fn label(state: AccessSessionState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::Opened => "opened",
            Event::Detached => "detached",
            Event::Resumed => "resumed",
            Event::Ended => "ended",
        }
    }

    fn text_id(id: Uuid) -> String {
        AccessSessionId::from(id).to_string()
    }
}
