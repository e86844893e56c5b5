//! Which moves an invitation may make.

use contract::{
    Word,
    id::InvitationId,
    invitations::InvitationState::{self, Accepted, Expired, Pending, Revoked},
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct InvitationLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Accepted,
    Revoked,
    Expired,
}

impl Lifecycle for InvitationLifecycle {
    const NAME: &'static str = "invitation";
    const TABLE: &'static str = "invitations";
    type State = InvitationState;
    type Event = Event;
    const STATES: &'static [InvitationState] = InvitationState::ALL;
    const EVENTS: &'static [Event] = &[Event::Accepted, Event::Revoked, Event::Expired];
    const INITIAL: InvitationState = Pending;
    const PARENT_END: ParentEnd = ParentEnd::Stays("it expires, and a closed organization accepts no members");
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: InvitationState) -> bool {
        match state {
            Pending => true,
            Accepted | Revoked | Expired => false,
        }
    }

    fn next(from: InvitationState, event: Event) -> Option<InvitationState> {
        match (from, event) {
            (Pending, Event::Accepted) => Some(Accepted),
            (Pending, Event::Revoked) => Some(Revoked),
            (Pending, Event::Expired) => Some(Expired),
            (Accepted | Revoked | Expired, Event::Accepted | Event::Revoked | Event::Expired) => None,
        }
    }

    fn label(state: InvitationState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::Accepted => "accepted",
            Event::Revoked => "revoked",
            Event::Expired => "expired",
        }
    }

    fn text_id(id: Uuid) -> String {
        InvitationId::from(id).to_string()
    }
}
