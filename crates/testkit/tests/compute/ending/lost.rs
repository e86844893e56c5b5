//! A host that is lost costs nobody.

use std::time::Duration;

use contract::{
    Code, Nothing,
    allocations::{Allocation, AllocationSpec, AllocationState},
    id::NodeId,
    nodes::{NodeHealth, NodePath, NodeState, RetireNode, RetireSpec},
    quotas::{QuotaPath, QuotaSpec, SetQuota},
};
use testkit::{Cloud, Tenant, cloud::ask, process::binary, server::eventually, world::set_policy};

use crate::ending::stand::{PRICE, balance, burn, cloud, count, inventory, post, prove, refresh};

const LAST_SEEN: &str =
    "SELECT coalesce((SELECT epoch_us(h.last_seen_at) FROM node_heartbeats h JOIN allocation_parts p ON p.node_id = h.node_id
       WHERE p.allocation_id = $1), 0)";
const STARTED: &str = "SELECT epoch_us(at) FROM usage WHERE allocation_id = $1 AND kind = 'start'";

/// An allocation whose host falls silent after a while; when it was last heard.
pub async fn lost(cloud: &Cloud, tenant: &Tenant) -> (Allocation, NodeId, i64) {
    let active = tenant.get_one(ask(1)).await;
    let (node, seen) = silenced(cloud, tenant, &active).await;
    (active, node, seen)
}

/// The host of an allocation falls silent after a while, and is marked so; when it was last heard.
async fn silenced(cloud: &Cloud, tenant: &Tenant, active: &Allocation) -> (NodeId, i64) {
    let node = falls_silent(cloud, active).await;
    passes(cloud, active, Duration::from_secs(60), async || {
        has(cloud, node, NodeState::Ready, NodeHealth::Silent).await
    })
    .await;
    post(cloud, tenant.organization).await;
    (node, cloud.asked(LAST_SEEN, active.id).await)
}

/// The host of an allocation falls silent after a while.
async fn falls_silent(cloud: &Cloud, active: &Allocation) -> NodeId {
    let host = cloud.hosts.node(0);
    let node = cloud.id_of(&host);
    let started: i64 = cloud.asked(STARTED, active.id).await;
    cloud.fleet.advance(Duration::from_secs(100));
    eventually("a heartbeat", || async { cloud.asked::<i64>(LAST_SEEN, active.id).await > started + 100_000_000 })
        .await;
    host.silence();
    node
}

async fn has(cloud: &Cloud, node: NodeId, state: NodeState, health: NodeHealth) -> bool {
    cloud.fleet.state(node).await == (state.to_string(), health.to_string())
}

/// Time passes until it is so. A heartbeat that was under way when the host fell silent may
/// be written after the clock was moved, and counts as one of the new time: then it is moved again.
async fn passes(cloud: &Cloud, active: &Allocation, time: Duration, is_so: impl AsyncFn() -> bool) {
    for _ in 0..5 {
        let seen: i64 = cloud.asked(LAST_SEEN, active.id).await;
        cloud.fleet.advance(time);
        eventually("the silence to be noticed, or a late heartbeat", || async {
            is_so().await || cloud.asked::<i64>(LAST_SEEN, active.id).await > seen
        })
        .await;
        if is_so().await {
            return;
        }
    }
    panic!("a silent host is still heard");
}

