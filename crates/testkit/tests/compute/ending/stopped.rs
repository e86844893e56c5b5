//! What is stopped keeps its slots for a while, not for ever.

use std::time::Duration;

use agent::sim::Failing;
use contract::allocations::{Allocation, AllocationState};
use testkit::{Cloud, Tenant, cloud::ask, server::eventually, world::set_policy};

use crate::ending::{
    organizations::{resume, suspend},
    stand::{cloud, count, left, refresh},
};

const WARNED: &str = "SELECT count(*) FROM outbox WHERE subject = 'allocation.stop_ending'";

/// A cloud in which what is stopped keeps its slots for eight hours, and something that runs.
async fn running() -> (Cloud, Tenant, Allocation) {
    let cloud = cloud(1, 2).await;
    let tenant = cloud.tenant().await;
    // The clock jumps further than hosts may be silent.
    set_policy(&cloud.fleet.operator, "nodes.lost_minutes", "10080").await;
    set_policy(&cloud.fleet.operator, "allocations.stopped_hours", "8").await;
    refresh(&cloud).await;
    let active = tenant.get_one(ask(1)).await;
    (cloud, tenant, active)
}

async fn stop(tenant: &Tenant, active: &Allocation) {
    tenant.stop(active.id).await.unwrap();
    tenant.reaches(active.id, AllocationState::Stopped).await;
}

/// Waits until it was looked at and rests beyond so many minutes in its state: a visit
/// during a jump of the clock would rest for as long as it saw before it.
async fn rests(cloud: &Cloud, minutes: u32) {
    let statement = format!(
        "SELECT count(*) FROM work w JOIN allocations a ON a.id = w.id
         WHERE w.lease IS NULL AND w.due_at > a.state_since + make_interval(mins => {minutes})"
    );
    eventually("it to rest", || async { count(cloud, &statement).await == 1 }).await;
}

fn hours(count: u64) -> Duration {
    Duration::from_secs(count * 3600)
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_allocation_gives_up_its_slots_after_the_policys_time() {
    let (cloud, tenant, stopped) = running().await;
    stop(&tenant, &stopped).await;
    rests(&cloud, 30).await;
    cloud.fleet.advance(hours(7));
    eventually("its requester to be notified", || async { count(&cloud, WARNED).await == 1 }).await;
    rests(&cloud, 450).await;
    assert_eq!(tenant.get(stopped.id).await.state, AllocationState::Stopped);
    cloud.fleet.advance(Duration::from_secs(3601));
    let ended = tenant.reaches(stopped.id, AllocationState::Released).await;
    assert_eq!(ended.reason.as_deref(), Some("it was stopped for longer than 8 hours"));
    assert_eq!((left(&cloud).await, count(&cloud, WARNED).await), ((0, 0, 0), 1));
    cloud.has_free(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn suspension_releases_nothing_and_the_stopped_time_counts_from_the_resume() {
    let (cloud, tenant, active) = running().await;
    suspend(&cloud, &tenant).await;
    tenant.reaches(active.id, AllocationState::Stopped).await;
    rests(&cloud, 30).await;
    cloud.fleet.advance(hours(9));
    rests(&cloud, 9 * 60).await;
    assert_eq!(tenant.get(active.id).await.state, AllocationState::Stopped, "files stay while it is suspended");
    assert_eq!(count(&cloud, WARNED).await, 0);
    resume(&cloud, &tenant).await;
    rests(&cloud, 9 * 60).await;
    cloud.fleet.advance(hours(7));
    eventually("its requester to be notified", || async { count(&cloud, WARNED).await == 1 }).await;
    rests(&cloud, 16 * 60).await;
    assert_eq!(tenant.get(active.id).await.state, AllocationState::Stopped, "a resume begins the time again");
    cloud.fleet.advance(Duration::from_secs(3601));
    tenant.reaches(active.id, AllocationState::Released).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_starts_and_short_runs_do_not_prolong_the_stopped_time() {
    let (cloud, tenant, stopped) = running().await;
    stop(&tenant, &stopped).await;
    rests(&cloud, 30).await;
    cloud.fleet.advance(hours(5));
    rests(&cloud, 300).await;
    cloud.hosts.node(0).script(|it| it.failing = Some(Failing { retryable: false, ..Failing::at("create_user", 1) }));
    tenant.start(stopped.id).await.unwrap();
    eventually("the start to fail", || async {
        let seen = tenant.get(stopped.id).await;
        seen.state == AllocationState::Stopped && seen.reason.is_some_and(|it| it.contains("could not be started"))
    })
    .await;
    tenant.start(stopped.id).await.unwrap();
    tenant.reaches(stopped.id, AllocationState::Active).await;
    stop(&tenant, &stopped).await;
    rests(&cloud, 30).await;
    // Three hours are left, and ten times what it ran.
    cloud.fleet.advance(hours(3) + Duration::from_secs(1200));
    let ended = tenant.reaches(stopped.id, AllocationState::Released).await;
    assert_eq!(ended.reason.as_deref(), Some("it was stopped for longer than 8 hours"));
}

#[tokio::test(flavor = "multi_thread")]
async fn running_pays_the_stopped_time_back() {
    let (cloud, tenant, stopped) = running().await;
    stop(&tenant, &stopped).await;
    rests(&cloud, 30).await;
    cloud.fleet.advance(hours(5));
    rests(&cloud, 300).await;
    tenant.start(stopped.id).await.unwrap();
    tenant.reaches(stopped.id, AllocationState::Active).await;
    cloud.fleet.advance(hours(1));
    stop(&tenant, &stopped).await;
    rests(&cloud, 30).await;
    cloud.fleet.advance(hours(7));
    eventually("its requester to be notified", || async { count(&cloud, WARNED).await == 1 }).await;
    rests(&cloud, 420).await;
    assert_eq!(tenant.get(stopped.id).await.state, AllocationState::Stopped, "it has its eight hours again");
}
