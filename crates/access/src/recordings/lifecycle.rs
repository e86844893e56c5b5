//! Which moves a recording may make.

use contract::{
    Word,
    id::RecordingId,
    recordings::RecordingState::{self, Deleted, Recording, Sealed},
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct RecordingLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Sealed,
    Deleted,
}

impl Lifecycle for RecordingLifecycle {
    const NAME: &'static str = "recording";
    const TABLE: &'static str = "recordings";
    type State = RecordingState;
    type Event = Event;
    const STATES: &'static [RecordingState] = RecordingState::ALL;
    const EVENTS: &'static [Event] = &[Event::Sealed, Event::Deleted];
    const INITIAL: RecordingState = Recording;
    const PARENT_END: ParentEnd = ParentEnd::Stays("evidence, retained for `access.recording_days`");
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: RecordingState) -> bool {
        match state {
            Recording | Sealed => true,
            Deleted => false,
        }
    }

    fn next(from: RecordingState, event: Event) -> Option<RecordingState> {
        match (from, event) {
            (Recording, Event::Sealed) => Some(Sealed),
            (Sealed, Event::Deleted) => Some(Deleted),
            (Recording, Event::Deleted) => None,
            (Sealed | Deleted, Event::Sealed) => None,
            (Deleted, Event::Deleted) => None,
        }
    }

    fn label(state: RecordingState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::Sealed => "sealed",
            Event::Deleted => "deleted",
        }
    }

    fn text_id(id: Uuid) -> String {
        RecordingId::from(id).to_string()
    }
}
