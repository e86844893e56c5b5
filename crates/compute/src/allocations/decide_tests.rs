use contract::{
    allocations::AllocationState,
    id::{AllocationId, NodeId, OrganizationId, ProjectId, SlotId},
    pools::Isolation,
    skus::Shape,
};
use protocol::{Refusal, SelfTest};
use uuid::Uuid;

use super::*;
use crate::placement::slots::HeldSlot;
use fleet::{nodes::Presence, tasks::OrderStatus};

const LIMITS: Limits = Limits {
    provision_attempts: 3,
    cleaning_attempts: 3,
    retry: Duration::from_secs(60),
    task: Duration::from_secs(120),
    lease_warning: Duration::from_secs(3600),
    silent: Duration::from_secs(45),
};

fn node(number: u128) -> NodeId {
    Uuid::from_u128(number).into()
}

fn held(number: u128, gpu: &str) -> HeldSlot {
    HeldSlot {
        node: node(number),
        slot: SlotId::generate(),
        gpu_uuid: gpu.into(),
        pci: "0000:01:00.0".into(),
        isolation: Isolation::UserRevoke,
    }
}

/// Two GPUs on node 1 and one on node 2, in its fifth version.
fn visit(state: AllocationState) -> Visit {
    Visit {
        id: AllocationId::generate(),
        organization: OrganizationId::generate(),
        project: ProjectId::generate(),
        parent: Parent::Active,
        state,
        version: 5,
        login: "g1".into(),
        shape: Shape::GpuSlice,
        limits: Default::default(),
        failure: None,
        attempts: 0,
        needs_attention: false,
        lease_ends_at: None,
        lease: None,
        is_lease_warning_sent: true,
        stop_limit: None,
        now: "2026-01-01T00:00:00Z".parse().unwrap(),
        since: "2025-12-31T23:00:00Z".parse().unwrap(),
        hosts: Vec::new(),
        held: vec![held(1, "a"), held(1, "b"), held(2, "c")],
        orders: Vec::new(),
        request: None,
        has_kept_nodes: false,
    }
}

fn order(number: u128, version: i64, outcome: Option<Outcome>) -> OrderStatus {
    OrderStatus { id: Uuid::now_v7(), node: node(number), version, is_expired: false, outcome }
}

fn proof(gpus: &[&str], passed: bool) -> Done {
    Done::Proof {
        gpus: gpus.iter().map(|it| (*it).to_owned()).collect(),
        driver_version: None,
        self_test: SelfTest { passed, detail: "as told".into() },
        stages: Vec::new(),
    }
}

fn evidence(left: u32) -> Done {
    Done::Evidence {
        stages: Vec::new(),
        processes_killed: 0,
        home_removed: true,
        user_removed: true,
        gpu_processes_left: left,
    }
}

fn done(result: Done) -> Option<Outcome> {
    Some(Outcome::Done { result })
}

fn failed(retryable: bool) -> Option<Outcome> {
    Some(Outcome::Failed { step: "user".into(), code: "user".into(), detail: "no".into(), retryable })
}

#[test]
fn every_node_is_asked_once_and_then_waited_for() {
    let mut visit = visit(AllocationState::Provisioning);
    let both = Step::Order { nodes: vec![node(1), node(2)], because: None };
    assert_eq!(decide(&visit, &LIMITS), both);
    visit.orders = vec![order(1, 5, None), order(2, 4, done(proof(&["c"], true)))];
    let second = Step::Order { nodes: vec![node(2)], because: None };
    assert_eq!(decide(&visit, &LIMITS), second, "what was done for an earlier version does not count");
    visit.orders[1] = order(2, 5, None);
    assert_eq!(decide(&visit, &LIMITS), Step::Wait(LIMITS.task));
}

#[test]
fn allocation_is_active_only_when_every_host_showed_exactly_its_gpus_and_they_work() {
    let mut visit = visit(AllocationState::Provisioning);
    visit.orders = vec![order(1, 5, done(proof(&["b", "a"], true))), order(2, 5, done(proof(&["c"], true)))];
    assert!(matches!(decide(&visit, &LIMITS), Step::Prove(it) if it.len() == 2));
    let lies = [proof(&["a"], true), proof(&["a", "b", "x"], true), proof(&["a", "a"], true), proof(&["a", "x"], true)];
    for lie in lies.into_iter().chain([evidence(0)]) {
        visit.orders[0] = order(1, 5, done(lie.clone()));
        let step = decide(&visit, &LIMITS);
        assert!(matches!(step, Step::FailProvision { liars, .. } if liars[0].0 == node(1)), "{lie:?}");
    }
    visit.orders[0] = order(1, 5, done(proof(&["a", "b"], false)));
    let step = decide(&visit, &LIMITS);
    assert!(matches!(step, Step::FailProvision { liars, .. } if liars.is_empty()), "what is broken is no lie");
}

