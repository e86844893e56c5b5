//! Which moves an allocation may make.

use contract::{
    Word,
    allocations::AllocationState::{
        self, Active, Failed, Provisioning, ReleaseFailed, Released, Releasing, Requested, Starting, Stopped, Stopping,
    },
    id::AllocationId,
};
use kernel::lifecycle::{Lifecycle, OnMove, ParentEnd};
use uuid::Uuid;

use super::metering;

pub struct AllocationLifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Its slots are reserved.
    Placed,
    /// Every host proved what it was asked for.
    Proven,
    /// A host could not prepare it; what was done is taken back.
    ProvisionFailed,
    /// It can never be placed.
    Rejected,
    ReleaseRequested,
    /// It was given back before it held anything.
    Canceled,
    LeaseEnded,
    /// It was stopped for longer than a policy allows.
    StopExpired,
    /// Its project was deleted, or its organization was closed.
    ProjectEnded,
    ForceReleased,
    /// The money for it ran out, and the grace is over.
    FundsExhausted,
    NodeLost,
    /// Its slots are clean and free.
    Cleaned,
    /// What a failed one had prepared is cleaned away.
    Compensated,
    CleaningFailed,
    /// It is over although its slots are not clean: they stay quarantined.
    Abandoned,
    StopRequested,
    Stopped,
    StartRequested,
    /// A host could not start it again; it is stopped once more and keeps what it holds.
    StartFailed,
}

