//! Many of one organization that start at once: they do not wait for each other
//! at the wallet, and the wallet sees them all.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use kernel::{Access, Tx};
use testkit::moves::{move_all, move_where};
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::wallets::stand::{DOLLAR, Stand};

const ALL: i64 = 400;
const AT_ONCE: usize = 16;

/// Lets all that are prepared become active, many at once, while wallets are looked after.
async fn activations(stand: &Stand) -> f64 {
    stand.make(ALL, "provisioning").await;
    let mut above = stand.world.server.database.superuser().await;
    let ids: Vec<Uuid> = sqlx::query_scalar("SELECT id FROM allocations WHERE state = 'provisioning'")
        .fetch_all(&mut above)
        .await
        .unwrap();
    let left = Arc::new(Mutex::new(ids));
    let began = Instant::now();
    let mut movers = tokio::task::JoinSet::new();
    for _ in 0..AT_ONCE {
        let (left, db) = (left.clone(), stand.world.server.control_plane.db.clone());
        movers.spawn(async move {
            loop {
                let Some(id) = left.lock().await.pop() else { return };
                move_all(&db, &format!("id = '{id}'"), "active").await;
            }
        });
    }
    // A visit is not given up halfway: whoever is cut off keeps its lease.
    let is_over = AtomicBool::new(false);
    let moving = async {
        while let Some(done) = movers.join_next().await {
            done.unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        began.elapsed()
    };
    let settling = async {
        while !is_over.load(Ordering::Relaxed) {
            stand.settle().await;
            tokio::task::yield_now().await;
        }
    };
    let (took, ()) = tokio::join!(moving, settling);
    ALL as f64 / took.as_secs_f64()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_organization_starts_as_many_with_money_as_without() {
    let stand = Stand::new().await;
    stand.credit(1_000_000 * DOLLAR).await;
    stand.policy("billing.required", "false").await;
    let free = activations(&stand).await;
    stand.policy("billing.required", "true").await;
    let paid = activations(&stand).await;
    stand.settle().await;
    assert_eq!(stand.one::<i64>("SELECT count(*) FROM holds").await, 2 * ALL, "the wallet saw every start");
    println!(
        "{free:.0} activations/s of one organization without money, {paid:.0}/s with it: ratio {:.2}",
        paid / free
    );
}

/// Starts one of those that are prepared; whoever is to be woken by that is woken, and all but the commit is done.
async fn start_one(stand: &Stand) -> Tx {
    let mut tx = Tx::system(&stand.world.server.control_plane.db, "test", Access::Write).await.unwrap();
    let one = "id = (SELECT id FROM allocations WHERE state = 'provisioning' LIMIT 1 FOR UPDATE SKIP LOCKED)";
    assert_eq!(move_where(&mut tx, one, "active").await, 1);
    tx.flush().await.unwrap();
    tx
}

#[tokio::test(flavor = "multi_thread")]
async fn start_does_not_wait_for_other_starts_that_woke_the_wallet() {
    let stand = Stand::new().await;
    stand.credit(100 * DOLLAR).await;
    stand.settle().await;
    stand.make(4, "provisioning").await;
    start_one(&stand).await.commit().await.unwrap();
    let held = [start_one(&stand).await, start_one(&stand).await];
    let in_time = tokio::time::timeout(Duration::from_secs(10), start_one(&stand)).await;
    in_time.expect("it waits for the others").commit().await.unwrap();
    for tx in held {
        tx.commit().await.unwrap();
    }
    stand.settle().await;
    assert_eq!(stand.one::<i64>("SELECT count(*) FROM holds").await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visit_sees_those_who_relied_on_the_wake_that_it_took() {
    let stand = Stand::new().await;
    stand.credit(100 * DOLLAR).await;
    stand.settle().await;
    stand.make(2, "provisioning").await;
    start_one(&stand).await.commit().await.unwrap();
    let wakes = "SELECT wakes FROM work WHERE kind = 'wallet'";
    let before = stand.one::<i64>(wakes).await;
    let late = start_one(&stand).await;
    let mut visit = Box::pin(stand.settle());
    let early = tokio::time::timeout(Duration::from_millis(500), &mut visit).await;
    assert!(early.is_err(), "the visit must wait for who has not committed");
    assert_eq!(stand.one::<i64>(wakes).await, before, "who came late added no wake");
    late.commit().await.unwrap();
    visit.await;
    assert_eq!(stand.one::<i64>("SELECT count(*) FROM holds").await, 2, "it saw both");
}

#[tokio::test(flavor = "multi_thread")]
async fn start_during_a_visit_of_the_wallet_is_seen_by_the_next_visit() {
    let stand = Stand::new().await;
    stand.credit(100 * DOLLAR).await;
    stand.settle().await;
    stand.make(3, "provisioning").await;
    start_one(&stand).await.commit().await.unwrap();
    let db = &stand.world.server.control_plane.db;
    let claims = kernel::work::claim(db, &["wallet"], Duration::from_secs(60), 1).await.unwrap();
    let claim = claims.first().expect("it is due");
    // The first adds a wake to what was claimed; the second finds that one there.
    start_one(&stand).await.commit().await.unwrap();
    start_one(&stand).await.commit().await.unwrap();
    assert_eq!(stand.one::<i64>("SELECT wakes FROM work WHERE kind = 'wallet'").await, claim.wakes + 1);
    let mut tx = Tx::system(db, "test", Access::Write).await.unwrap();
    kernel::work::finish(&mut tx, claim, kernel::work::Next::Done).await.unwrap();
    tx.commit().await.unwrap();
    stand.settle().await;
    assert_eq!(stand.one::<i64>("SELECT count(*) FROM holds").await, 3);
}
