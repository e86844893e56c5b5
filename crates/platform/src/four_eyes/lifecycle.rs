//! Which moves a correction may make.

use contract::{
    Word,
    corrections::CorrectionState::{self, Expired, Posted, Proposed, Rejected},
    id::CorrectionId,
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct CorrectionLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Posted,
    Rejected,
    Expired,
}

impl Lifecycle for CorrectionLifecycle {
    const NAME: &'static str = "correction";
    const TABLE: &'static str = "corrections";
    type State = CorrectionState;
    type Event = Event;
    const STATES: &'static [CorrectionState] = CorrectionState::ALL;
    const EVENTS: &'static [Event] = &[Event::Posted, Event::Rejected, Event::Expired];
    const INITIAL: CorrectionState = Proposed;
    const PARENT_END: ParentEnd = ParentEnd::Stays("the record of a change to the books");
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: CorrectionState) -> bool {
        match state {
            Proposed => true,
            Posted | Rejected | Expired => false,
        }
    }

    fn next(from: CorrectionState, event: Event) -> Option<CorrectionState> {
        match (from, event) {
            (Proposed, Event::Posted) => Some(Posted),
            (Proposed, Event::Rejected) => Some(Rejected),
            (Proposed, Event::Expired) => Some(Expired),
            (Posted | Rejected | Expired, Event::Posted | Event::Rejected | Event::Expired) => None,
        }
    }

    fn label(state: CorrectionState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::Posted => "posted",
            Event::Rejected => "rejected",
            Event::Expired => "expired",
        }
    }

    fn text_id(id: Uuid) -> String {
        CorrectionId::from(id).to_string()
    }
}
