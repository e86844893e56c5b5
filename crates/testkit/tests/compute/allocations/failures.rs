//! What breaks on hosts, at every step, and what is left afterwards.

use std::time::Duration;

use agent::sim::{Failing, FalseReport};
use contract::{
    Code,
    allocations::{AllocationSpec, AllocationState},
    nodes::{AttestSlot, NodeHealth, NodeState, SlotCondition, SlotPath},
};
use testkit::{
    Cloud,
    cloud::{ask, because},
    server::eventually,
};

/// As often as a host is asked before it is given up; the policies' defaults.
const PROVISION_ATTEMPTS: u32 = 3;

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_at_any_step_of_provisioning_ends_failed_with_clean_slots() {
    let cloud = Cloud::new(1, 2).await;
    let (tenant, host) = (cloud.tenant().await, cloud.hosts.node(0));
    let steps = ["check_gpus", "create_user", "write_keys", "assign_gpus", "self_test"];
    for step in steps {
        for retryable in [true, false] {
            let times = if retryable { PROVISION_ATTEMPTS } else { 1 };
            host.script(|it| it.failing = Some(Failing { retryable, ..Failing::at(step, times) }));
            let id = tenant.ask(ask(2)).await;
            let failed = tenant.reaches(id, AllocationState::Failed).await;
            let reason = failed.reason.unwrap();
            assert!(reason.starts_with(step), "{step}: {reason}");
            assert!(failed.active_at.is_none() && failed.ended_at.is_some());
            assert!(tenant.why(id).await.rule.contains(step));
            assert!(cloud.evidence(id).await[0].is_some(), "{step}: cleaned by evidence");
            cloud.has_free(2).await;
            assert_eq!(cloud.logins(), 0, "{step}");
        }
        host.script(|it| it.failing = Some(Failing::at(step, PROVISION_ATTEMPTS - 1)));
        let active = tenant.get_one(ask(2)).await;
        assert_eq!(active.reason, None, "{step}: what passed is not told for ever");
        tenant.gives_back(active.id).await;
    }
    host.script(|it| it.self_test_fails = true);
    let id = tenant.ask(ask(1)).await;
    tenant.reaches(id, AllocationState::Failed).await;
    cloud.has_free(2).await;
    println!("failed at each of {steps:?}, once for good and {PROVISION_ATTEMPTS} times in a row: failed, slots clean");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_host_of_a_gang_that_fails_takes_the_whole_gang_back() {
    let cloud = Cloud::new(2, 1).await;
    let tenant = cloud.tenant().await;
    cloud.hosts.node(1).script(|it| it.self_test_fails = true);
    let id = tenant.ask(AllocationSpec { nodes: contract::Within::new(2).unwrap(), ..ask(1) }).await;
    tenant.reaches(id, AllocationState::Failed).await;
    assert!(cloud.evidence(id).await.iter().all(Option::is_some));
    cloud.has_free(2).await;
    assert_eq!(cloud.logins(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_at_any_step_of_cleaning_quarantines_until_a_person_attests() {
    let cloud = Cloud::new(1, 2).await;
    let (tenant, host) = (cloud.tenant().await, cloud.hosts.node(0));
    let steps = ["lock_login", "kill_processes", "remove_home", "remove_user", "check_gpus"];
    for step in steps {
        let active = tenant.get_one(ask(1)).await;
        host.script(|it| it.failing = Some(Failing { retryable: false, ..Failing::at(step, 1) }));
        tenant.release(active.id).await.unwrap();
        let stuck = tenant.reaches(active.id, AllocationState::ReleaseFailed).await;
        assert!(stuck.needs_attention && stuck.reason.unwrap().starts_with(step));
        let (node, slot) = held_by(&cloud, &active).await;
        assert_eq!(slot.condition, SlotCondition::Quarantined);
        assert!(slot.condition_reason.unwrap().starts_with(step));
        let path = SlotPath { node_id: node, slot_id: slot.id };
        let attest = || cloud.fleet.operator.call::<AttestSlot>(path.clone(), Default::default(), because());
        let early = attest().await.unwrap_err();
        assert!(early.is(Code::Conflict), "what is held cannot be attested: {early}");

        let abandoned = cloud.force_release(active.id).await.unwrap();
        assert_eq!((&abandoned.state, abandoned.needs_attention), (&AllocationState::Released.into(), false));
        let (_, slot) = slot_of(&cloud, &active).await;
        assert_eq!((&slot.condition, slot.held_by), (&SlotCondition::Quarantined.into(), None));
        let waiting = tenant.ask(ask(2)).await;
        tenant.waits(waiting).await;
        // The host would not give the GPU away a second time: somebody has to see to it.
        host.evict();
        attest().await.unwrap();
        tenant.reaches(waiting, AllocationState::Active).await;
        tenant.gives_back(waiting).await;
    }
    println!("cleaning failed at each of {steps:?}: release_failed, quarantined, abandoned, attested, used again");
}

#[tokio::test(flavor = "multi_thread")]
async fn allocation_that_could_not_be_cleaned_can_be_released_again() {
    let cloud = Cloud::new(1, 1).await;
    let (tenant, host) = (cloud.tenant().await, cloud.hosts.node(0));
    let active = tenant.get_one(ask(1)).await;
    host.script(|it| it.processes_left = 3);
    tenant.release(active.id).await.unwrap();
    let stuck = tenant.reaches(active.id, AllocationState::ReleaseFailed).await;
    assert_eq!(stuck.reason.as_deref(), Some("3 processes still use the GPUs"));
    host.script(|it| it.processes_left = 0);
    let released = tenant.gives_back(active.id).await;
    assert!(!released.needs_attention);
    // Cleaned by evidence in the end, but quarantined on the way: a person has the last word.
    let (node, slot) = slot_of(&cloud, &active).await;
    assert_eq!((slot.condition, slot.held_by), (SlotCondition::Quarantined.into(), None));
    let path = SlotPath { node_id: node, slot_id: slot.id };
    cloud.fleet.operator.call::<AttestSlot>(path, Default::default(), because()).await.unwrap();
    cloud.has_free(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_lies_in_its_proof_is_marked_and_gets_nothing_more() {
    let cloud = Cloud::new(1, 2).await;
    let (tenant, host) = (cloud.tenant().await, cloud.hosts.node(0));
    host.script(|it| it.lie = Some(FalseReport::ForeignProof));
    let id = tenant.ask(ask(1)).await;
    let failed = tenant.reaches(id, AllocationState::Failed).await;
    assert!(failed.active_at.is_none());
    let node = cloud.fleet.node(cloud.id_of(&host)).await.node;
    assert_eq!(node.health, NodeHealth::Lying);
    assert!(node.health_reason.unwrap().contains("other GPUs"));
    host.script(|it| it.lie = None);
    let next = tenant.ask(ask(1)).await;
    tenant.waits(next).await;
    assert!(tenant.why(next).await.rule.starts_with("no suitable node is healthy"));
}

#[tokio::test(flavor = "multi_thread")]
async fn allocation_on_a_node_that_stays_silent_is_released() {
    let cloud = Cloud::new(1, 1).await;
    let (tenant, host) = (cloud.tenant().await, cloud.hosts.node(0));
    let active = tenant.get_one(ask(1)).await;
    let node = cloud.id_of(&host);
    eventually("the heartbeat", || async { cloud.fleet.node(node).await.node.last_seen_at.is_some() }).await;
    cloud.silences(&host).await;
    cloud.fleet.advance(Duration::from_secs(60));
    cloud.fleet.is(node, NodeState::Ready, NodeHealth::Silent).await;
    assert_eq!(tenant.get(active.id).await.state, AllocationState::Active, "a short silence ends nothing");
    cloud.fleet.advance(Duration::from_secs(900));
    cloud.fleet.is(node, NodeState::Failed, NodeHealth::Silent).await;
    assert_eq!(tenant.get(active.id).await.state, AllocationState::Releasing);
    // As often as a host is asked to clean, each time for the life of a task.
    let asked = async || cloud.asked::<i64>("SELECT count(*) FROM tasks WHERE subject_id = $1", active.id).await;
    let is_over = async || tenant.get(active.id).await.state == AllocationState::ReleaseFailed;
    let mut before = asked().await;
    for _ in 0..20 {
        if is_over().await {
            break;
        }
        cloud.fleet.advance(Duration::from_secs(121));
        eventually("the host to be asked again, or not any more", || async {
            asked().await > before || is_over().await
        })
        .await;
        before = asked().await;
    }
    let lost = tenant.reaches(active.id, AllocationState::ReleaseFailed).await;
    assert!(lost.needs_attention);
    let (_, slot) = slot_of(&cloud, &active).await;
    assert_eq!(slot.condition, SlotCondition::Quarantined);

    host.speak();
    cloud.fleet.is(node, NodeState::Failed, NodeHealth::Ok).await;
    let ended = tenant.reaches(active.id, AllocationState::Failed).await;
    assert_eq!((ended.needs_attention, ended.ended_at.is_some()), (false, true));
    assert_eq!(cloud.logins(), 0, "the host cleaned what it had kept");
}

type Found = (contract::id::NodeId, contract::nodes::Slot);

async fn held_by(cloud: &Cloud, allocation: &contract::allocations::Allocation) -> Found {
    let slots = cloud.slots().await;
    slots.into_iter().find(|(_, it)| it.held_by == Some(allocation.id)).expect("it holds a slot")
}

/// The first slot that an allocation had.
async fn slot_of(cloud: &Cloud, allocation: &contract::allocations::Allocation) -> Found {
    let slots = cloud.slots().await;
    slots.into_iter().find(|(_, it)| it.gpu_uuid == allocation.parts[0].gpus[0]).unwrap()
}
