//! Who waits for what, in which order, and what they are told.

use contract::{
    allocations::{AllocationSpec, AllocationState},
    nodes::{CordonNode, NodePath},
    pools::{CreatePool, Isolation, PoolProvider, PoolSpec},
    regions::{CreateRegion, RegionSpec},
};
use gpuaasd::roles::Role;
use testkit::{
    Cloud, Server, Tenant,
    cloud::{ask, because, hosts},
    rounds,
    server::eventually,
};

#[tokio::test(flavor = "multi_thread")]
async fn race_of_two_servers_for_the_last_slot_has_one_winner_and_one_waits() {
    let cloud = Cloud::new(1, 1).await;
    let tenant = cloud.tenant().await;
    let second = Server::with(cloud.world().server.database.clone(), &Role::ALL, |_| ()).await;
    let there = Tenant { client: second.client(Some(&tenant.owner.token)), ..tenant.clone() };
    let races = rounds(100);
    for _ in 0..races {
        let (a, b) = tokio::join!(tenant.ask(ask(1)), there.ask(ask(1)));
        let (winner, loser) = first_active(&tenant, a, b).await;
        tenant.waits(loser).await;
        let held: i64 =
            cloud.asked("SELECT count(*) FROM slots WHERE held_by IS NOT NULL AND $1 IS NOT NULL", winner).await;
        assert_eq!(held, 1);
        tenant.gives_back(winner).await;
        tenant.reaches(loser, AllocationState::Active).await;
        tenant.gives_back(loser).await;
    }
    assert_eq!(cloud.logins(), 0);
    println!(
        "{races} races of two servers for the last slot: each had one winner, and the other got it after the release"
    );
    second.stop().await;
}

type Id = contract::id::AllocationId;