impl Lifecycle for AllocationLifecycle {
    const NAME: &'static str = "allocation";
    const TABLE: &'static str = "allocations";
    type State = AllocationState;
    type Event = Event;
    const STATES: &'static [AllocationState] = AllocationState::ALL;
    const EVENTS: &'static [Event] = &[
        Event::Placed,
        Event::Proven,
        Event::ProvisionFailed,
        Event::Rejected,
        Event::ReleaseRequested,
        Event::Canceled,
        Event::LeaseEnded,
        Event::StopExpired,
        Event::ProjectEnded,
        Event::ForceReleased,
        Event::FundsExhausted,
        Event::NodeLost,
        Event::Cleaned,
        Event::Compensated,
        Event::CleaningFailed,
        Event::Abandoned,
        Event::StopRequested,
        Event::Stopped,
        Event::StartRequested,
        Event::StartFailed,
    ];
    const INITIAL: AllocationState = Requested;
    const PARENT_END: ParentEnd = ParentEnd::EndsFirst;
    const ON_MOVE: Option<OnMove<Self::State>> = Some(metering::on_move);

    fn is_driven(state: AllocationState) -> bool {
        match state {
            Requested | Stopping | Starting | Releasing => true,
            // A host's report wakes it; waking it earlier would find nothing new.
            Provisioning => false,
            // Its lease and the loss of a node wake it.
            Active | Stopped => false,
            Released | Failed | ReleaseFailed => false,
        }
    }

    fn next(from: AllocationState, event: Event) -> Option<AllocationState> {
        match event {
            Event::Placed => match from {
                Requested => Some(Provisioning),
                Provisioning | Active | Stopping | Stopped | Starting | Releasing | Released | Failed
                | ReleaseFailed => None,
            },
            Event::Proven => match from {
                Provisioning | Starting => Some(Active),
                Requested | Active | Stopping | Stopped | Releasing | Released | Failed | ReleaseFailed => None,
            },
            Event::ProvisionFailed => match from {
                Provisioning => Some(Releasing),
                Requested | Active | Stopping | Stopped | Starting | Releasing | Released | Failed | ReleaseFailed => {
                    None
                }
            },
            Event::Rejected => match from {
                Requested => Some(Failed),
                Provisioning | Active | Stopping | Stopped | Starting | Releasing | Released | Failed
                | ReleaseFailed => None,
            },
            Event::Canceled => match from {
                Requested => Some(Released),
                Provisioning | Active | Stopping | Stopped | Starting | Releasing | Released | Failed
                | ReleaseFailed => None,
            },
            // One that could not be cleaned may be tried again.
            Event::ReleaseRequested => match from {
                Provisioning | Active | Stopping | Stopped | Starting | ReleaseFailed => Some(Releasing),
                Requested | Releasing | Released | Failed => None,
            },
            Event::LeaseEnded | Event::NodeLost | Event::ForceReleased => match from {
                Provisioning | Active | Stopping | Stopped | Starting => Some(Releasing),
                Requested | Releasing | Released | Failed | ReleaseFailed => None,
            },
            Event::StopExpired => match from {
                Stopped => Some(Releasing),
                Requested | Provisioning | Active | Stopping | Starting | Releasing | Released | Failed
                | ReleaseFailed => None,
            },
            // What waits holds money too, and nothing that hosts would have to clean.
            Event::FundsExhausted | Event::ProjectEnded => match from {
                Requested => Some(Released),
                Provisioning | Active | Stopping | Stopped | Starting => Some(Releasing),
                Releasing | Released | Failed | ReleaseFailed => None,
            },
            Event::Cleaned => match from {
                Releasing => Some(Released),
                Requested | Provisioning | Active | Stopping | Stopped | Starting | Released | Failed
                | ReleaseFailed => None,
            },
            Event::Compensated => match from {
                Releasing => Some(Failed),
                Requested | Provisioning | Active | Stopping | Stopped | Starting | Released | Failed
                | ReleaseFailed => None,
            },
            Event::CleaningFailed => match from {
                Releasing => Some(ReleaseFailed),
                Requested | Provisioning | Active | Stopping | Stopped | Starting | Released | Failed
                | ReleaseFailed => None,
            },
            // Also while hosts are asked to clean it: one that is lost never answers.
            Event::Abandoned => match from {
                Releasing | ReleaseFailed => Some(Released),
                Requested | Provisioning | Active | Stopping | Stopped | Starting | Released | Failed => None,
            },
            // One that hosts could not stop may be tried again.
            Event::StopRequested => match from {
                Active | Stopping => Some(Stopping),
                Requested | Provisioning | Stopped | Starting | Releasing | Released | Failed | ReleaseFailed => None,
            },
            Event::Stopped => match from {
                Stopping => Some(Stopped),
                Requested | Provisioning | Active | Stopped | Starting | Releasing | Released | Failed
                | ReleaseFailed => None,
            },
            Event::StartRequested => match from {
                Stopped => Some(Starting),
                Requested | Provisioning | Active | Stopping | Starting | Releasing | Released | Failed
                | ReleaseFailed => None,
            },
            Event::StartFailed => match from {
                Starting => Some(Stopping),
                Requested | Provisioning | Active | Stopping | Stopped | Releasing | Released | Failed
                | ReleaseFailed => None,
            },
        }
    }

    fn label(state: AllocationState) -> &'static str {
        state.as_str()
    }

    fn event_name(event: Event) -> &'static str {
        match event {
            Event::Placed => "placed",
            Event::Proven => "proven",
            Event::ProvisionFailed => "provision_failed",
            Event::Rejected => "rejected",
            Event::ReleaseRequested => "release_requested",
            Event::Canceled => "canceled",
            Event::LeaseEnded => "lease_ended",
            Event::StopExpired => "stop_expired",
            Event::ProjectEnded => "project_ended",
            Event::ForceReleased => "force_released",
            Event::FundsExhausted => "funds_exhausted",
            Event::NodeLost => "node_lost",
            Event::Cleaned => "cleaned",
            Event::Compensated => "compensated",
            Event::CleaningFailed => "cleaning_failed",
            Event::Abandoned => "abandoned",
            Event::StopRequested => "stop_requested",
            Event::Stopped => "stopped",
            Event::StartRequested => "start_requested",
            Event::StartFailed => "start_failed",
        }
    }

    fn text_id(id: Uuid) -> String {
        AllocationId::from(id).to_string()
    }
}
