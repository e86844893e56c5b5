//! Two control planes, each with its own picture of the fleet, over one node that
//! is kept for a request that waited longest.

use std::time::Duration;

use agent::sim::{self, SimConfig, Tokens};
use client::Client;
use contract::{
    allocations::{AllocationSpec, AllocationState},
    id::AllocationId,
};
use testkit::{
    Plant, Tenant,
    cloud::{add_slice, ask},
    server::eventually,
};

const GPUS: u32 = 4;
/// So many younger requests come while one is free.
const YOUNG: usize = 8;

/// Other SKUs of the same GPUs: of requests for different ones none waits behind another.
async fn add_others(operator: &Client) {
    for nth in 0..YOUNG + 2 {
        add_slice(operator, &format!("other-{nth}"), &[1]).await;
    }
}

/// Asks for one GPU, and waits until it is told that what is free is for somebody else.
async fn is_turned_away(tenant: &Tenant, nth: usize) -> AllocationId {
    let sku = format!("other-{nth}").parse().unwrap();
    let id = tenant.ask(AllocationSpec { sku, ..ask(1) }).await;
    tenant.waits(id).await;
    assert_eq!(tenant.why(id).await.rule, "free capacity is reserved for a request that has waited longer");
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn reserved_node_goes_to_no_younger_request_on_either_control_plane() {
    let plant = Plant::new(1, &[("placement.starvation_guard_seconds", "1")]).await;
    let (one, two) = (plant.plane().await, plant.plane().await);
    add_others(&plant.operator_at(&one)).await;
    let mut config = SimConfig::new(one.url(), plant.roots.clone(), Tokens::List(plant.tokens.clone()));
    (config.nodes, config.gpus_per_node) = (1, GPUS);
    let hosts = sim::Fleet::start(config.heartbeat(Duration::from_secs(1))).await.unwrap();
    let free = "SELECT count(*) FROM slots WHERE condition = 'clean' AND held_by IS NULL";
    eventually("free slots", || async { plant.count(free).await == i64::from(GPUS) }).await;
    let (here, there) = (plant.tenant_at(&one), plant.tenant_at(&two));

    let mut small = Vec::new();
    for _ in 0..GPUS {
        small.push(here.get_one(ask(1)).await.id);
    }
    let large = here.ask(ask(4)).await;
    eventually("room to be kept", || async {
        plant.count("SELECT count(*) FROM nodes WHERE kept_for IS NOT NULL").await == 1
    })
    .await;
    // One is free from here on, and younger requests that fit ask both.
    there.gives_back(small.remove(0)).await;
    let mut young = Vec::new();
    for nth in 0..YOUNG {
        young.push(is_turned_away(if nth % 2 == 0 { &here } else { &there }, nth).await);
    }
    // One control plane alone, and then one that just started and never saw it become kept.
    two.daemon.kill().await;
    young.push(is_turned_away(&here, YOUNG).await);
    let two = plant.plane().await;
    let there = plant.tenant_at(&two);
    young.push(is_turned_away(&there, YOUNG + 1).await);
    while let Some(id) = small.pop() {
        there.gives_back(id).await;
        for id in &young {
            assert_eq!(here.get(*id).await.state, AllocationState::Requested, "it overtook the one that waited longer");
        }
    }
    there.reaches(large, AllocationState::Active).await;
    let kept = "SELECT count(*) FROM nodes JOIN allocations a ON a.id = kept_for WHERE a.state <> 'requested'";
    assert_eq!(plant.count(kept).await, 0, "nothing is kept for one that runs");
    here.gives_back(large).await;
    let running = "SELECT count(*) FROM allocations WHERE state = 'active'";
    eventually("the younger ones to run", || async { plant.count(running).await == i64::from(GPUS) }).await;
    println!("{} younger requests over two control planes waited for the older one, which got the node", young.len());
    drop(hosts);
    for plane in [one, two] {
        plane.daemon.kill().await;
    }
}
