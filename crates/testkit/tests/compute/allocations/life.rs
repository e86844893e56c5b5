//! The ways in which an allocation lives and ends when nothing breaks.

use std::time::Duration;

use contract::{
    allocations::{AllocationPath, AllocationSpec, AllocationSshKeys, AllocationState, SetAllocationSshKeys},
    id::AllocationId,
    nodes::SlotCondition,
};
use testkit::{Cloud, cloud::ask, server::eventually};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_becomes_active_by_proof_and_its_release_frees_the_slots_by_evidence() {
    let cloud = Cloud::new(1, 4).await;
    let tenant = cloud.tenant().await;
    let active = tenant.get_one(AllocationSpec { name: Some("mine".parse().unwrap()), ..ask(2) }).await;
    let [part] = &active.parts[..] else { panic!("{active:?}") };
    assert_eq!((part.gpus.len(), part.stage.as_deref()), (2, Some("self_test")));
    let node = cloud.fleet.node(cloud.id_of(&cloud.hosts.node(0))).await.node;
    assert_eq!(part.host.as_deref(), Some(node.name.as_str()), "a member has to know where to log in");
    let held: Vec<String> = cloud
        .slots()
        .await
        .into_iter()
        .filter(|(_, it)| it.held_by == Some(active.id))
        .map(|(_, it)| it.gpu_uuid)
        .collect();
    assert_eq!(held, part.gpus);
    let logins = cloud.hosts.node(0).logins();
    assert_eq!(logins[&active.login].gpus, part.gpus, "the host gave the login its GPUs and no others");

    let released = tenant.gives_back(active.id).await;
    assert!(released.ended_at.is_some() && released.active_at == active.active_at);
    let [Some(evidence)] = &cloud.evidence(active.id).await[..] else { panic!("no evidence") };
    assert_eq!(evidence["gpu_processes_left"], 0);
    assert_eq!((&evidence["home_removed"], &evidence["user_removed"]), (&true.into(), &true.into()));
    for (_, slot) in cloud.slots().await {
        assert_eq!((slot.condition, slot.held_by), (SlotCondition::Clean.into(), None));
    }
    assert_eq!(cloud.logins(), 0);
    let stages: Vec<&str> =
        evidence["stages"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    println!(
        "active after {:?}; released with stages {stages:?}",
        active.active_at.unwrap().duration_since(active.created_at)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_one_frees_its_own_slots_and_none_of_its_neighbors() {
    let cloud = Cloud::new(1, 8).await;
    let tenant = cloud.tenant().await;
    let (first, second) = (tenant.get_one(ask(2)).await, tenant.get_one(ask(4)).await);
    let held = async |by: Option<AllocationId>| {
        let all = cloud.slots().await.into_iter().filter(|(_, it)| it.held_by == by);
        let mut places: Vec<String> = all.map(|(_, it)| it.gpu_uuid).collect();
        places.sort();
        places
    };
    let (firsts, seconds, free) = (held(Some(first.id)).await, held(Some(second.id)).await, held(None).await);
    assert_eq!((firsts.len(), seconds.len(), free.len()), (2, 4, 2));
    tenant.gives_back(first.id).await;
    assert_eq!(held(Some(second.id)).await, seconds, "the neighbor keeps what it holds");
    let mut freed = [firsts, free].concat();
    freed.sort();
    assert_eq!(held(None).await, freed, "what is free now was the first one's, or was free before");
    tenant.gives_back(second.id).await;
    assert_eq!(held(None).await.len(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_or_preparing_one_can_be_given_back() {
    let cloud = Cloud::new(1, 1).await;
    let tenant = cloud.tenant().await;
    cloud.hosts.node(0).script(|it| {
        it.latency_of.insert("create_user".into(), Duration::from_secs(2));
    });
    let first = tenant.ask(ask(1)).await;
    tenant.reaches(first, AllocationState::Provisioning).await;
    let second = tenant.ask(ask(1)).await;
    tenant.waits(second).await;
    let canceled = tenant.release(second).await.unwrap();
    assert_eq!(canceled.state, AllocationState::Released, "it held nothing, so that there is nothing to clean");
    tenant.gives_back(first).await;
    assert!(tenant.get(first).await.active_at.is_none());
    cloud.has_free(1).await;
    assert_eq!(cloud.logins(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_waits_for_whoever_moves_the_allocation_at_that_moment() {
    let cloud = Cloud::new(1, 1).await;
    let tenant = cloud.tenant().await;
    let id = tenant.get_one(ask(1)).await.id;
    let mut above = cloud.world().server.database.superuser().await;
    let mut moving = sqlx::Connection::begin(&mut above).await.unwrap();
    let moved = "UPDATE allocations SET version = version + 1 WHERE id = $1";
    sqlx::query(moved).bind(id.uuid()).execute(&mut *moving).await.unwrap();
    let ((), released) = tokio::join!(
        async {
            let database = &cloud.world().server.database;
            eventually("the release to wait", || database.waits_for_lock()).await;
            moving.commit().await.unwrap();
        },
        tenant.release(id)
    );
    assert_eq!(released.unwrap().state, AllocationState::Releasing);
    tenant.reaches(id, AllocationState::Released).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_ends_by_itself() {
    let cloud = Cloud::new(1, 2).await;
    let tenant = cloud.tenant().await;
    let short = tenant.get_one(AllocationSpec { lease_minutes: contract::Within::new(5), ..ask(1) }).await;
    let long = tenant.get_one(AllocationSpec { lease_minutes: contract::Within::new(10), ..ask(1) }).await;
    assert_eq!(short.lease_ends_at.unwrap(), short.active_at.unwrap() + Duration::from_secs(300));
    cloud.fleet.advance(Duration::from_secs(301));
    let ended = tenant.reaches(short.id, AllocationState::Released).await;
    assert_eq!(ended.reason.as_deref(), Some("its lease ended"));
    cloud.world().server.settle().await;
    assert_eq!(tenant.get(long.id).await.state, AllocationState::Active, "not before its time");
    cloud.has_free(1).await;
    cloud.fleet.advance(Duration::from_secs(600));
    tenant.reaches(long.id, AllocationState::Released).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_of_an_active_one_can_be_changed() {
    let cloud = Cloud::new(1, 1).await;
    let tenant = cloud.tenant().await;
    let (one, two) = (cloud.add_key(&tenant, "one").await, cloud.add_key(&tenant, "two").await);
    let active = tenant.get_one(AllocationSpec { ssh_keys: Some(vec![one.id]), ..ask(1) }).await;
    let keys = || cloud.hosts.node(0).logins()[&active.login].keys;
    assert_eq!(keys(), 1);
    let path = AllocationPath { project_id: tenant.project, allocation_id: active.id };
    for (chosen, count) in [(vec![one.id, two.id], 2), (vec![], 0), (vec![two.id], 1)] {
        let body = AllocationSshKeys { ssh_keys: chosen };
        tenant.client.call::<SetAllocationSshKeys>(path.clone(), Default::default(), body).await.unwrap();
        eventually("the host to know the keys", || async { keys() == count }).await;
    }
    assert_eq!(tenant.get(active.id).await.state, AllocationState::Active);
    tenant.gives_back(active.id).await;
    let body = AllocationSshKeys { ssh_keys: vec![] };
    let late = tenant.client.call::<SetAllocationSshKeys>(path, Default::default(), body).await.unwrap_err();
    assert!(late.is(contract::Code::Conflict), "{late}");
}

#[tokio::test(flavor = "multi_thread")]
async fn allocations_of_a_spread_group_are_on_different_nodes() {
    let cloud = Cloud::new(2, 4).await;
    let tenant = cloud.tenant().await;
    let apart = || AllocationSpec { spread_group: Some("replica".parse().unwrap()), ..ask(1) };
    let (one, two) = (tenant.get_one(apart()).await, tenant.get_one(apart()).await);
    assert_ne!(one.parts[0].node_id, two.parts[0].node_id);
    let third = tenant.ask(apart()).await;
    tenant.waits(third).await;
    assert_eq!(tenant.why(third).await.rule, "every suitable node is excluded by anti-affinity");
    let fourth = tenant.ask(ask(1)).await;
    assert_eq!(
        tenant.waits(fourth).await.reason.as_deref(),
        Some("an older request of the organization waits for the same capacity")
    );
    tenant.gives_back(one.id).await;
    tenant.reaches(fourth, AllocationState::Active).await;
    let third = tenant.reaches(third, AllocationState::Active).await;
    assert_eq!(third.parts[0].node_id, one.parts[0].node_id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gang_gets_all_of_its_nodes_or_none() {
    let cloud = Cloud::new(2, 2).await;
    let tenant = cloud.tenant().await;
    let small = tenant.get_one(ask(1)).await;
    let gang = tenant.ask(AllocationSpec { nodes: contract::Within::new(2).unwrap(), ..ask(2) }).await;
    tenant.waits(gang).await;
    let held = cloud.slots().await.iter().filter(|(_, it)| it.held_by.is_some()).count();
    assert_eq!(held, 1, "a gang that waits holds nothing");
    assert_eq!(tenant.why(gang).await.rule, "too few nodes have enough free capacity at the same time");
    tenant.gives_back(small.id).await;
    let gang = tenant.reaches(gang, AllocationState::Active).await;
    assert_eq!(gang.parts.iter().map(|it| it.gpus.len()).collect::<Vec<_>>(), [2, 2]);
    tenant.gives_back(gang.id).await;
    cloud.has_free(4).await;
}
