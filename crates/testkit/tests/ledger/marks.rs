//! Every way into and out of `active` leaves a mark.

use std::time::Duration;

use contract::allocations::{AllocationSpec, AllocationState};
use testkit::{Cloud, cloud::ask, server::eventually};

use crate::stand::Stand;

#[tokio::test(flavor = "multi_thread")]
async fn each_way_out_of_active_ends_the_interval() {
    let stand = Stand::new(2_000_000).await;
    for way in ["releasing", "stopping"] {
        let id = stand.started(4).await;
        stand.go(id, way).await;
        let marks: Vec<_> = stand.marks().await.into_iter().filter(|it| it.allocation_id == id).collect();
        let [start, end] = &marks[..] else { panic!("{marks:?}") };
        assert_eq!((start.kind.as_str(), end.kind.as_str(), end.cause.as_str()), ("start", "end", way));
        assert_eq!((start.gpus, start.micros_per_hour, end.micros_per_hour), (4, 8_000_000, 8_000_000));
        assert!(end.interval == start.version && end.at_us >= start.at_us);
    }
    // Stopped time is not charged: a second start is an interval of its own.
    let id = stand.started(1).await;
    for state in ["stopping", "stopped", "starting", "active", "releasing", "released"] {
        stand.go(id, state).await;
    }
    let marks: Vec<_> = stand.marks().await.into_iter().filter(|it| it.allocation_id == id).collect();
    assert_eq!(marks.iter().map(|it| it.kind.as_str()).collect::<Vec<_>>(), ["start", "end", "start", "end"]);
    // What never ran leaves none.
    let never = stand.allocation(1).await;
    stand.go(never, "releasing").await;
    assert!(stand.marks().await.iter().all(|it| it.allocation_id != never));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_price_at_the_start_is_kept_for_the_whole_interval() {
    let stand = Stand::new(1_000_000).await;
    let early = stand.started(1).await;
    stand.price(9_000_000).await;
    let late = stand.started(1).await;
    stand.advance(3600);
    stand.go(early, "releasing").await;
    let marks = stand.marks().await;
    let rates = |id| marks.iter().filter(|it| it.allocation_id == id).map(|it| it.micros_per_hour).collect::<Vec<_>>();
    assert_eq!((rates(early), rates(late)), (vec![1_000_000; 2], vec![9_000_000]));
}

#[tokio::test(flavor = "multi_thread")]
async fn release_force_lease_and_a_lost_node_all_leave_a_mark() {
    let cloud = Cloud::new(2, 2).await;
    let tenant = cloud.tenant().await;
    let ends = "SELECT count(*) FROM usage WHERE allocation_id = $1 AND kind = 'end'";
    let released = tenant.get_one(ask(1)).await;
    tenant.gives_back(released.id).await;
    let forced = tenant.get_one(ask(1)).await;
    cloud.force_release(forced.id).await.unwrap();
    let leased = tenant.get_one(AllocationSpec { lease_minutes: contract::Within::new(5), ..ask(1) }).await;
    cloud.fleet.advance(Duration::from_secs(301));
    tenant.reaches(leased.id, AllocationState::Released).await;
    for ended in [released.id, forced.id, leased.id] {
        assert_eq!(cloud.asked::<i64>(ends, ended).await, 1);
    }
    let lost = tenant.get_one(ask(1)).await;
    for host in cloud.hosts.nodes() {
        host.silence();
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    cloud.fleet.advance(Duration::from_secs(1000));
    eventually("the node to be given up", || async { cloud.asked::<i64>(ends, lost.id).await == 1 }).await;
    let nodes: i64 = cloud
        .asked("SELECT cardinality(nodes)::bigint FROM usage WHERE allocation_id = $1 AND kind = 'end'", lost.id)
        .await;
    assert_eq!(nodes, 1, "usage says on which node it was");
    println!("marked the end of: a release, a forced release, the end of a lease, a lost node");
}
