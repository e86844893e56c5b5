//! Nobody waits for ever because others are smaller, and nobody behind one that can never run.

use agent::sim;
use contract::{
    allocations::{AllocationSpec, AllocationState},
    id::{AllocationId, NodeId},
    nodes::{CordonNode, NodePath},
};
use testkit::{
    Cloud, Tenant,
    cloud::{ask, because, hosts},
    server::eventually,
    world::set_policy,
};

use crate::allocations::waiting::shared_pool;

/// One node with four GPUs that serves several organizations at once.
async fn shared() -> (Cloud, sim::Handle) {
    shared_nodes(1, 4).await
}

/// So many nodes of so many GPUs.
async fn shared_nodes(nodes: usize, gpus: u32) -> (Cloud, sim::Handle) {
    let cloud = Cloud::new(1, 1).await;
    let (pool, url) = (shared_pool(&cloud).await, format!("https://{}", cloud.world().server.node_address.unwrap()));
    let hosts = hosts(&cloud.fleet, pool, url, nodes, gpus).await;
    let path = NodePath { node_id: cloud.id_of(&cloud.hosts.node(0)) };
    cloud.fleet.operator.call::<CordonNode>(path, Default::default(), because()).await.unwrap();
    (cloud, hosts)
}

/// From now on a request waits long enough at once.
async fn guard_soon(cloud: &Cloud) {
    set_policy(&cloud.fleet.operator, "placement.starvation_guard_seconds", "1").await;
    let control_plane = &cloud.world().server.control_plane;
    control_plane.policies.refresh(&control_plane.db).await.unwrap();
}

/// Four that hold one GPU each, and one of somebody else that waits for all.
async fn crowded(many: &Tenant, big: &Tenant) -> (Vec<AllocationId>, AllocationId) {
    let mut small = Vec::new();
    for _ in 0..4 {
        small.push(many.get_one(ask(1)).await.id);
    }
    let large = big.ask(ask(4)).await;
    big.waits(large).await;
    (small, large)
}

async fn is_kept_room(tenant: &Tenant, id: AllocationId) {
    is_told(tenant, id, "it has waited longest, so 1 node is reserved for it").await;
}

