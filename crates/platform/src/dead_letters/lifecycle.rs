//! Which moves a dead letter may make.

use contract::{
    Word,
    dead_letters::DeadLetterState::{self, Delivered, Discarded, Exhausted, Waiting},
    id::DeadLetterId,
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct DeadLetterLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Exhausted,
    ReplayRequested,
    Delivered,
    Discarded,
}

impl Lifecycle for DeadLetterLifecycle {
    const NAME: &'static str = kernel::dead_letters::KIND;
    const TABLE: &'static str = "dead_letters";
    type State = DeadLetterState;
    type Event = Event;
    const STATES: &'static [DeadLetterState] = DeadLetterState::ALL;
    const EVENTS: &'static [Event] = &[Event::Exhausted, Event::ReplayRequested, Event::Delivered, Event::Discarded];
    const INITIAL: DeadLetterState = Waiting;
    const PARENT_END: ParentEnd =
        ParentEnd::Stays("an undelivered event is still delivered after its organization is closed");
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: DeadLetterState) -> bool {
        match state {
            Waiting => true,
            Exhausted | Delivered | Discarded => false,
        }
    }

    fn next(from: DeadLetterState, event: Event) -> Option<DeadLetterState> {
        match (from, event) {
            (Waiting, Event::Exhausted) => Some(Exhausted),
            (Waiting | Exhausted, Event::ReplayRequested) => Some(Waiting),
            (Waiting, Event::Delivered) => Some(Delivered),
            (Waiting | Exhausted, Event::Discarded) => Some(Discarded),
            (Exhausted, Event::Exhausted | Event::Delivered) => None,
            (Delivered | Discarded, Event::Exhausted | Event::ReplayRequested) => None,
            (Delivered | Discarded, Event::Delivered | Event::Discarded) => None,
        }
    }

    fn label(state: DeadLetterState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::Exhausted => "exhausted",
            Event::ReplayRequested => "replay_requested",
            Event::Delivered => "delivered",
            Event::Discarded => "discarded",
        }
    }

    fn text_id(id: Uuid) -> String {
        DeadLetterId::from(id).to_string()
    }
}
