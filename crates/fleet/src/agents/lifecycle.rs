//! Which moves the update of a node's agent may make.

use contract::{
    Word,
    agents::AgentUpdateState::{self, Failed, RolledBack, Stopped, Updated, Updating, Waiting},
    id::AgentUpdateId,
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct AgentUpdateLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Ordered,
    Updated,
    RolledBack,
    Failed,
    Stopped,
}

impl Lifecycle for AgentUpdateLifecycle {
    const NAME: &'static str = "agent_update";
    const TABLE: &'static str = "agent_updates";
    type State = AgentUpdateState;
    type Event = Event;
    const STATES: &'static [AgentUpdateState] = AgentUpdateState::ALL;
    const EVENTS: &'static [Event] =
        &[Event::Ordered, Event::Updated, Event::RolledBack, Event::Failed, Event::Stopped];
    const INITIAL: AgentUpdateState = Waiting;
    const PARENT_END: ParentEnd = ParentEnd::Unowned;
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: AgentUpdateState) -> bool {
        match state {
            Waiting | Updating => true,
            Updated | RolledBack | Failed | Stopped => false,
        }
    }

    fn next(from: AgentUpdateState, event: Event) -> Option<AgentUpdateState> {
        match (from, event) {
            (Waiting, Event::Ordered) => Some(Updating),
            // A node that waits may come to run the version in another way.
            (Waiting | Updating, Event::Updated) => Some(Updated),
            (Waiting | Updating, Event::Failed) => Some(Failed),
            (Updating, Event::RolledBack) => Some(RolledBack),
            (Waiting, Event::Stopped) => Some(Stopped),
            (Waiting, Event::RolledBack) => None,
            // What a host was told cannot be taken back; its report ends it.
            (Updating, Event::Ordered | Event::Stopped) => None,
            (
                Updated | RolledBack | Failed | Stopped,
                Event::Ordered | Event::Updated | Event::RolledBack | Event::Failed | Event::Stopped,
            ) => None,
        }
    }

    fn label(state: AgentUpdateState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::Ordered => "ordered",
            Event::Updated => "updated",
            Event::RolledBack => "rolled_back",
            Event::Failed => "failed",
            Event::Stopped => "stopped",
        }
    }

    fn text_id(id: Uuid) -> String {
        AgentUpdateId::from(id).to_string()
    }
}