async fn is_told(tenant: &Tenant, id: AllocationId, what: &str) {
    eventually("room to be kept", || async { tenant.get(id).await.reason.is_some_and(|it| it.contains(what)) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_that_waited_longest_is_reserved_room_and_small_ones_no_longer_overtake_it() {
    let (cloud, _hosts) = shared().await;
    let (many, big) = (cloud.tenant().await, cloud.tenant().await);
    let (mut small, large) = crowded(&many, &big).await;
    // Before its time small ones go first: they fit and it does not.
    many.gives_back(small.remove(0)).await;
    small.push(many.get_one(ask(1)).await.id);
    assert_eq!(big.get(large).await.state, AllocationState::Requested);

    guard_soon(&cloud).await;
    is_kept_room(&big, large).await;
    let why = big.why(large).await.rule;
    assert_eq!(
        why,
        "too few GPUs are free on one node; it has waited longest, so 1 node is reserved for it until it fits"
    );
    many.gives_back(small.remove(0)).await;
    let late = many.ask(ask(1)).await;
    many.waits(late).await;
    let why = many.why(late).await;
    assert_eq!(why.rule, "free capacity is reserved for a request that has waited longer");
    assert_eq!(why.change.as_deref(), Some("wait: free capacity is reserved for a request that has waited longer"));
    for id in small {
        many.gives_back(id).await;
        assert_eq!(many.get(late).await.state, AllocationState::Requested, "it overtook the one that waits longer");
    }
    big.reaches(large, AllocationState::Active).await;
    let kept: i64 = cloud.asked("SELECT count(*) FROM nodes WHERE kept_for = $1", large).await;
    assert_eq!(kept, 0, "nothing is kept for one that runs");
    big.gives_back(large).await;
    many.reaches(late, AllocationState::Active).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gang_that_waited_longest_is_reserved_all_its_nodes_and_no_others() {
    let (cloud, hosts) = shared_nodes(3, 2).await;
    let (many, big) = (cloud.tenant().await, cloud.tenant().await);
    let mut small = Vec::new();
    for _ in 0..6 {
        small.push(many.get_one(ask(1)).await.id);
    }
    let gang = big.ask(AllocationSpec { nodes: contract::Within::new(2).unwrap(), ..ask(2) }).await;
    big.waits(gang).await;
    guard_soon(&cloud).await;
    is_told(&big, gang, "it has waited longest, so 2 nodes are reserved for it").await;
    let kept: Vec<uuid::Uuid> =
        cloud.asked("SELECT coalesce(array_agg(id ORDER BY id), '{}') FROM nodes WHERE kept_for = $1", gang).await;
    assert_eq!(kept.len(), 2);
    let is_kept = |id: NodeId| kept.contains(&id.uuid());

    let mut inside = Vec::new();
    for id in small {
        if is_kept(many.get(id).await.parts[0].node_id) {
            inside.push(id);
        }
    }
    assert_eq!(inside.len(), 4, "the third node is somebody else's");
    let late = many.ask(ask(1)).await;
    many.waits(late).await;
    for (nth, id) in inside.iter().enumerate() {
        assert_eq!(big.get(gang).await.state, AllocationState::Requested, "all or nothing, after {nth} left");
        many.gives_back(*id).await;
        assert_eq!(many.get(late).await.state, AllocationState::Requested, "it overtook the gang");
    }
    let runs = big.reaches(gang, AllocationState::Active).await;
    let mut nodes: Vec<uuid::Uuid> = runs.parts.iter().map(|it| it.node_id.uuid()).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, kept, "it runs where room was kept for it");
    for part in &runs.parts {
        let node = cloud.fleet.node(part.node_id).await.node;
        assert_eq!(part.host.as_deref(), Some(node.name.as_str()));
    }
    let left: i64 = cloud.asked("SELECT count(*) FROM nodes WHERE kept_for = $1", gang).await;
    assert_eq!(left, 0, "nothing is kept for one that runs");
    big.gives_back(gang).await;
    many.reaches(late, AllocationState::Active).await;
    drop(hosts);
}

#[tokio::test(flavor = "multi_thread")]
async fn room_reserved_for_a_canceled_request_goes_to_others_at_once() {
    let (cloud, _hosts) = shared().await;
    let (many, big) = (cloud.tenant().await, cloud.tenant().await);
    let (mut small, large) = crowded(&many, &big).await;
    guard_soon(&cloud).await;
    is_kept_room(&big, large).await;
    many.gives_back(small.remove(0)).await;
    let late = many.ask(ask(1)).await;
    many.waits(late).await;
    big.gives_back(large).await;
    many.reaches(late, AllocationState::Active).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_too_large_for_an_empty_fleet_delays_no_other() {
    let cloud = Cloud::new(1, 2).await;
    let tenant = cloud.tenant().await;
    let never = tenant.ask(ask(4)).await;
    let told = tenant.waits(never).await.reason.unwrap();
    assert!(told.ends_with("even if they were empty, so it does not block later requests"), "{told}");
    let small = tenant.get_one(ask(1)).await;
    let why = tenant.why(never).await;
    assert!(why.rule.ends_with("even if they were empty, so it does not block later requests"), "{}", why.rule);
    assert_eq!(why.change.as_deref(), Some("request 1 GPUs instead of 4"));

    // One that could run holds up those behind it, as before.
    let two = tenant.ask(ask(2)).await;
    tenant.waits(two).await;
    let one = tenant.ask(ask(1)).await;
    tenant.waits(one).await;
    assert_eq!((tenant.why(two).await.waits_behind, tenant.why(one).await.waits_behind), (Some(0), Some(1)));
    guard_soon(&cloud).await;
    is_kept_room(&tenant, two).await;
    let kept: i64 = cloud.asked("SELECT count(*) FROM nodes WHERE kept_for = $1", never).await;
    assert_eq!(kept, 0, "no room is kept for what could never use it");
    tenant.gives_back(small.id).await;
    tenant.reaches(two, AllocationState::Active).await;
    tenant.gives_back(one).await;

    // Hosts that are large enough come later: it is placed automatically.
    let url = format!("https://{}", cloud.world().server.node_address.unwrap());
    let pool = testkit::fleet::add_pool(&cloud.fleet.operator, "large", contract::pools::PoolProvider::Sim).await;
    let _large = hosts(&cloud.fleet, pool, url, 1, 4).await;
    tenant.reaches(never, AllocationState::Active).await;
}