#[test]
fn a_failure_is_tried_again_a_bounded_number_of_times() {
    let mut visit = visit(AllocationState::Provisioning);
    visit.orders = vec![order(1, 5, failed(true)), order(2, 5, None)];
    assert!(matches!(decide(&visit, &LIMITS), Step::Order { nodes, because: Some(_) } if nodes == [node(1)]));
    visit.attempts = 2;
    assert!(matches!(decide(&visit, &LIMITS), Step::FailProvision { .. }));
    visit.attempts = 0;
    visit.orders[0] = order(1, 5, failed(false));
    assert!(matches!(decide(&visit, &LIMITS), Step::FailProvision { .. }), "what cannot help is not repeated");
    visit.orders[0] = order(1, 5, Some(Outcome::Refused { reason: Refusal::Expired }));
    assert!(matches!(decide(&visit, &LIMITS), Step::Order { .. }));
    visit.orders[0] = OrderStatus { is_expired: true, ..order(1, 5, None) };
    assert!(matches!(decide(&visit, &LIMITS), Step::Order { because: Some(TaskFailure::NoResponse), .. }));
}

#[test]
fn slots_are_freed_on_evidence_and_quarantined_without() {
    let mut visit = visit(AllocationState::Releasing);
    visit.orders = vec![order(1, 5, done(evidence(0))), order(2, 5, done(evidence(0)))];
    assert!(matches!(decide(&visit, &LIMITS), Step::Clean(it) if it.len() == 2));
    visit.orders[1] = order(2, 5, done(evidence(3)));
    assert!(matches!(decide(&visit, &LIMITS), Step::Order { nodes, .. } if nodes == [node(2)]));
    visit.attempts = 2;
    let step = decide(&visit, &LIMITS);
    assert!(
        matches!(&step, Step::FailCleaning { cleaned, .. } if cleaned.len() == 1 && cleaned[0].0 == node(1)),
        "{step:?}"
    );
}

#[test]
fn host_that_is_back_is_asked_again_to_clean_and_one_that_never_left_is_not() {
    let mut visit = visit(AllocationState::ReleaseFailed);
    let seconds = Duration::from_secs;
    let host = |seen_ago, health_since| Presence {
        node: node(1),
        last_seen_at: "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap() - seconds(seen_ago),
        health_since,
    };
    let (before, after) = (visit.since - seconds(1), visit.since + seconds(1));
    visit.orders = vec![OrderStatus { is_expired: true, ..order(1, 4, None) }];
    assert_eq!(decide(&visit, &LIMITS), Step::Nothing, "never heard");
    visit.hosts = vec![host(600, after)];
    assert_eq!(decide(&visit, &LIMITS), Step::Nothing, "silent");
    visit.hosts = vec![host(1, before)];
    assert_eq!(decide(&visit, &LIMITS), Step::CleanAgain, "it never answered");
    visit.orders = vec![order(1, 4, failed(false))];
    assert_eq!(decide(&visit, &LIMITS), Step::Nothing, "it answered that it cannot");
    visit.hosts = vec![host(1, after)];
    assert_eq!(decide(&visit, &LIMITS), Step::CleanAgain, "it was away since");
    (visit.hosts, visit.orders) = (vec![host(1, before)], vec![order(1, 4, done(evidence(0)))]);
    assert_eq!(decide(&visit, &LIMITS), Step::CleanAgain, "its evidence was late");
    for parent in [Parent::Suspended, Parent::Ended] {
        visit.parent = parent;
        assert_eq!(decide(&visit, &LIMITS), Step::CleanAgain, "{parent:?}");
    }
}

#[test]
fn release_that_leaves_the_user_or_its_files_is_not_believed() {
    let left = |user_removed, home_removed| Done::Evidence {
        stages: Vec::new(),
        processes_killed: 0,
        home_removed,
        user_removed,
        gpu_processes_left: 0,
    };
    for report in [left(false, true), left(true, false)] {
        let mut visit = visit(AllocationState::Releasing);
        visit.orders = vec![order(1, 5, done(evidence(0))), order(2, 5, done(report.clone()))];
        assert!(matches!(decide(&visit, &LIMITS), Step::Order { nodes, .. } if nodes == [node(2)]), "{report:?}");
        visit.attempts = 2;
        let step = decide(&visit, &LIMITS);
        assert!(matches!(&step, Step::FailCleaning { cleaned, .. } if cleaned.len() == 1), "{step:?}");
        visit.state = AllocationState::Stopping;
        assert!(matches!(decide(&visit, &LIMITS), Step::Stop(_)), "what is stopped keeps its user and files");
    }
}

