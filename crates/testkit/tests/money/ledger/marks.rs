//! Every way into and out of `active` leaves a mark.

use std::{sync::Arc, time::Duration};

use contract::{
    allocations::{AllocationSpec, AllocationState},
    prices::SetPrice,
    skus::SkuPath,
};
use gpuaasd::roles::Role;
use testkit::{
    Cloud, Server,
    cloud::{ask, price_of},
    server::eventually,
};

use crate::ledger::stand::Stand;

#[tokio::test(flavor = "multi_thread")]
async fn each_way_out_of_active_ends_the_interval() {
    let stand = Stand::new(2_000_000).await;
    for way in ["releasing", "stopping"] {
        let id = stand.started(4).await;
        stand.go(id, way).await;
        let marks: Vec<_> = stand.marks().await.into_iter().filter(|it| it.subject_id == id).collect();
        let [start, end] = &marks[..] else { panic!("{marks:?}") };
        assert_eq!((start.kind.as_str(), end.kind.as_str(), end.cause.as_str()), ("start", "end", way));
        assert_eq!((start.quantity, start.micros_per_hour, end.micros_per_hour), (4, 8_000_000, 8_000_000));
        assert!(end.interval == start.number && end.at_us >= start.at_us);
    }
    // Stopped time is not charged: a second start is an interval of its own.
    let id = stand.started(1).await;
    for state in ["stopping", "stopped", "starting", "active", "releasing", "released"] {
        stand.go(id, state).await;
    }
    let marks: Vec<_> = stand.marks().await.into_iter().filter(|it| it.subject_id == id).collect();
    assert_eq!(marks.iter().map(|it| it.kind.as_str()).collect::<Vec<_>>(), ["start", "end", "start", "end"]);
    // What never ran leaves none.
    let never = stand.allocation(1).await;
    stand.go(never, "releasing").await;
    assert!(stand.marks().await.iter().all(|it| it.subject_id != never));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_price_at_the_start_applies_to_the_whole_interval() {
    let stand = Stand::new(1_000_000).await;
    let early = stand.started(1).await;
    stand.price(9_000_000).await;
    let late = stand.started(1).await;
    stand.advance(3600);
    stand.go(early, "releasing").await;
    let marks = stand.marks().await;
    let rates = |id| marks.iter().filter(|it| it.subject_id == id).map(|it| it.micros_per_hour).collect::<Vec<_>>();
    assert_eq!((rates(early), rates(late)), (vec![1_000_000; 2], vec![9_000_000]));
}

/// A start that meets the transaction of a new price has one price, by its own moment.
#[tokio::test(flavor = "multi_thread")]
async fn price_takes_effect_at_a_moment_that_no_start_is_ahead_of() {
    let stand = Arc::new(Stand::new(1_000_000).await);
    let operator = stand.world.operator().await;
    let mut above = stand.world.server.database.superuser().await;
    // Whoever sets a price waits between its moment and its commit, for as long as the test says.
    let planted = "CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN PERFORM pg_advisory_xact_lock(4712); RETURN NULL; END $$;
        CREATE TRIGGER planted AFTER INSERT ON prices FOR EACH ROW EXECUTE FUNCTION planted();
        SELECT pg_advisory_lock(4712)";
    sqlx::raw_sql(planted).execute(&mut above).await.unwrap();
    let id = stand.allocation(1).await;
    let client = stand.world.as_(&operator);
    let path = SkuPath { sku_id: stand.sku.into() };
    let spec = price_of(9_000_000);
    let setting = tokio::spawn(async move { client.call::<SetPrice>(path, Default::default(), spec).await });
    let waiting = |kind: &'static str| {
        let stand = stand.clone();
        async move {
            let waits = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
                WHERE l.locktype = 'advisory' AND NOT l.granted AND a.datname = current_database() AND l.mode = ";
            stand.one::<i64>(&format!("{waits}'{kind}'")).await == 1
        }
    };
    eventually("the new price to wait for its commit", || waiting("ExclusiveLock")).await;
    let starting = tokio::spawn({
        let stand = stand.clone();
        async move { stand.go(id, "active").await }
    });
    eventually("the start to wait for the price, or to be over", || async {
        starting.is_finished() || waiting("ShareLock").await
    })
    .await;
    sqlx::raw_sql("SELECT pg_advisory_unlock(4712)").execute(&mut above).await.unwrap();
    starting.await.unwrap();
    let price = setting.await.unwrap().unwrap();
    let mark = stand.marks().await.pop().unwrap();
    let is_after = mark.at_us >= price.effective_at.as_microsecond();
    assert_eq!(mark.micros_per_hour, if is_after { 9_000_000 } else { 1_000_000 }, "the price in force at its moment");
}

/// The clock was ahead when something started, and is not when the price is set.
#[tokio::test(flavor = "multi_thread")]
async fn price_takes_effect_after_starts_of_a_clock_that_was_set_back() {
    let stand = Stand::new(1_000_000).await;
    let operator = stand.world.operator().await;
    let behind = Server::with(stand.world.server.database.clone(), &[Role::Api], |_| ()).await;
    stand.advance(3600);
    stand.started(1).await;
    let mark = stand.marks().await.pop().unwrap();
    let client = behind.client(Some(&operator.token));
    let path = SkuPath { sku_id: stand.sku.into() };
    let spec = price_of(9_000_000);
    let price = client.call::<SetPrice>(path, Default::default(), spec).await.unwrap();
    assert!(
        price.effective_at.as_microsecond() > mark.at_us,
        "an interval that began at {} has the old price, and the new one takes effect at {}",
        mark.at_us,
        price.effective_at.as_microsecond()
    );
    behind.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn release_force_lease_and_a_lost_node_all_leave_a_mark() {
    let cloud = Cloud::new(2, 2).await;
    let tenant = cloud.tenant().await;
    let ends = "SELECT count(*) FROM usage WHERE subject_id = $1 AND kind = 'end'";
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
        cloud.silences(&host).await;
    }
    cloud.fleet.advance(Duration::from_secs(1000));
    eventually("the node to be given up", || async { cloud.asked::<i64>(ends, lost.id).await == 1 }).await;
    let nodes: i64 = cloud
        .asked("SELECT cardinality(nodes)::bigint FROM usage WHERE subject_id = $1 AND kind = 'end'", lost.id)
        .await;
    assert_eq!(nodes, 1, "usage says on which node it was");
    println!("marked the end of: a release, a forced release, the end of a lease, a lost node");
}
