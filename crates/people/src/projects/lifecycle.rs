//! Which moves a project may make.

use contract::{
    Word,
    id::ProjectId,
    projects::ProjectState::{self, Active, Deleted, Deleting},
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct ProjectLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    DeleteRequested,
    Deleted,
}

impl Lifecycle for ProjectLifecycle {
    const NAME: &'static str = "project";
    const TABLE: &'static str = "projects";
    type State = ProjectState;
    type Event = Event;
    const STATES: &'static [ProjectState] = ProjectState::ALL;
    const EVENTS: &'static [Event] = &[Event::DeleteRequested, Event::Deleted];
    const INITIAL: ProjectState = Active;
    const PARENT_END: ParentEnd = ParentEnd::EndsToo("`projects/consume.rs`, when its organization is closed");
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: ProjectState) -> bool {
        match state {
            Deleting => true,
            Active | Deleted => false,
        }
    }

    fn next(from: ProjectState, event: Event) -> Option<ProjectState> {
        match (from, event) {
            (Active, Event::DeleteRequested) => Some(Deleting),
            (Deleting, Event::Deleted) => Some(Deleted),
            (Active, Event::Deleted) => None,
            (Deleting | Deleted, Event::DeleteRequested) => None,
            (Deleted, Event::Deleted) => None,
        }
    }

    fn label(state: ProjectState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::DeleteRequested => "delete_requested",
            Event::Deleted => "deleted",
        }
    }

    fn text_id(id: Uuid) -> String {
        ProjectId::from(id).to_string()
    }
}