#[test]
fn allocation_is_stopped_on_evidence_that_nothing_runs_and_else_needs_attention() {
    let mut visit = visit(AllocationState::Stopping);
    visit.orders = vec![order(1, 5, done(evidence(0))), order(2, 5, done(evidence(0)))];
    visit.lease_ends_at = Some(visit.now + Duration::from_secs(30));
    assert!(matches!(decide(&visit, &LIMITS), Step::Stop(it) if it.len() == 2));
    visit.orders[1] = order(2, 5, done(evidence(1)));
    assert!(matches!(decide(&visit, &LIMITS), Step::Order { nodes, .. } if nodes == [node(2)]));
    visit.attempts = 2;
    assert!(matches!(decide(&visit, &LIMITS), Step::FailStop { .. }));
    visit.lease_ends_at = Some(visit.now);
    assert_eq!(decide(&visit, &LIMITS), Step::EndLease, "also while hosts cannot stop it");
}

#[test]
fn a_failed_start_keeps_its_slots_and_a_stopped_one_waits_for_its_lease() {
    let mut visit = visit(AllocationState::Starting);
    visit.orders = vec![order(1, 5, failed(false)), order(2, 5, None)];
    assert!(matches!(decide(&visit, &LIMITS), Step::FailStart { liars, .. } if liars.is_empty()));
    visit.orders[0] = order(1, 5, done(proof(&["x"], true)));
    assert!(matches!(decide(&visit, &LIMITS), Step::FailStart { liars, .. } if liars[0].0 == node(1)));
    visit.state = AllocationState::Stopped;
    assert_eq!(decide(&visit, &LIMITS), Step::Nothing);
    visit.lease_ends_at = Some(visit.now + Duration::from_secs(30));
    assert_eq!(decide(&visit, &LIMITS), Step::Wait(Duration::from_secs(30)));
    visit.lease_ends_at = Some(visit.now);
    assert_eq!(decide(&visit, &LIMITS), Step::EndLease);
}

#[test]
fn a_lease_ends_it_and_changed_keys_are_sent_to_hosts() {
    let mut visit = visit(AllocationState::Active);
    visit.orders = vec![order(1, 4, done(proof(&["a", "b"], true))), order(2, 4, done(proof(&["c"], true)))];
    assert_eq!(decide(&visit, &LIMITS), Step::Nothing);
    visit.lease_ends_at = Some(visit.now + Duration::from_secs(30));
    assert_eq!(decide(&visit, &LIMITS), Step::Wait(Duration::from_secs(30)));
    visit.version = 6;
    assert_eq!(decide(&visit, &LIMITS), Step::Order { nodes: vec![node(1), node(2)], because: None });
    visit.orders = vec![order(1, 6, done(Done::Keys { count: 1 })), order(2, 6, None)];
    assert_eq!(decide(&visit, &LIMITS), Step::Wait(Duration::from_secs(30)), "no longer than its lease");
    visit.lease_ends_at = Some(visit.now);
    assert_eq!(decide(&visit, &LIMITS), Step::EndLease);
}

#[test]
fn keys_that_hosts_do_not_write_are_tried_again_then_a_person_is_asked() {
    let mut visit = visit(AllocationState::Active);
    visit.version = 6;
    let orders = |outcome: Option<Outcome>| vec![order(1, 6, done(Done::Keys { count: 1 })), order(2, 6, outcome)];
    visit.orders = orders(failed(true));
    assert!(matches!(decide(&visit, &LIMITS), Step::Order { nodes, because: Some(_) } if nodes == [node(2)]));
    visit.attempts = 2;
    assert!(matches!(decide(&visit, &LIMITS), Step::FailKeys { after, .. } if after == LIMITS.retry));
    (visit.attempts, visit.orders) = (0, orders(failed(false)));
    assert!(matches!(decide(&visit, &LIMITS), Step::FailKeys { .. }), "a failure for good is no reason to rest");
    visit.lease_ends_at = Some(visit.now + Duration::from_secs(5));
    assert!(matches!(decide(&visit, &LIMITS), Step::FailKeys { after, .. } if after == Duration::from_secs(5)));
    (visit.lease_ends_at, visit.needs_attention) = (None, true);
    visit.orders = orders(done(Done::Keys { count: 0 }));
    assert_eq!(decide(&visit, &LIMITS), Step::KeysWritten(None), "then nobody has to look any longer");
}

