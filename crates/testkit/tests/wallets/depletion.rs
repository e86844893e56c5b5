//! Which allocations end when the money does.

use contract::{allocations::AllocationState, wallets::WalletState};
use testkit::cloud::ask;

use crate::stand::{DOLLAR, Stand};

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
