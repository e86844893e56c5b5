//! Which moves a machine may make, and how each failed step is taken back: a
//! machine that was acquired leaves only through `releasing`, which erases it.

use contract::{
    Word,
    id::MachineId,
    machines::MachineState::{
        self, Acquiring, Deploying, Discovered, Enrolling, Erased, Failed, InService, Releasing, Retired,
    },
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

pub struct MachineLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    AcquireRequested,
    Acquired,
    AcquireLost,
    Deployed,
    DeployFailed,
    Enrolled,
    EnrollTimedOut,
    ReleaseRequested,
    StrayFound,
    Erased,
    Compensated,
    ReleaseFailed,
    Lost,
    RetryRequested,
    Retired,
}

impl Lifecycle for MachineLifecycle {
    const NAME: &'static str = "machine";
    const TABLE: &'static str = "machines";
    type State = MachineState;
    type Event = Event;
    const STATES: &'static [MachineState] = MachineState::ALL;
    const EVENTS: &'static [Event] = &[
        Event::AcquireRequested,
        Event::Acquired,
        Event::AcquireLost,
        Event::Deployed,
        Event::DeployFailed,
        Event::Enrolled,
        Event::EnrollTimedOut,
        Event::ReleaseRequested,
        Event::StrayFound,
        Event::Erased,
        Event::Compensated,
        Event::ReleaseFailed,
        Event::Lost,
        Event::RetryRequested,
        Event::Retired,
    ];
    const INITIAL: MachineState = Discovered;
    const PARENT_END: ParentEnd = ParentEnd::Unowned;
    const ON_MOVE: Option<OnMove<Self::State>> = None;

    fn is_driven(state: MachineState) -> bool {
        match state {
            Acquiring | Deploying | Enrolling | InService | Releasing => true,
            Discovered | Erased | Failed | Retired => false,
        }
    }

    fn next(from: MachineState, event: Event) -> Option<MachineState> {
        match (from, event) {
            (Discovered | Erased, Event::AcquireRequested) => Some(Acquiring),
            (Acquiring | Deploying | Enrolling | InService, Event::AcquireRequested) => None,
            (Releasing | Failed | Retired, Event::AcquireRequested) => None,

            (Acquiring, Event::Acquired) => Some(Deploying),
            // Somebody was faster: nothing is held, nothing is taken back.
            (Acquiring, Event::AcquireLost) => Some(Discovered),
            (Discovered | Deploying | Enrolling | InService, Event::Acquired | Event::AcquireLost) => None,
            (Releasing | Erased | Failed | Retired, Event::Acquired | Event::AcquireLost) => None,

            (Deploying, Event::Deployed) => Some(Enrolling),
            (Discovered | Acquiring | Enrolling | InService, Event::Deployed) => None,
            (Releasing | Erased | Failed | Retired, Event::Deployed) => None,

            // Taken back by erasing and giving back.
            (Deploying | Enrolling, Event::DeployFailed) => Some(Releasing),
            (Enrolling, Event::EnrollTimedOut) => Some(Releasing),
            (Discovered | Acquiring | InService, Event::DeployFailed) => None,
            (Releasing | Erased | Failed | Retired, Event::DeployFailed) => None,
            (Discovered | Acquiring | Deploying | InService, Event::EnrollTimedOut) => None,
            (Releasing | Erased | Failed | Retired, Event::EnrollTimedOut) => None,

            (Enrolling, Event::Enrolled) => Some(InService),
            (Discovered | Acquiring | Deploying | InService, Event::Enrolled) => None,
            (Releasing | Erased | Failed | Retired, Event::Enrolled) => None,

            (Acquiring | Deploying | Enrolling | InService, Event::ReleaseRequested) => Some(Releasing),
            (Discovered | Releasing | Erased | Failed | Retired, Event::ReleaseRequested) => None,

            // An answer that came late, or records that were restored.
            (Discovered | Acquiring | Erased | Retired, Event::StrayFound) => Some(Releasing),
            (Deploying | Enrolling | InService | Releasing | Failed, Event::StrayFound) => None,

            (Releasing, Event::Erased) => Some(Erased),
            // Erased and free, but not tried again: the hand-over failed too often.
            (Releasing, Event::Compensated) => Some(Failed),
            // Still held, and perhaps not erased.
            (Releasing, Event::ReleaseFailed) => Some(Failed),
            (
                Discovered | Acquiring | Deploying | Enrolling | InService,
                Event::Erased | Event::Compensated | Event::ReleaseFailed,
            ) => None,
            (Erased | Failed | Retired, Event::Erased | Event::Compensated | Event::ReleaseFailed) => None,

            (Deploying | Enrolling | InService | Releasing, Event::Lost) => Some(Failed),
            (Discovered | Acquiring | Erased | Failed | Retired, Event::Lost) => None,

            (Failed, Event::RetryRequested) => Some(Releasing),
            (Retired, Event::RetryRequested) => Some(Discovered),
            (Discovered | Acquiring | Deploying | Enrolling, Event::RetryRequested) => None,
            (InService | Releasing | Erased, Event::RetryRequested) => None,

            (Discovered | Erased | Failed, Event::Retired) => Some(Retired),
            (Acquiring | Deploying | Enrolling | InService | Releasing | Retired, Event::Retired) => None,
        }
    }

    fn label(state: MachineState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::AcquireRequested => "acquire_requested",
            Event::Acquired => "acquired",
            Event::AcquireLost => "acquire_lost",
            Event::Deployed => "deployed",
            Event::DeployFailed => "deploy_failed",
            Event::Enrolled => "enrolled",
            Event::EnrollTimedOut => "enroll_timed_out",
            Event::ReleaseRequested => "release_requested",
            Event::StrayFound => "stray_found",
            Event::Erased => "erased",
            Event::Compensated => "compensated",
            Event::ReleaseFailed => "release_failed",
            Event::Lost => "lost",
            Event::RetryRequested => "retry_requested",
            Event::Retired => "retired",
        }
    }

    fn text_id(id: Uuid) -> String {
        MachineId::from(id).to_string()
    }
}
