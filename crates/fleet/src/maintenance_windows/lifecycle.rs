//! Which moves a maintenance window may make.

use contract::{
    Word,
    id::MaintenanceWindowId,
    maintenance_windows::MaintenanceWindowState::{self, Active, Canceled, Over, Planned},
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct MaintenanceWindowLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Started,
    Ended,
    Canceled,
}

impl Lifecycle for MaintenanceWindowLifecycle {
    const NAME: &'static str = "maintenance_window";
    const TABLE: &'static str = "maintenance_windows";
    type State = MaintenanceWindowState;
    type Event = Event;
    const STATES: &'static [MaintenanceWindowState] = MaintenanceWindowState::ALL;
    const EVENTS: &'static [Event] = &[Event::Started, Event::Ended, Event::Canceled];
    const INITIAL: MaintenanceWindowState = Planned;
    const PARENT_END: ParentEnd = ParentEnd::Unowned;
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: MaintenanceWindowState) -> bool {
        match state {
            Planned | Active => true,
            Over | Canceled => false,
        }
    }

    fn next(from: MaintenanceWindowState, event: Event) -> Option<MaintenanceWindowState> {
        match (from, event) {
            (Planned, Event::Started) => Some(Active),
            // Nobody was there to start it: what it was planned for is past.
            (Planned | Active, Event::Ended) => Some(Over),
            (Planned | Active, Event::Canceled) => Some(Canceled),
            (Active, Event::Started) => None,
            (Over | Canceled, Event::Started | Event::Ended | Event::Canceled) => None,
        }
    }

    fn label(state: MaintenanceWindowState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::Started => "started",
            Event::Ended => "ended",
            Event::Canceled => "canceled",
        }
    }

    fn text_id(id: Uuid) -> String {
        MaintenanceWindowId::from(id).to_string()
    }
}
