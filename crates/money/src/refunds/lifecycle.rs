//! Which moves a refund may make. A bank may send the money back after all, so
//! that even one that succeeded can fail.

use contract::{
    Word,
    id::RefundId,
    refunds::RefundState::{self, Failed, Pending, Requested, Succeeded},
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct RefundLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Accepted,
    Succeeded,
    Failed,
}

impl Lifecycle for RefundLifecycle {
    const NAME: &'static str = "refund";
    const TABLE: &'static str = "refunds";
    type State = RefundState;
    type Event = Event;
    const STATES: &'static [RefundState] = RefundState::ALL;
    const EVENTS: &'static [Event] = &[Event::Accepted, Event::Succeeded, Event::Failed];
    const INITIAL: RefundState = Requested;
    const PARENT_END: ParentEnd = ParentEnd::Stays("the record of money");
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: RefundState) -> bool {
        match state {
            Requested => true,
            Pending | Succeeded | Failed => false,
        }
    }

    fn next(from: RefundState, event: Event) -> Option<RefundState> {
        match (from, event) {
            (Requested, Event::Accepted) => Some(Pending),
            (Requested | Pending, Event::Succeeded) => Some(Succeeded),
            (Requested | Pending | Succeeded, Event::Failed) => Some(Failed),
            (Pending | Succeeded | Failed, Event::Accepted) => None,
            (Succeeded | Failed, Event::Succeeded) => None,
            (Failed, Event::Failed) => None,
        }
    }

    fn label(state: RefundState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::Accepted => "accepted",
            Event::Succeeded => "succeeded",
            Event::Failed => "failed",
        }
    }

    fn text_id(id: Uuid) -> String {
        RefundId::from(id).to_string()
    }
}
