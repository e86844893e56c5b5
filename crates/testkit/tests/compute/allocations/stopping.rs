//! Allocations that are stopped, and started again.

use std::time::Duration;

use agent::sim::Failing;
use client::ClientError;
use contract::{
    Code,
    allocations::{AllocationPath, AllocationSpec, AllocationSshKeys, AllocationState, SetAllocationSshKeys},
    capacity::ListCapacity,
    nodes::SlotCondition,
};
use testkit::{Cloud, cloud::ask, rounds};

fn refused<T: std::fmt::Debug>(answer: Result<T, ClientError>, says: &str) {
    let error = answer.unwrap_err();
    assert!(error.is(Code::Conflict), "{error}");
    assert_eq!(error.problem().unwrap().detail, says);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_one_keeps_its_slots_while_nothing_of_it_runs_and_starts_by_new_proof() {
    let cloud = Cloud::new(1, 2).await;
    let (tenant, host) = (cloud.tenant().await, cloud.hosts.node(0));
    let active = tenant.get_one(ask(1)).await;
    assert!(!host.logins()[&active.login].stopped);

    let stopping = tenant.stop(active.id).await.unwrap();
    assert_eq!(stopping.state, AllocationState::Stopping);
    let stopped = tenant.reaches(active.id, AllocationState::Stopped).await;
    assert_eq!(stopped.reason.as_deref(), Some("stopped by its project"));
    let login = &host.logins()[&active.login];
    assert!(login.stopped, "the host let its processes go on");
    assert_eq!(login.gpus, active.parts[0].gpus, "nobody else gets its GPUs");
    let [Some(evidence)] = &cloud.evidence(active.id).await[..] else { panic!("no evidence") };
    assert_eq!((&evidence["processes_killed"], &evidence["gpu_processes_left"]), (&1.into(), &0.into()));
    assert_eq!((&evidence["home_removed"], &evidence["user_removed"]), (&false.into(), &false.into()));
    let held = cloud.slots().await.into_iter().filter(|(_, it)| it.held_by == Some(active.id)).count();
    assert_eq!(held, 1, "a stopped one keeps its slots");
    let lines = tenant.client.call::<ListCapacity>(Default::default(), Default::default(), Default::default()).await;
    assert_eq!((lines.as_ref().unwrap().items[0].free, lines.unwrap().items[0].used), (1, 1));
    let other = tenant.ask(ask(2)).await;
    tenant.waits(other).await;
    assert_eq!(
        tenant.why(active.id).await.rule,
        "it is stopped and its GPUs stay reserved for it: stopped by its project"
    );

    let proofs =
        "SELECT count(*) FROM tasks WHERE subject_id = $1 AND verb = 'ensure_allocation' AND reported_at IS NOT NULL";
    let before: i64 = cloud.asked(proofs, active.id).await;
    assert_eq!(tenant.start(active.id).await.unwrap().state, AllocationState::Starting);
    let again = tenant.reaches(active.id, AllocationState::Active).await;
    assert_eq!(cloud.asked::<i64>(proofs, active.id).await, before + 1, "it is active by a new proof");
    assert_eq!((&again.parts[0].gpus, again.active_at), (&active.parts[0].gpus, active.active_at));
    assert_eq!((again.reason.as_deref(), host.logins()[&active.login].stopped), (None, false));
    let told =
        "SELECT string_agg(subject, ' ' ORDER BY version) FROM outbox WHERE resource = (SELECT resource FROM outbox
        WHERE subject = 'allocation.stop_requested' AND $1::uuid IS NOT NULL LIMIT 1) AND version > 3";
    let told: String = cloud.asked(told, active.id).await;
    assert_eq!(told, "allocation.stop_requested allocation.stopped allocation.start_requested allocation.proven");
    tenant.gives_back(other).await;
    tenant.gives_back(active.id).await;
    cloud.has_free(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_chosen_while_it_is_stopped_apply_when_it_starts() {
    let cloud = Cloud::new(1, 1).await;
    let (tenant, host) = (cloud.tenant().await, cloud.hosts.node(0));
    let key = cloud.add_key(&tenant, "later").await;
    let active = tenant.get_one(ask(1)).await;
    tenant.stop(active.id).await.unwrap();
    tenant.reaches(active.id, AllocationState::Stopped).await;
    let path = AllocationPath { project_id: tenant.project, allocation_id: active.id };
    let body = AllocationSshKeys { ssh_keys: vec![key.id] };
    tenant.client.call::<SetAllocationSshKeys>(path, Default::default(), body).await.unwrap();
    assert_eq!(tenant.get(active.id).await.state, AllocationState::Stopped);
    assert_eq!(host.logins()[&active.login].keys, 0, "nobody can log in while it is stopped");
    tenant.start(active.id).await.unwrap();
    tenant.reaches(active.id, AllocationState::Active).await;
    assert_eq!(host.logins()[&active.login].keys, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_fails_ends_stopped_and_keeps_everything() {
    let cloud = Cloud::new(1, 1).await;
    let (tenant, host) = (cloud.tenant().await, cloud.hosts.node(0));
    let active = tenant.get_one(ask(1)).await;
    tenant.stop(active.id).await.unwrap();
    tenant.reaches(active.id, AllocationState::Stopped).await;
    host.script(|it| it.self_test_fails = true);
    tenant.start(active.id).await.unwrap();
    let back = tenant.reaches(active.id, AllocationState::Stopped).await;
    assert!(back.reason.as_deref().unwrap().starts_with("it could not be started: self_test"), "{back:?}");
    assert!(host.logins()[&active.login].stopped, "what the start had prepared is undone");
    let slots = cloud.slots().await;
    assert_eq!((slots[0].1.held_by, &slots[0].1.condition), (Some(active.id), &SlotCondition::Dirty.into()));
    host.script(|it| it.self_test_fails = false);
    tenant.start(active.id).await.unwrap();
    tenant.reaches(active.id, AllocationState::Active).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_stop_needs_attention_and_can_be_stopped_again_or_released() {
    let cloud = Cloud::new(1, 1).await;
    let (tenant, host) = (cloud.tenant().await, cloud.hosts.node(0));
    let active = tenant.get_one(ask(1)).await;

    host.script(|it| it.failing = Some(Failing::at("kill_processes", 1)));
    tenant.stop(active.id).await.unwrap();
    tenant.reaches(active.id, AllocationState::Stopped).await;
    tenant.start(active.id).await.unwrap();
    tenant.reaches(active.id, AllocationState::Active).await;

    host.script(|it| it.processes_left = 3);
    tenant.stop(active.id).await.unwrap();
    testkit::server::eventually("a person to be asked for", || async { tenant.get(active.id).await.needs_attention })
        .await;
    let stuck = tenant.get(active.id).await;
    assert_eq!(
        (&stuck.state, stuck.reason.as_deref()),
        (&AllocationState::Stopping.into(), Some("3 processes still use the GPUs"))
    );
    host.script(|it| it.processes_left = 0);
    tenant.stop(active.id).await.unwrap();
    assert!(!tenant.reaches(active.id, AllocationState::Stopped).await.needs_attention);
    tenant.gives_back(active.id).await;
    cloud.has_free(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_and_start_are_refused_clearly_in_a_wrong_state() {
    let cloud = Cloud::new(1, 1).await;
    let (tenant, stranger) = (cloud.tenant().await, cloud.tenant().await);
    let active = tenant.get_one(ask(1)).await;
    let waiting = tenant.ask(ask(1)).await;
    tenant.waits(waiting).await;
    refused(tenant.stop(waiting).await, "the allocation is requested; it must be active to be stopped");
    refused(tenant.start(active.id).await, "the allocation is active; it must be stopped to be started");
    assert!(stranger.stop(active.id).await.unwrap_err().is(Code::NotFound));
    tenant.stop(active.id).await.unwrap();
    tenant.reaches(active.id, AllocationState::Stopped).await;
    refused(tenant.stop(active.id).await, "the allocation is stopped; it must be active to be stopped");
    tenant.gives_back(waiting).await;
    tenant.gives_back(active.id).await;
    refused(tenant.stop(active.id).await, "the allocation is released; it must be active to be stopped");
    refused(tenant.start(active.id).await, "the allocation is released; it must be stopped to be started");
}

#[tokio::test(flavor = "multi_thread")]
async fn release_always_works_against_a_stop_at_the_same_time() {
    let cloud = Cloud::new(1, 1).await;
    let tenant = cloud.tenant().await;
    let races = rounds(40);
    let mut stops = 0;
    for _ in 0..races {
        let id = tenant.get_one(ask(1)).await.id;
        let (stop, release) = tokio::join!(tenant.stop(id), tenant.release(id));
        stops += usize::from(stop.is_ok());
        if let Err(error) = &stop {
            assert!(error.is(Code::Conflict), "{error}");
        }
        release.expect("what is stopped or about to be can be released");
        tenant.reaches(id, AllocationState::Released).await;
        assert_eq!(cloud.logins(), 0);
        cloud.has_free(1).await;
    }
    println!(
        "{races} races of a stop with a release: {stops} stops were accepted, each allocation ended released and clean"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_ends_also_what_is_stopped() {
    let cloud = Cloud::new(1, 1).await;
    let tenant = cloud.tenant().await;
    let short = tenant.get_one(AllocationSpec { lease_minutes: contract::Within::new(5), ..ask(1) }).await;
    tenant.stop(short.id).await.unwrap();
    tenant.reaches(short.id, AllocationState::Stopped).await;
    // A visit during a jump of the clock would rest for as long as it saw before it.
    let rests = "SELECT count(*) FROM work WHERE id = $1 AND lease IS NULL AND due_at > now() + interval '1 minute'";
    let is_at_rest = || async { cloud.asked::<i64>(rests, short.id).await == 1 };
    testkit::server::eventually("it to rest until its lease ends", is_at_rest).await;
    cloud.fleet.advance(Duration::from_secs(301));
    let ended = tenant.reaches(short.id, AllocationState::Released).await;
    assert_eq!(ended.reason.as_deref(), Some("its lease ended"));
    cloud.has_free(1).await;
}