async fn first_active(tenant: &Tenant, a: Id, b: Id) -> (Id, Id) {
    let is_active = async |id| tenant.get(id).await.state == AllocationState::Active;
    eventually("one of the two to run", || async { is_active(a).await || is_active(b).await }).await;
    if is_active(a).await { (a, b) } else { (b, a) }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_one_organization_are_served_in_the_order_in_which_they_came() {
    let cloud = Cloud::new(1, 2).await;
    let tenant = cloud.tenant().await;
    let mut running = tenant.get_one(ask(2)).await.id;
    let mut queue = Vec::new();
    for _ in 0..4 {
        let id = tenant.ask(ask(2)).await;
        tenant.waits(id).await;
        queue.push(id);
    }
    assert_eq!(tenant.why(queue[3]).await.waits_behind, Some(3));
    assert_eq!(tenant.why(queue[3]).await.rule, "3 older requests of the organization wait for the same capacity");
    let canceled = queue.remove(0);
    tenant.gives_back(canceled).await;
    assert_eq!(tenant.why(queue[2]).await.waits_behind, Some(2));
    for next in queue {
        tenant.gives_back(running).await;
        tenant.reaches(next, AllocationState::Active).await;
        running = next;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn request_behind_a_canceled_one_is_visited_at_once() {
    let cloud = Cloud::new(1, 2).await;
    let tenant = cloud.tenant().await;
    tenant.get_one(ask(1)).await;
    let large = tenant.ask(ask(2)).await;
    tenant.waits(large).await;
    let small = tenant.ask(ask(1)).await;
    tenant.waits(small).await;
    tenant.gives_back(large).await;
    tenant.reaches(small, AllocationState::Active).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn organization_that_has_least_comes_first() {
    let cloud = Cloud::new(1, 1).await;
    let (pool, url) = (shared_pool(&cloud).await, format!("https://{}", cloud.world().server.node_address.unwrap()));
    let shared = hosts(&cloud.fleet, pool, url, 1, 4).await;
    let path = NodePath { node_id: cloud.id_of(&cloud.hosts.node(0)) };
    cloud.fleet.operator.call::<CordonNode>(path, Default::default(), because()).await.unwrap();
    let (rich, poor) = (cloud.tenant().await, cloud.tenant().await);
    let mut turns = 0;
    for _ in 0..5 {
        let (first, second) = (rich.get_one(ask(2)).await, rich.get_one(ask(2)).await);
        let greedy = rich.ask(ask(2)).await;
        rich.waits(greedy).await;
        let modest = poor.ask(ask(2)).await;
        poor.waits(modest).await;
        rich.gives_back(first.id).await;
        eventually("one of the two to run", || async {
            rich.get(greedy).await.state != AllocationState::Requested
                || poor.get(modest).await.state != AllocationState::Requested
        })
        .await;
        turns += usize::from(poor.get(modest).await.state != AllocationState::Requested);
        for (who, id) in [(&rich, second.id), (&rich, greedy), (&poor, modest)] {
            who.reaches(id, AllocationState::Active).await;
            who.gives_back(id).await;
        }
    }
    drop(shared);
    assert_eq!(turns, 5, "the organization that held nothing came first in {turns} of 5 turns");
}

/// A pool whose nodes serve several organizations at once.
pub async fn shared_pool(cloud: &Cloud) -> contract::id::PoolId {
    let operator = &cloud.fleet.operator;
    let region = RegionSpec { name: "shared".parse().unwrap() };
    let region = operator.call::<CreateRegion>(Default::default(), Default::default(), region).await.unwrap();
    let spec = PoolSpec {
        name: "shared".parse().unwrap(),
        region_id: region.id,
        provider: PoolProvider::Sim,
        isolation: Isolation::UserRevoke,
        isolates_vms: true,
    };
    operator.call::<CreatePool>(Default::default(), Default::default(), spec).await.unwrap().id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_serves_one_organization_at_a_time_and_the_others_get_the_reason() {
    let cloud = Cloud::new(1, 4).await;
    let (one, other) = (cloud.tenant().await, cloud.tenant().await);
    let first = one.get_one(ask(1)).await;
    let stranger = other.ask(ask(1)).await;
    other.waits(stranger).await;
    let why = other.why(stranger).await;
    assert_eq!(why.rule, "every suitable node serves another organization");
    assert_eq!(why.rejected.iter().map(|it| it.nodes).sum::<u32>(), 1);
    assert!(!format!("{why:?}").contains(cloud.hosts.node(0).name()), "nodes are no business of a tenant: {why:?}");
    one.gives_back(first.id).await;
    other.waits(stranger).await;
    other.gives_back(stranger).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_are_shared_only_where_they_isolate() {
    let cloud = Cloud::new(1, 1).await;
    let (pool, url) = (shared_pool(&cloud).await, format!("https://{}", cloud.world().server.node_address.unwrap()));
    let _shared = hosts(&cloud.fleet, pool, url, 1, 4).await;
    let path = NodePath { node_id: cloud.id_of(&cloud.hosts.node(0)) };
    cloud.fleet.operator.call::<CordonNode>(path, Default::default(), because()).await.unwrap();
    // The pool says so; the host, as one with plain Linux logins, does not, also in what
    // its first poll still brings.
    let mut above = cloud.world().server.database.superuser().await;
    let says_no = "CREATE FUNCTION plain_host() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN NEW.inventory := NEW.inventory || jsonb_build_object(''isolates_vms'', false); RETURN NEW; END';
         CREATE TRIGGER plain_host BEFORE UPDATE OF inventory ON nodes FOR EACH ROW EXECUTE FUNCTION plain_host()";
    sqlx::raw_sql(says_no).execute(&mut above).await.unwrap();
    // Not with the trigger: a report would deadlock with both.
    sqlx::query("UPDATE nodes SET inventory = inventory").execute(&mut above).await.unwrap();
    let (one, other) = (cloud.tenant().await, cloud.tenant().await);
    one.get_one(ask(1)).await;
    let stranger = other.ask(ask(1)).await;
    other.waits(stranger).await;
    assert_eq!(other.why(stranger).await.rule, "every suitable node serves another organization");
    one.get_one(ask(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn explanation_shows_the_fleet_as_it_is_also_where_nothing_is_placed() {
    let cloud = Cloud::new(1, 2).await;
    let tenant = cloud.tenant().await;
    let api = Server::with(cloud.world().server.database.clone(), &[Role::Api], |_| ()).await;
    let there = Tenant { client: api.client(Some(&tenant.owner.token)), ..tenant.clone() };
    let first = tenant.get_one(ask(1)).await;
    let two = tenant.ask(ask(2)).await;
    tenant.waits(two).await;
    let why = there.why(two).await;
    assert_eq!(why.rule, "too few GPUs are free on one node", "a process without a picture of the fleet");
    assert_eq!(why.change.as_deref(), Some("request 1 GPUs instead of 2"));
    assert_eq!(why, tenant.why(two).await);
    // What changed since is read, too.
    let path = NodePath { node_id: cloud.id_of(&cloud.hosts.node(0)) };
    cloud.fleet.operator.call::<CordonNode>(path, Default::default(), because()).await.unwrap();
    assert!(there.why(two).await.rule.starts_with("no suitable node is ready"), "{:?}", there.why(two).await);
    assert_eq!(there.why(first.id).await.rule, "its hosts verified the GPUs; it is running");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn explanation_names_the_rule_and_the_smallest_change() {
    let cloud = Cloud::new(2, 2).await;
    let tenant = cloud.tenant().await;
    let four = tenant.ask(ask(4)).await;
    tenant.waits(four).await;
    let why = tenant.why(four).await;
    assert_eq!((why.state, why.waits_behind), (AllocationState::Requested.into(), Some(0)));
    assert_eq!(why.change.as_deref(), Some("request 2 GPUs instead of 4"), "{}", why.rule);
    tenant.gives_back(four).await;
    assert_eq!(tenant.why(four).await.rule, "it was released: released by its project");

    let far = RegionSpec { name: "far".parse().unwrap() };
    cloud.fleet.operator.call::<CreateRegion>(Default::default(), Default::default(), far).await.unwrap();
    let there = tenant.ask(AllocationSpec { region: Some("far".parse().unwrap()), ..ask(1) }).await;
    tenant.waits(there).await;
    let why = tenant.why(there).await;
    assert!(why.rule.starts_with("no node is in the region"), "{}", why.rule);
    assert_eq!(why.change.as_deref(), Some("use region region-sim-a, which has capacity"));
}
