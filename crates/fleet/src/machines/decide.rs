//! What to ask MAAS for, and what its answer means. Pure: the row and the look
//! on one side, the next call or move on the other.

use contract::machines::{MachineDesired, MachineState};

use super::lifecycle::Event;
use platform::ports::metal::{MetalMachine, MetalStatus, Power};

/// How a machine stands in MAAS. Held means: under our own name there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderView {
    /// Nobody looked, because nothing hangs on it or MAAS did not answer.
    Unknown,
    /// MAAS does not know it.
    Gone,
    /// Nobody has it.
    Free,
    Ours(MetalMachine),
    Foreign(MetalMachine),
}

/// A call that changes something in MAAS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Allocate,
    Install,
    Release,
    PowerOn,
}

/// What the row says, as far as it decides.
#[derive(Debug, Clone)]
pub struct Facts {
    pub state: MachineState,
    pub desired: MachineDesired,
    pub attempts: i32,
    pub release_attempts: i32,
    pub most_attempts: i32,
    pub is_dirty: bool,
    pub erasing_seen: bool,
    /// Whether the hand-over before this release failed.
    pub is_compensating: bool,
    pub is_late: bool,
    /// Whether the token of its install was spent.
    pub is_enrolled: bool,
    pub node: NodeNeed,
}

/// What the machine's node asks of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeNeed {
    Nothing,
    /// It must be wiped, and nobody is on it.
    Reimage,
    /// It left the fleet, or the machine shall, and nobody is on it.
    Leave,
    /// The machine shall leave, but somebody is on it.
    Empty,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    /// MAAS is at work; look again soon.
    Wait,
    /// All is well; look again at some time.
    Rest,
    /// Place nothing new on the node until it is empty.
    EmptyNode,
    Move(Event, String),
    /// Free and erased: be acquired again, retire, or count as failed.
    Freed,
}

/// Whether MAAS must be looked at in this state.
pub fn must_look(facts: &Facts) -> bool {
    match facts.state {
        MachineState::Enrolling => !facts.is_enrolled,
        MachineState::Acquiring | MachineState::Deploying | MachineState::InService | MachineState::Releasing => true,
        MachineState::Discovered | MachineState::Erased | MachineState::Failed | MachineState::Retired => false,
    }
}

/// The one call that this look asks for, if any.
pub fn call(facts: &Facts, look: &ProviderView) -> Option<Call> {
    use MetalStatus::{Allocated, Broken, FailedDiskErasing, FailedInstall, FailedReleasing, Installed, Installing};
    match (facts.state, look) {
        (MachineState::Acquiring, ProviderView::Free) if facts.desired == MachineDesired::Serve => Some(Call::Allocate),
        (MachineState::Deploying, ProviderView::Ours(it)) if it.status == Allocated => Some(Call::Install),
        (MachineState::Enrolling, ProviderView::Ours(it))
            if it.status == Installed && it.power == Power::Off && !facts.is_late =>
        {
            Some(Call::PowerOn)
        }
        // Freed without our seeing that it was erased: take it again, to erase it.
        (MachineState::Releasing, ProviderView::Free)
            if facts.is_dirty && !facts.erasing_seen && may_release(facts) =>
        {
            Some(Call::Allocate)
        }
        (MachineState::Releasing, ProviderView::Ours(it)) if may_release(facts) => match it.status {
            Allocated | Installing | Installed | FailedInstall | FailedReleasing | FailedDiskErasing | Broken => {
                Some(Call::Release)
            }
            MetalStatus::Ready | MetalStatus::Releasing | MetalStatus::DiskErasing | MetalStatus::Other => None,
        },
        _ => None,
    }
}

fn may_release(facts: &Facts) -> bool {
    facts.release_attempts < facts.most_attempts
}

/// What follows from the look and from what came of the call.
pub fn decide(facts: &Facts, look: &ProviderView, called: Option<Call>, refused: Option<&str>) -> Verdict {
    match facts.state {
        MachineState::Discovered | MachineState::Erased => match facts.desired {
            MachineDesired::Retire => Verdict::Move(Event::Retired, String::new()),
            MachineDesired::Serve => Verdict::Nothing,
        },
        MachineState::Failed | MachineState::Retired => Verdict::Nothing,
        MachineState::Acquiring => acquiring(facts, look, called, refused),
        MachineState::Deploying => deploying(facts, look, refused),
        MachineState::Enrolling => enrolling(facts, look),
        MachineState::InService => in_service(facts, look),
        MachineState::Releasing => releasing(facts, look, called, refused),
    }
}

fn acquiring(facts: &Facts, look: &ProviderView, called: Option<Call>, refused: Option<&str>) -> Verdict {
    let lost = |why: String| Verdict::Move(Event::AcquireLost, why);
    if facts.desired == MachineDesired::Retire {
        return Verdict::Move(Event::ReleaseRequested, "its retirement was requested".into());
    }
    match look {
        ProviderView::Unknown => Verdict::Wait,
        ProviderView::Gone => lost("it no longer exists in MAAS".into()),
        ProviderView::Free => match refused {
            Some(why) => lost(why.to_owned()),
            // The answer was not the machine that was asked for.
            None if called.is_some() => lost("MAAS did not allocate it".into()),
            None => Verdict::Wait,
        },
        ProviderView::Ours(it) if it.status == MetalStatus::Allocated => Verdict::Move(Event::Acquired, String::new()),
        ProviderView::Ours(it) => {
            Verdict::Move(Event::StrayFound, format!("its status in MAAS is already {}", it.status_text))
        }
        ProviderView::Foreign(it) => {
            lost(format!("it is in use by someone else; its status in MAAS is {}", it.status_text))
        }
    }
}

