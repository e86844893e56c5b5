//! The hand-over as tables: what is asked of MAAS, and what its answer means.

use MachineState::{Acquiring, Deploying, Enrolling, InService, Releasing};
use contract::Word;

use super::*;

fn facts(state: MachineState) -> Facts {
    Facts {
        state,
        desired: MachineDesired::Serve,
        attempts: 1,
        release_attempts: 0,
        most_attempts: 3,
        is_dirty: true,
        erasing_seen: false,
        is_compensating: false,
        is_late: false,
        is_enrolled: false,
        node: NodeNeed::Nothing,
    }
}

fn machine(status: MetalStatus) -> MetalMachine {
    MetalMachine {
        system_id: "a1".into(),
        hostname: "a1".into(),
        status,
        status_text: format!("{status:?}"),
        power: Power::On,
        pool: None,
        tags: vec![],
    }
}

fn ours(status: MetalStatus) -> ProviderView {
    ProviderView::Ours(machine(status))
}

fn foreign(status: MetalStatus) -> ProviderView {
    ProviderView::Foreign(machine(status))
}

/// What is decided right after the look, as the next visit would see it.
fn next(facts: &Facts, look: &ProviderView) -> (Option<Call>, Option<Event>) {
    let event = match decide(facts, look, None, None) {
        Verdict::Move(event, _) => Some(event),
        Verdict::Nothing | Verdict::Wait | Verdict::Rest | Verdict::EmptyNode | Verdict::Freed => None,
    };
    (call(facts, look), event)
}

const STATUSES: &[MetalStatus] = &[
    MetalStatus::Ready,
    MetalStatus::Allocated,
    MetalStatus::Installing,
    MetalStatus::Installed,
    MetalStatus::FailedInstall,
    MetalStatus::Releasing,
    MetalStatus::FailedReleasing,
    MetalStatus::DiskErasing,
    MetalStatus::FailedDiskErasing,
    MetalStatus::Broken,
    MetalStatus::Other,
];

#[test]
fn the_good_way_asks_for_each_thing_once() {
    assert_eq!(next(&facts(Acquiring), &ProviderView::Free), (Some(Call::Allocate), None));
    assert_eq!(next(&facts(Acquiring), &ours(MetalStatus::Allocated)), (None, Some(Event::Acquired)));
    assert_eq!(next(&facts(Deploying), &ours(MetalStatus::Allocated)), (Some(Call::Install), None));
    assert_eq!(next(&facts(Deploying), &ours(MetalStatus::Installing)), (None, None));
    assert_eq!(next(&facts(Deploying), &ours(MetalStatus::Installed)), (None, Some(Event::Deployed)));
    let enrolled = Facts { is_enrolled: true, ..facts(Enrolling) };
    assert_eq!(next(&enrolled, &ProviderView::Unknown), (None, Some(Event::Enrolled)));
    assert_eq!(decide(&facts(InService), &ours(MetalStatus::Installed), None, None), Verdict::Rest);
    let reimage = Facts { node: NodeNeed::Reimage, ..facts(InService) };
    assert_eq!(next(&reimage, &ours(MetalStatus::Installed)), (None, Some(Event::ReleaseRequested)));
    assert_eq!(next(&facts(Releasing), &ours(MetalStatus::Installed)), (Some(Call::Release), None));
    assert_eq!(next(&facts(Releasing), &ours(MetalStatus::DiskErasing)), (None, None));
    let seen = Facts { erasing_seen: true, ..facts(Releasing) };
    assert_eq!(decide(&seen, &ProviderView::Free, None, None), Verdict::Freed);
}

#[test]
fn machine_of_another_owner_is_never_changed() {
    for state in MachineState::ALL {
        for status in STATUSES {
            assert_eq!(call(&facts(*state), &foreign(*status)), None, "{state} {status:?}");
        }
        assert_eq!(call(&facts(*state), &ProviderView::Gone), None);
        assert_eq!(call(&facts(*state), &ProviderView::Unknown), None);
    }
}

#[test]
fn a_free_machine_is_acquired_only_to_serve_or_to_be_erased() {
    for state in MachineState::ALL {
        let takes = call(&facts(*state), &ProviderView::Free) == Some(Call::Allocate);
        assert_eq!(takes, matches!(state, Acquiring | Releasing), "{state}");
    }
    let seen = Facts { erasing_seen: true, ..facts(Releasing) };
    assert_eq!(call(&seen, &ProviderView::Free), None, "it was erased");
    let clean = Facts { is_dirty: false, ..facts(Releasing) };
    assert_eq!(decide(&clean, &ProviderView::Free, None, None), Verdict::Freed, "it never was installed");
}

#[test]
fn a_failed_erasing_does_not_count_as_one() {
    let seen = Facts { erasing_seen: true, ..facts(Releasing) };
    assert!(erasing_seen(&seen, &ours(MetalStatus::Releasing)) && erasing_seen(&seen, &ProviderView::Free));
    assert!(!erasing_seen(&seen, &ours(MetalStatus::FailedDiskErasing)));
    assert!(erasing_seen(&facts(Releasing), &ours(MetalStatus::DiskErasing)));
    assert!(!erasing_seen(&facts(Releasing), &ProviderView::Free));
}

#[test]
fn machine_never_waits_forever() {
    for state in [Deploying, Enrolling, Releasing] {
        for status in STATUSES.iter().filter(|it| **it != MetalStatus::Ready) {
            let late = Facts { is_late: true, release_attempts: 3, ..facts(state) };
            let verdict = decide(&late, &ours(*status), None, None);
            assert!(matches!(verdict, Verdict::Move(..)), "{state} {status:?}: {verdict:?}");
        }
    }
    let tired = Facts { release_attempts: 3, ..facts(Releasing) };
    assert_eq!(next(&tired, &ours(MetalStatus::FailedDiskErasing)), (None, Some(Event::ReleaseFailed)));
    assert_eq!(next(&tired, &ProviderView::Free), (None, Some(Event::ReleaseFailed)));
}

#[test]
fn every_move_that_is_decided_is_legal() {
    use kernel::lifecycle::Lifecycle;

    use crate::machines::lifecycle::MachineLifecycle;
    let looks: Vec<ProviderView> = STATUSES
        .iter()
        .flat_map(|it| [ours(*it), foreign(*it)])
        .chain([ProviderView::Unknown, ProviderView::Gone, ProviderView::Free])
        .collect();
    for state in MachineState::ALL {
        for look in &looks {
            for bits in 0..32u32 {
                let is = |bit: u32| bits & (1 << bit) != 0;
                let facts = Facts {
                    desired: if is(0) { MachineDesired::Retire } else { MachineDesired::Serve },
                    is_late: is(1),
                    is_enrolled: is(2),
                    node: if is(3) { NodeNeed::Leave } else { NodeNeed::Nothing },
                    release_attempts: if is(4) { 3 } else { 0 },
                    ..facts(*state)
                };
                let called = call(&facts, look);
                if let Verdict::Move(event, _) = decide(&facts, look, called, is(1).then_some("no")) {
                    assert!(MachineLifecycle::next(*state, event).is_some(), "{state} {event:?} {look:?}");
                }
            }
        }
    }
}
