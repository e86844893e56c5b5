//! A host that comes back cleans what it had, or is wiped, before it takes anybody.

use std::time::Duration;

use contract::{
    Nothing,
    allocations::AllocationState,
    id::AllocationId,
    nodes::{NodeHealth, NodePath, NodeState, RestoreNode, RetireNode, RetireSpec},
};
use testkit::{
    Agent, Cloud, Tenant,
    cloud::{ask, because},
    server::eventually,
    world::set_policy,
};

use crate::ending::{
    lost::{declared, lost},
    stand::{cloud, count, inventory, refresh},
};

const WIPES: &str = "SELECT count(*) FROM tasks WHERE verb = 'ensure_sanitized'";

/// A cloud whose hosts are asked once to clean.
async fn impatient() -> (Cloud, Tenant) {
    let cloud = cloud(1, 2).await;
    set_policy(&cloud.fleet.operator, "allocations.cleaning_attempts", "1").await;
    refresh(&cloud).await;
    let tenant = cloud.tenant().await;
    (cloud, tenant)
}

/// The host of an allocation that ends does not answer until nobody asks it any more.
async fn unanswered(cloud: &Cloud, tenant: &Tenant, id: AllocationId) {
    let asked = "SELECT count(*) FROM tasks WHERE verb = 'ensure_gone'";
    eventually("the host to be asked", || async { count(cloud, asked).await == 1 }).await;
    cloud.fleet.advance(Duration::from_secs(300));
    tenant.reaches(id, AllocationState::ReleaseFailed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_host_that_comes_back_cleans_what_it_had_without_anybody_asking() {
    let (cloud, tenant) = impatient().await;
    let (active, node, _) = lost(&cloud, &tenant).await;
    declared(&cloud, node).await;
    unanswered(&cloud, &tenant, active.id).await;
    assert_eq!(cloud.logins(), 1, "its login is still there");
    let why = tenant.why(active.id).await;
    assert!(why.change.as_deref().is_some_and(|it| it.contains("sanitizes it when it comes back online")), "{why:?}");
    cloud.hosts.node(0).speak();
    let ended = tenant.reaches(active.id, AllocationState::Failed).await;
    assert_eq!((ended.needs_attention, cloud.logins()), (false, 0), "(needs a person, logins left)");
    assert_eq!(ended.reason.as_deref(), Some("the node has been silent for too long"));
    cloud.fleet.is(node, NodeState::Failed, NodeHealth::Ok).await;
    assert_eq!(count(&cloud, WIPES).await, 0, "what was cleaned by evidence needs no wipe");
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_host_on_which_something_was_given_up_is_wiped_before_it_takes_anybody() {
    const WIPED_BEFORE: &str = "SELECT count(*) FROM tasks WHERE verb = 'ensure_sanitized' AND reported_at <=
        (SELECT min(created_at) FROM tasks WHERE subject_id = $1 AND verb = 'ensure_allocation')";
    let (cloud, tenant) = impatient().await;
    let (active, node, _) = lost(&cloud, &tenant).await;
    tenant.release(active.id).await.unwrap();
    unanswered(&cloud, &tenant, active.id).await;
    let forced = cloud.force_release(active.id).await.unwrap();
    assert_eq!(forced.state, AllocationState::Released);
    let waiting = tenant.ask(ask(1)).await;
    tenant.waits(waiting).await;
    cloud.hosts.node(0).speak();
    tenant.reaches(waiting, AllocationState::Active).await;
    assert_eq!(cloud.asked::<i64>(WIPED_BEFORE, waiting).await, 1, "wipes before the next tenant came");
    cloud.fleet.is(node, NodeState::Ready, NodeHealth::Ok).await;
    assert_eq!(cloud.logins(), 1, "the next tenant's alone");
    let kept = "SELECT count(*) FROM slots WHERE held_by IS NULL AND condition = 'quarantined'";
    assert_eq!(count(&cloud, kept).await, 1, "a person attests the slot");

    // Once is enough.
    cloud.silences(&cloud.hosts.node(0)).await;
    cloud.fleet.advance(Duration::from_secs(60));
    cloud.fleet.is(node, NodeState::Ready, NodeHealth::Silent).await;
    cloud.hosts.node(0).speak();
    cloud.fleet.is(node, NodeState::Ready, NodeHealth::Ok).await;
    assert_eq!(count(&cloud, WIPES).await, 1, "wipes");
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_host_on_which_something_was_given_up_is_wiped_when_it_comes_back() {
    let (cloud, tenant) = impatient().await;
    let (active, node, _) = lost(&cloud, &tenant).await;
    declared(&cloud, node).await;
    cloud.force_release(active.id).await.unwrap();
    assert_eq!(cloud.logins(), 1, "its login is still there");
    cloud.hosts.node(0).speak();
    cloud.fleet.is(node, NodeState::Ready, NodeHealth::Ok).await;
    assert_eq!((cloud.logins(), count(&cloud, WIPES).await), (0, 1), "(logins, wipes)");
}

#[tokio::test(flavor = "multi_thread")]
async fn restored_node_on_which_something_was_given_up_is_wiped_first() {
    let (cloud, tenant) = impatient().await;
    let (active, node, _) = lost(&cloud, &tenant).await;
    declared(&cloud, node).await;
    unanswered(&cloud, &tenant, active.id).await;
    let host = cloud.hosts.node(0);
    host.script(|it| it.processes_left = 3);
    host.speak();
    eventually("the host to fail at it", || async {
        let seen = tenant.get(active.id).await;
        seen.state == AllocationState::ReleaseFailed && seen.reason.is_some_and(|it| it.contains("3 processes"))
    })
    .await;
    cloud.force_release(active.id).await.unwrap();
    host.script(|it| it.processes_left = 0);
    let path = NodePath { node_id: node };
    let restored = cloud.fleet.operator.call::<RestoreNode>(path, Default::default(), because()).await.unwrap();
    assert_eq!(restored.state, NodeState::Sanitizing);
    cloud.fleet.is(node, NodeState::Ready, NodeHealth::Ok).await;
    assert_eq!(count(&cloud, WIPES).await, 1, "wipes");
}

#[tokio::test(flavor = "multi_thread")]
async fn host_that_was_retired_as_lost_is_wiped_when_it_is_enrolled_again() {
    let (cloud, tenant) = impatient().await;
    let (_, node, _) = lost(&cloud, &tenant).await;
    let spec = RetireSpec { reason: because().reason, lost: true };
    cloud.fleet.operator.call::<RetireNode>(NodePath { node_id: node }, Nothing {}, spec).await.unwrap();
    let same = inventory(&cloud, node).await;
    let mut again = Agent::enroll(&cloud.world().server, &cloud.fleet.token().await, same).await.unwrap();
    again.introduce().await.unwrap();
    assert_ne!(again.node, node);
    assert_eq!(cloud.fleet.node(again.node).await.node.state, NodeState::Sanitizing);
}