/// Why a machine that should be held no longer is; nothing when it is.
fn taken_away(look: &ProviderView) -> Option<Verdict> {
    let why = match look {
        ProviderView::Unknown | ProviderView::Ours(_) => return None,
        ProviderView::Gone => "it no longer exists in MAAS".to_owned(),
        ProviderView::Free => "it was released in MAAS by someone else".to_owned(),
        ProviderView::Foreign(it) => format!("it is in use by someone else; its status in MAAS is {}", it.status_text),
    };
    Some(Verdict::Move(Event::Lost, why))
}

fn deploying(facts: &Facts, look: &ProviderView, refused: Option<&str>) -> Verdict {
    let failed = |why: String| Verdict::Move(Event::DeployFailed, why);
    if facts.desired == MachineDesired::Retire {
        return Verdict::Move(Event::ReleaseRequested, "its retirement was requested".into());
    }
    if let Some(lost) = taken_away(look) {
        return lost;
    }
    let ProviderView::Ours(it) = look else { return Verdict::Wait };
    match it.status {
        MetalStatus::Installed => Verdict::Move(Event::Deployed, String::new()),
        MetalStatus::Allocated | MetalStatus::Installing => match refused {
            Some(why) => failed(format!("MAAS rejected the install: {why}")),
            None if facts.is_late => failed("MAAS did not install it in time (`machines.deploy_minutes`)".into()),
            None => Verdict::Wait,
        },
        _ => failed(format!("its status in MAAS is {}", it.status_text)),
    }
}

fn enrolling(facts: &Facts, look: &ProviderView) -> Verdict {
    if facts.is_enrolled {
        return Verdict::Move(Event::Enrolled, String::new());
    }
    if facts.desired == MachineDesired::Retire {
        return Verdict::Move(Event::ReleaseRequested, "its retirement was requested".into());
    }
    if let Some(lost) = taken_away(look) {
        return lost;
    }
    match look {
        ProviderView::Ours(it) if it.status != MetalStatus::Installed => {
            Verdict::Move(Event::DeployFailed, format!("its status in MAAS is {}", it.status_text))
        }
        _ if facts.is_late => Verdict::Move(
            Event::EnrollTimedOut,
            "its agent did not enroll in time (`machines.enroll_minutes`); check the console of the machine".into(),
        ),
        _ => Verdict::Wait,
    }
}

fn in_service(facts: &Facts, look: &ProviderView) -> Verdict {
    match facts.node {
        NodeNeed::Reimage => return Verdict::Move(Event::ReleaseRequested, "its node must be sanitized".into()),
        NodeNeed::Leave => return Verdict::Move(Event::ReleaseRequested, "its retirement was requested".into()),
        NodeNeed::Empty => return Verdict::EmptyNode,
        NodeNeed::Nothing => (),
    }
    if let Some(lost) = taken_away(look) {
        return lost;
    }
    match look {
        ProviderView::Ours(it) if it.status != MetalStatus::Installed => {
            Verdict::Move(Event::Lost, format!("its status in MAAS is {} while it is in service", it.status_text))
        }
        _ => Verdict::Rest,
    }
}

fn releasing(facts: &Facts, look: &ProviderView, called: Option<Call>, refused: Option<&str>) -> Verdict {
    let stuck = |why: String| Verdict::Move(Event::ReleaseFailed, why);
    match look {
        ProviderView::Unknown => Verdict::Wait,
        ProviderView::Gone => Verdict::Move(Event::Lost, "it no longer exists in MAAS".into()),
        ProviderView::Free if !facts.is_dirty || facts.erasing_seen => Verdict::Freed,
        ProviderView::Free if called.is_some() || may_release(facts) => Verdict::Wait,
        ProviderView::Free => stuck("its erasure was never observed".into()),
        ProviderView::Ours(it) | ProviderView::Foreign(it)
            if it.status == MetalStatus::Releasing || it.status == MetalStatus::DiskErasing =>
        {
            if facts.is_late {
                stuck(format!("its status in MAAS is {} for too long (`machines.erase_minutes`)", it.status_text))
            } else {
                Verdict::Wait
            }
        }
        ProviderView::Foreign(it) => Verdict::Move(
            Event::Lost,
            format!("it is in use by someone else; its status in MAAS is {}", it.status_text),
        ),
        ProviderView::Ours(it) if !may_release(facts) || facts.is_late => {
            let why = refused.map(|it| format!(": {it}")).unwrap_or_default();
            stuck(format!("its status in MAAS is {} and MAAS does not release it{why}", it.status_text))
        }
        ProviderView::Ours(_) => Verdict::Wait,
    }
}

/// Whether the erasing that must be seen was, after this look.
pub fn erasing_seen(facts: &Facts, look: &ProviderView) -> bool {
    match look {
        ProviderView::Ours(it) | ProviderView::Foreign(it) => match it.status {
            MetalStatus::DiskErasing => true,
            // What comes after the erasing, or beside it.
            MetalStatus::Releasing | MetalStatus::Ready => facts.erasing_seen,
            _ => false,
        },
        ProviderView::Unknown | ProviderView::Gone | ProviderView::Free => facts.erasing_seen,
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