#[test]
fn the_end_of_a_lease_is_announced_once_in_time_and_of_a_short_one_late() {
    let hours = |count: u64| Duration::from_secs(count * 3600);
    let mut visit = visit(AllocationState::Active);
    visit.orders = vec![order(1, 4, done(proof(&["a", "b"], true))), order(2, 4, done(proof(&["c"], true)))];
    (visit.lease, visit.is_lease_warning_sent) = (Some(hours(24)), false);
    visit.lease_ends_at = Some(visit.now + hours(3));
    assert_eq!(decide(&visit, &LIMITS), Step::Wait(hours(2)), "it looks again when it is to be told");
    let soon = visit.now + hours(1);
    visit.lease_ends_at = Some(soon);
    assert_eq!(decide(&visit, &LIMITS), Step::TellLease(soon));
    visit.is_lease_warning_sent = true;
    assert_eq!(decide(&visit, &LIMITS), Step::Wait(hours(1)));
    (visit.lease, visit.is_lease_warning_sent) = (Some(hours(2)), false);
    assert_eq!(decide(&visit, &LIMITS), Step::Wait(hours(1) / 2), "a quarter of the lease is soon enough");
    let never = Limits { lease_warning: Duration::ZERO, ..LIMITS };
    assert_eq!(decide(&visit, &never), Step::Wait(hours(1)));
}

#[test]
fn suspension_stops_what_runs_and_an_end_ends_everything_but_cleaning() {
    let at = |parent, state| decide(&Visit { parent, ..visit(state) }, &LIMITS);
    assert_eq!(at(Parent::Suspended, AllocationState::Requested), Step::HoldBack);
    assert_eq!(at(Parent::Suspended, AllocationState::Active), Step::Suspend);
    let starting = at(Parent::Suspended, AllocationState::Starting);
    assert!(matches!(starting, Step::FailStart { reason: Reason::Suspended, .. }), "{starting:?}");
    for state in [
        AllocationState::Requested,
        AllocationState::Provisioning,
        AllocationState::Active,
        AllocationState::Stopping,
        AllocationState::Stopped,
        AllocationState::Starting,
    ] {
        assert_eq!(at(Parent::Ended, state), Step::EndWithProject, "{state}");
    }
    for parent in [Parent::Suspended, Parent::Ended] {
        assert!(matches!(at(parent, AllocationState::Releasing), Step::Order { .. }), "hosts clean all the same");
        assert_eq!(at(parent, AllocationState::ReleaseFailed), Step::Nothing);
    }
}

/// Members cannot start it, and were told that files stay: the limit is long over and does not count.
#[test]
fn suspension_keeps_what_is_stopped_until_its_lease_ends() {
    let mut visit = Visit { parent: Parent::Suspended, ..visit(AllocationState::Stopped) };
    let since = visit.now - Duration::from_secs(9 * 3600);
    let ends_at = visit.now - Duration::from_secs(3600);
    for is_notified in [false, true] {
        visit.stop_limit = Some(StopLimit { since, ends_at, hours: 8, is_notified });
        assert_eq!(decide(&visit, &LIMITS), Step::Wait(STOPPED_LOOK));
    }
    visit.lease_ends_at = Some(visit.now + Duration::from_secs(30));
    assert_eq!(decide(&visit, &LIMITS), Step::Wait(Duration::from_secs(30)));
    visit.lease_ends_at = Some(visit.now);
    assert_eq!(decide(&visit, &LIMITS), Step::EndLease);
}

#[test]
fn stopped_one_is_warned_of_and_then_ends_after_the_policys_time() {
    let now: contract::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let at = |left: u64, is_notified| {
        let ends_at = now + Duration::from_secs(left);
        decide(
            &Visit {
                stop_limit: Some(StopLimit { since: now, ends_at, hours: 8, is_notified }),
                ..visit(AllocationState::Stopped)
            },
            &LIMITS,
        )
    };
    assert_eq!(at(8 * 3600, false), Step::Wait(Duration::from_secs(3600)));
    assert_eq!(at(2 * 3600 + 60, false), Step::Wait(Duration::from_secs(60)));
    assert_eq!(at(2 * 3600, false), Step::WarnStop(now + Duration::from_secs(7200)));
    assert_eq!(at(600, true), Step::Wait(Duration::from_secs(600)));
    assert_eq!(at(0, true), Step::EndStop(8));
}
