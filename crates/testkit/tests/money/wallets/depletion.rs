//! Which allocations end when the money does.

use std::time::Instant;

use contract::{allocations::AllocationState, wallets::WalletState};
use testkit::cloud::ask;

use crate::wallets::stand::{DOLLAR, Stand};

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_end_first_and_no_more_than_needed() {
    let stand = Stand::new().await;
    // Three for an hour and a half, and for two of them half an hour more.
    stand.credit(8 * DOLLAR).await;
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(stand.start(ask(1)).await);
    }
    stand.pass(95).await;
    stand.is(WalletState::Grace).await;
    stand.pass(30).await;
    let mut states = Vec::new();
    for id in &all {
        states.push(stand.get(*id).await.state.to_string());
    }
    assert_eq!(states, ["active", "active", "released"]);
    stand.is(WalletState::Depleted).await;
    // What is left comes to its own end later, with a grace of its own.
    stand.pass(30).await;
    assert_eq!(stand.crossings().await, [1, 2, 1, 0]);
    stand.pass(35).await;
    let first = stand.get(all[0]).await.state;
    assert_eq!((first, stand.crossings().await), (AllocationState::Released.into(), [1, 2, 2, 0]));
    let order: Vec<String> =
        stand.told("allocation.funds_exhausted").await.iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
    let newest_first: Vec<String> = all.iter().rev().map(ToString::to_string).collect();
    assert_eq!(order, newest_first);
    println!("ended for lack of money, in this order: {order:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_waits_gives_up_its_hold_first() {
    let stand = Stand::new().await;
    stand.credit(3 * DOLLAR + DOLLAR / 10).await;
    let runs = stand.start(ask(1)).await;
    let waits = stand.ask(ask(1)).await;
    // At half an hour there is a dollar for another hour, at an hour and a half there is none.
    stand.pass(95).await;
    stand.is(WalletState::Grace).await;
    stand.pass(30).await;
    let over = stand.get(waits).await;
    assert_eq!(over.state, AllocationState::Released);
    assert!(over.ended_at.is_some() && over.active_at.is_none());
    assert_eq!(stand.get(runs).await.state, AllocationState::Active, "its hold was all that was missing");
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_end_in_order_and_in_few_transactions() {
    let stand = Stand::new().await;
    stand.policy("billing.grace_minutes", "0").await;
    stand.policy("billing.hold_minutes", "1440").await;
    // A day of ten, and an hour for what they use meanwhile.
    stand.credit(10 * 25 * DOLLAR).await;
    stand.run_many(510).await;
    let began = Instant::now();
    stand.settle().await;
    let took = began.elapsed();
    let ended = "SELECT count(*) FROM allocations WHERE state <> 'active'";
    assert_eq!(stand.one::<i64>(ended).await, 500, "no more than needed");
    let told = stand.told("allocation.funds_exhausted").await;
    let order: Vec<&str> = told.iter().map(|it| it["id"].as_str().unwrap()).collect();
    let mut above = stand.world.server.database.superuser().await;
    let newest: Vec<uuid::Uuid> =
        sqlx::query_scalar("SELECT id FROM allocations ORDER BY created_at DESC, id DESC LIMIT 500")
            .fetch_all(&mut above)
            .await
            .unwrap();
    let newest: Vec<String> = newest.into_iter().map(|it| contract::id::AllocationId::from(it).to_string()).collect();
    assert_eq!(order, newest, "the newest first, each told once");
    let audited = "SELECT count(*) FROM audit WHERE action = 'allocation.funds_exhausted'";
    assert_eq!(stand.one::<i64>(audited).await, 500, "each is in the audit log");
    let transactions: i64 = stand.one("SELECT count(DISTINCT xmin::text) FROM usage WHERE kind = 'end'").await;
    assert!((10..=12).contains(&transactions), "{transactions}: fifty at a time");
    println!("500 allocations ended and were cleaned away in {took:.1?}, by {transactions} transactions");
}

#[tokio::test(flavor = "multi_thread")]
async fn wallets_sleep_where_allocations_need_no_money() {
    let stand = Stand::new().await;
    stand.credit(100 * DOLLAR).await;
    stand.policy("billing.required", "false").await;
    stand.settle().await;
    let woken = "SELECT count(*) FROM work WHERE kind = 'wallet'";
    assert_eq!(stand.one::<i64>(woken).await, 0, "what was to be looked at was looked at");
    let id = stand.start(ask(1)).await;
    stand.go(id, "releasing").await;
    assert_eq!(stand.one::<i64>("SELECT count(*) FROM usage").await, 2, "it is metered");
    assert_eq!(stand.one::<i64>(woken).await, 0, "and nobody is woken");
    stand.policy("billing.required", "true").await;
    assert_eq!(stand.one::<i64>(woken).await, 1, "whoever switches it on wakes every wallet");
    stand.settle().await;
    stand.start(ask(1)).await;
    assert_eq!(stand.one::<i64>("SELECT count(*) FROM work WHERE kind = 'wallet' AND due_at <= app_now()").await, 1);
}
