//! Which moves a node may make.

use contract::{
    Word,
    id::NodeId,
    nodes::NodeState::{self, Cordoned, Draining, Enrolling, Failed, Maintenance, Ready, Retired, Sanitizing},
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct NodeLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Enrolled,
    Cordoned,
    Uncordoned,
    DrainRequested,
    Drained,
    Restored,
    SanitizeRequested,
    Sanitized,
    Failed,
    Retired,
}

impl Lifecycle for NodeLifecycle {
    const NAME: &'static str = "node";
    const TABLE: &'static str = "nodes";
    type State = NodeState;
    type Event = Event;
    const STATES: &'static [NodeState] = NodeState::ALL;
    const EVENTS: &'static [Event] = &[
        Event::Enrolled,
        Event::Cordoned,
        Event::Uncordoned,
        Event::DrainRequested,
        Event::Drained,
        Event::Restored,
        Event::SanitizeRequested,
        Event::Sanitized,
        Event::Failed,
        Event::Retired,
    ];
    const INITIAL: NodeState = Enrolling;
    const PARENT_END: ParentEnd = ParentEnd::Unowned;
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: NodeState) -> bool {
        match state {
            Draining | Sanitizing => true,
            Enrolling | Ready | Cordoned | Maintenance | Failed | Retired => false,
        }
    }

    fn next(from: NodeState, event: Event) -> Option<NodeState> {
        match (from, event) {
            (Enrolling, Event::Enrolled) => Some(Ready),
            (Ready | Cordoned | Draining | Maintenance | Sanitizing | Failed | Retired, Event::Enrolled) => None,

            (Ready, Event::Cordoned) => Some(Cordoned),
            (Enrolling | Cordoned | Draining | Maintenance | Sanitizing | Failed | Retired, Event::Cordoned) => None,

            // Also how a drain is called off.
            (Cordoned | Draining, Event::Uncordoned) => Some(Ready),
            (Enrolling | Ready | Maintenance | Sanitizing | Failed | Retired, Event::Uncordoned) => None,

            (Ready | Cordoned | Failed, Event::DrainRequested) => Some(Draining),
            (Enrolling | Draining | Maintenance | Sanitizing | Retired, Event::DrainRequested) => None,

            (Draining, Event::Drained) => Some(Maintenance),
            (Enrolling | Ready | Cordoned | Maintenance | Sanitizing | Failed | Retired, Event::Drained) => None,

            (Maintenance | Failed, Event::Restored) => Some(Ready),
            (Enrolling | Ready | Cordoned | Draining | Sanitizing | Retired, Event::Restored) => None,

            (Ready | Cordoned | Maintenance | Failed, Event::SanitizeRequested) => Some(Sanitizing),
            (Enrolling | Draining | Sanitizing | Retired, Event::SanitizeRequested) => None,

            (Sanitizing, Event::Sanitized) => Some(Ready),
            (Enrolling | Ready | Cordoned | Draining | Maintenance | Failed | Retired, Event::Sanitized) => None,

            (Enrolling | Ready | Cordoned | Draining | Maintenance | Sanitizing, Event::Failed) => Some(Failed),
            (Failed | Retired, Event::Failed) => None,

            // A node that takes new work is cordoned or drained first.
            (Enrolling | Cordoned | Maintenance | Sanitizing | Failed, Event::Retired) => Some(Retired),
            (Ready | Draining | Retired, Event::Retired) => None,
        }
    }

    fn label(state: NodeState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::Enrolled => "enrolled",
            Event::Cordoned => "cordoned",
            Event::Uncordoned => "uncordoned",
            Event::DrainRequested => "drain_requested",
            Event::Drained => "drained",
            Event::Restored => "restored",
            Event::SanitizeRequested => "sanitize_requested",
            Event::Sanitized => "sanitized",
            Event::Failed => "failed",
            Event::Retired => "retired",
        }
    }

    fn text_id(id: Uuid) -> String {
        NodeId::from(id).to_string()
    }
}
