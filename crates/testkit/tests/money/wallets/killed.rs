//! A process that is killed while allocations end: the next goes on.

use testkit::{
    process::{Daemon, free_port},
    server::eventually,
};

use crate::wallets::stand::{DOLLAR, Stand};

const ALL: i64 = 410;
const AFFORDABLE: i64 = 10;

#[tokio::test(flavor = "multi_thread")]
async fn a_depletion_that_is_killed_goes_on_where_it_was() {
    let stand = Stand::new().await;
    stand.policy("work.lease_seconds", "5").await;
    stand.policy("billing.grace_minutes", "0").await;
    stand.policy("billing.hold_minutes", "1440").await;
    // A day of ten, and half a day for what they use while this runs.
    stand.credit(AFFORDABLE * 24 * DOLLAR + 12 * DOLLAR).await;
    stand.run_many(ALL).await;
    let ended = "SELECT count(*) FROM allocations WHERE state <> 'active'";
    let url = stand.world.server.database.url();
    let mut kills = 0;
    let mut seen = Vec::new();
    while kills < 2 {
        let worker = Daemon::serve(&url, free_port(), &[]).await;
        let before = stand.one::<i64>(ended).await;
        eventually("some to end", || async {
            let now = stand.one::<i64>(ended).await;
            now > before + 2 || now == ALL - AFFORDABLE
        })
        .await;
        worker.kill().await;
        seen.push(stand.one::<i64>(ended).await);
        kills += 1;
    }
    let worker = Daemon::serve(&url, free_port(), &[]).await;
    let settled = "SELECT count(*) = 1 FROM wallets WHERE state IN ('depleted', 'funded') AND grace_ends_at IS NULL";
    eventually("the depletion to end", || async { stand.one::<bool>(settled).await }).await;
    eventually("each to be ended and told", || async {
        let told = stand.told("allocation.funds_exhausted").await.len() as i64;
        stand.one::<i64>(ended).await == ALL - AFFORDABLE && told == ALL - AFFORDABLE
    })
    .await;
    worker.stop().await;
    assert_eq!(stand.one::<i64>(ended).await, ALL - AFFORDABLE, "no more than needed");
    let newest = format!(
        "SELECT count(*) FROM (SELECT state FROM allocations ORDER BY created_at LIMIT {AFFORDABLE}) a WHERE state = 'active'"
    );
    assert_eq!(stand.one::<i64>(&newest).await, AFFORDABLE, "the oldest are left");
    assert_eq!(stand.told("allocation.funds_exhausted").await.len() as i64, ALL - AFFORDABLE, "each was told once");
    assert!(seen[0] < ALL - AFFORDABLE, "{seen:?}: killed in the middle of it");
    assert_eq!(stand.crossings().await[..3], [0, 1, 1]);
    println!("killed {kills} times, after {seen:?} of {} had ended; {AFFORDABLE} oldest run on", ALL - AFFORDABLE);
}