pub async fn declared(cloud: &Cloud, node: NodeId) {
    cloud.fleet.advance(Duration::from_secs(900));
    cloud.fleet.is(node, NodeState::Failed, NodeHealth::Silent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_host_is_charged_until_its_last_sign_of_life_and_no_longer() {
    let cloud = cloud(1, 2).await;
    let tenant = cloud.tenant().await;
    let (active, node, seen) = lost(&cloud, &tenant).await;
    let posted = -balance(&tenant).await.unwrap().posted_micros;
    declared(&cloud, node).await;
    post(&cloud, tenant.organization).await;
    let started: i64 = cloud.asked(STARTED, active.id).await;
    let due = PRICE * (seen - started) / 3_600_000_000;
    assert!(posted > due, "something was charged beyond it: {posted} of {due}");
    let paid = -balance(&tenant).await.unwrap().posted_micros;
    assert_eq!(paid, due, "micros paid, and micros due until the host was last heard");
    assert_eq!((prove(&tenant).await.difference, burn(&tenant).await), (None, 0));
    let notified = "SELECT count(*) FROM notifications WHERE kind = 'allocation_node_lost' AND body LIKE '%refunded%'";
    eventually("its requester to be notified", || async { count(&cloud, notified).await == 1 }).await;
}

/// What it said before it died changes nothing: nobody pays for a host that is not heard.
#[tokio::test(flavor = "multi_thread")]
async fn lying_host_that_dies_is_given_up_and_stays_marked() {
    let cloud = cloud(1, 2).await;
    let tenant = cloud.tenant().await;
    let active = tenant.get_one(ask(1)).await;
    let node = cloud.id_of(&cloud.hosts.node(0));
    let mut changed = inventory(&cloud, node).await;
    changed.gpus[0].memory_bytes /= 2;
    let mut tx = cloud.fleet.tx().await;
    let judged = fleet::nodes::report_inventory(&mut tx, node, &changed).await.unwrap();
    tx.commit().await.unwrap();
    assert!(matches!(judged, fleet::nodes::InventoryVerdict::Lying(_)), "{judged:?}");
    falls_silent(&cloud, &active).await;
    let is_explained = async || tenant.why(active.id).await.rule.contains("was last seen at");
    passes(&cloud, &active, Duration::from_secs(60), is_explained).await;
    post(&cloud, tenant.organization).await;
    passes(&cloud, &active, Duration::from_secs(900), async || {
        has(&cloud, node, NodeState::Failed, NodeHealth::Lying).await
    })
    .await;
    assert_eq!(tenant.get(active.id).await.state, AllocationState::Releasing);
    post(&cloud, tenant.organization).await;
    let (started, seen): (i64, i64) = (cloud.asked(STARTED, active.id).await, cloud.asked(LAST_SEEN, active.id).await);
    let due = PRICE * (seen - started) / 3_600_000_000;
    assert_eq!(-balance(&tenant).await.unwrap().posted_micros, due, "micros paid, and micros due");
    assert_eq!((prove(&tenant).await.difference, burn(&tenant).await), (None, 0));
}

/// Whichever of them comes first by its id: usage ended when the first of them was last heard.
#[tokio::test(flavor = "multi_thread")]
async fn gang_that_loses_two_hosts_at_once_is_charged_until_the_first_of_them_was_last_seen() {
    const FIRST_SEEN: &str = "SELECT coalesce(min(epoch_us(h.last_seen_at)), 0)
        * (count(h.last_seen_at) = 2)::int FROM allocation_parts p LEFT JOIN node_heartbeats h ON h.node_id = p.node_id
        WHERE p.allocation_id = $1";
    let cloud = cloud(2, 1).await;
    let tenant = cloud.tenant().await;
    let gang = AllocationSpec { nodes: contract::Within::new(2).unwrap(), ..ask(1) };
    let active = tenant.get_one(gang).await;
    let mut hosts = [cloud.hosts.node(0), cloud.hosts.node(1)];
    hosts.sort_by_key(|it| cloud.id_of(it).uuid());
    let [later, first] = &hosts;
    let (later_id, first_id) = (cloud.id_of(later), cloud.id_of(first));
    let started: i64 = cloud.asked(STARTED, active.id).await;
    eventually("both to be heard", || async { cloud.asked::<i64>(FIRST_SEEN, active.id).await > started }).await;
    cloud.silences(first).await;
    let last = cloud.fleet.node(first_id).await.node.last_seen_at.unwrap();
    cloud.fleet.advance(Duration::from_secs(100));
    eventually("the other host to be heard", || async {
        cloud.fleet.node(later_id).await.node.last_seen_at.unwrap() > last + Duration::from_secs(100)
    })
    .await;
    cloud.silences(later).await;
    cloud.fleet.advance(Duration::from_secs(60));
    for node in [first_id, later_id] {
        cloud.fleet.is(node, NodeState::Ready, NodeHealth::Silent).await;
    }
    post(&cloud, tenant.organization).await;
    declared(&cloud, first_id).await;
    cloud.fleet.is(later_id, NodeState::Failed, NodeHealth::Silent).await;
    post(&cloud, tenant.organization).await;
    let seen: i64 = cloud.asked(FIRST_SEEN, active.id).await;
    let due = 2 * PRICE * (seen - started) / 3_600_000_000;
    assert_eq!(-balance(&tenant).await.unwrap().posted_micros, due, "micros paid, and micros due");
    assert_eq!((prove(&tenant).await.difference, burn(&tenant).await), (None, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_host_leaves_the_quota_at_once_and_can_be_force_released() {
    let cloud = cloud(1, 2).await;
    let tenant = cloud.tenant().await;
    set_policy(&cloud.fleet.operator, "allocations.max_gpus", "1").await;
    refresh(&cloud).await;
    let (active, node, _) = lost(&cloud, &tenant).await;
    let why = tenant.why(active.id).await;
    assert!(why.rule.contains("was last seen at"), "before it is declared lost: {why:?}");
    declared(&cloud, node).await;
    let held = "SELECT count(*) FROM slots WHERE held_by IS NOT NULL AND condition = 'quarantined'";
    assert_eq!(count(&cloud, held).await, 1, "nobody else gets its slot");
    let path = QuotaPath { organization_id: tenant.organization, sku_id: cloud.sku.id };
    let quota = cloud.fleet.operator.call::<SetQuota>(path, Nothing {}, QuotaSpec { gpus: 1 }).await.unwrap();
    assert_eq!(quota.used, 0, "what was lost does not count against the quota");
    tenant.try_ask(ask(1)).await.expect("what was lost does not count against the limit");
    let why = tenant.why(active.id).await;
    assert!(why.rule.contains("lost") && why.rule.contains("refunded"), "{why:?}");
    let ended = cloud.force_release(active.id).await.expect("an operator can end what a lost host held");
    assert_eq!(ended.state, AllocationState::Released);
    let again = cloud.force_release(active.id).await.unwrap_err();
    assert!(again.is(Code::Conflict), "{again}");
}

/// The steps of `docs/runbooks/node-failed.md` for a host that will not come back, as an operator types them.
#[tokio::test(flavor = "multi_thread")]
async fn runbook_for_a_lost_host_ends_with_the_node_retired() {
    let cloud = cloud(1, 2).await;
    let tenant = cloud.tenant().await;
    let other = tenant.get_one(ask(1)).await;
    let (active, node, _) = lost(&cloud, &tenant).await;
    declared(&cloud, node).await;
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/runbooks/node-failed.md")).unwrap();
    let operator = cloud.world().operator().await;
    let mut ran = 0;
    for line in text.lines().filter(|it| it.starts_with("gpuaas ")) {
        let line = line.replace("NODE_ID", &node.to_string()).replace("ALLOCATION", &active.id.to_string());
        let line = line.replace("NODE", &node.to_string());
        let shell = line.replacen("gpuaas", binary("gpuaas").to_str().unwrap(), 1);
        let mut command = tokio::process::Command::new("sh");
        command.args(["-c", &shell]).env("GPUAAS_URL", &cloud.world().server.base).env("GPUAAS_TOKEN", &operator.token);
        command.env("GPUAAS_CONFIG", "/nonexistent/config.toml").stdin(std::process::Stdio::null());
        let said = command.output().await.unwrap();
        assert!(said.status.success(), "{line}: {}", String::from_utf8_lossy(&said.stderr));
        ran += 1;
    }
    assert!(ran >= 6, "the runbook has lost its commands: {ran}");
    assert_eq!(cloud.fleet.node(node).await.node.state, NodeState::Retired);
    for id in [active.id, other.id] {
        assert_eq!(tenant.get(id).await.state, AllocationState::Released);
    }
    assert_eq!(
        count(&cloud, "SELECT count(*) FROM slots WHERE held_by IS NOT NULL OR condition <> 'quarantined'").await,
        0
    );
    post(&cloud, tenant.organization).await;
    assert_eq!(prove(&tenant).await.difference, None);
}

/// A host that is burning is retired before anybody declared it lost, and a gang keeps what it has elsewhere until that is clean.
#[tokio::test(flavor = "multi_thread")]
async fn lost_node_is_retired_at_once_and_the_rest_of_a_gang_is_cleaned() {
    let cloud = cloud(2, 1).await;
    let tenant = cloud.tenant().await;
    let gang = AllocationSpec { nodes: contract::Within::new(2).unwrap(), ..ask(1) };
    let active = tenant.get_one(gang).await;
    let node = cloud.id_of(&cloud.hosts.node(0));
    let path = NodePath { node_id: node };
    let spec = |lost| RetireSpec { reason: "burned down".parse().unwrap(), lost };
    let operator = &cloud.fleet.operator;
    let refused = operator.call::<RetireNode>(path.clone(), Nothing {}, spec(false)).await.unwrap_err();
    assert!(refused.is(Code::Conflict) && refused.to_string().contains("--lost"), "{refused}");
    let retired = operator.call::<RetireNode>(path.clone(), Nothing {}, spec(true)).await.unwrap();
    assert_eq!(retired.state, NodeState::Retired);
    let ended = tenant.reaches(active.id, AllocationState::Failed).await;
    assert_eq!(ended.reason.as_deref(), Some("burned down"));
    assert_eq!(count(&cloud, "SELECT count(*) FROM slots WHERE condition = 'clean' AND held_by IS NULL").await, 1);
    let again = operator.call::<RetireNode>(path, Nothing {}, spec(true)).await.unwrap_err();
    assert!(again.is(Code::Conflict), "{again}");
}

/// Whoever stops or releases while the host is silent is charged until then, and gets that back.
#[tokio::test(flavor = "multi_thread")]
async fn refund_of_a_lost_host_is_notified_however_the_allocation_ended_meanwhile() {
    let cloud = cloud(1, 4).await;
    let tenant = cloud.tenant().await;
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(tenant.get_one(ask(1)).await);
    }
    let (node, seen) = silenced(&cloud, &tenant, &all[2]).await;
    let [stopped, released, forced] = &all[..] else { unreachable!("three were asked for") };
    set_policy(&cloud.fleet.operator, "allocations.cleaning_attempts", "1").await;
    refresh(&cloud).await;
    tenant.stop(stopped.id).await.unwrap();
    tenant.release(released.id).await.unwrap();
    cloud.force_release(forced.id).await.unwrap();
    let asked = "SELECT count(*) FROM tasks WHERE verb IN ('ensure_gone', 'ensure_stopped')";
    eventually("the host to be asked", || async { count(&cloud, asked).await == 3 }).await;
    cloud.fleet.advance(Duration::from_secs(300));
    for id in [released.id, forced.id] {
        tenant.reaches(id, AllocationState::ReleaseFailed).await;
    }
    let ended = cloud.force_release(forced.id).await.unwrap();
    assert_eq!(ended.state, AllocationState::Released, "before anybody declared its host lost");
    post(&cloud, tenant.organization).await;
    declared(&cloud, node).await;
    post(&cloud, tenant.organization).await;
    let mut due = 0;
    for one in &all {
        due += PRICE * (seen - cloud.asked::<i64>(STARTED, one.id).await) / 3_600_000_000;
    }
    assert_eq!(-balance(&tenant).await.unwrap().posted_micros, due, "micros paid, and micros due");
    assert_eq!((prove(&tenant).await.difference, burn(&tenant).await), (None, 0));
    let notified = "SELECT count(*) FROM notifications WHERE kind = 'allocation_node_lost' AND body LIKE '%refunded%'";
    eventually("each to be notified of", || async { count(&cloud, notified).await == 3 }).await;
    let why = tenant.why(forced.id).await;
    assert!(why.rule.contains("refunded"), "{why:?}");
}

/// The hosts of a gang that are well are asked to clean, and give their slots back.
#[tokio::test(flavor = "multi_thread")]
async fn forced_release_of_a_gang_lets_go_of_its_lost_hosts_alone() {
    let cloud = cloud(2, 1).await;
    let tenant = cloud.tenant().await;
    let gang = AllocationSpec { nodes: contract::Within::new(2).unwrap(), ..ask(1) };
    let active = tenant.get_one(gang).await;
    let (lost, well) = (cloud.hosts.node(0), cloud.hosts.node(1));
    cloud.silences(&lost).await;
    cloud.fleet.advance(Duration::from_secs(120));
    let (gone, there) = (cloud.id_of(&lost), cloud.id_of(&well));
    cloud.fleet.is(gone, NodeState::Ready, NodeHealth::Silent).await;
    cloud.fleet.is(there, NodeState::Ready, NodeHealth::Ok).await;
    let mut tx = cloud.fleet.tx().await;
    assert_eq!(fleet::nodes::give_up_lost(&mut tx, Duration::from_secs(60)).await.unwrap(), 1);
    tx.commit().await.unwrap();
    tenant.reaches(active.id, AllocationState::Releasing).await;
    cloud.force_release(active.id).await.unwrap();
    tenant.reaches(active.id, AllocationState::Failed).await;
    let free = "SELECT count(*) FROM slots WHERE held_by IS NULL AND condition = 'clean'";
    let kept = "SELECT count(*) FROM slots WHERE held_by IS NULL AND condition = 'quarantined'";
    assert_eq!((count(&cloud, free).await, count(&cloud, kept).await), (1, 1), "slots (clean, quarantined)");
    assert!(well.logins().is_empty(), "the host that is well was never cleaned");
}
