//! What a wallet goes through while its money is used.

use contract::{
    Nothing,
    allocations::{AllocationSpec, AllocationState},
    corrections::{AdjustBalance, CorrectionSpec},
    wallets::{WalletBalanceLow, WalletGraceStarted, WalletState},
};
use testkit::cloud::ask;

use crate::wallets::stand::{DOLLAR, Stand};

#[tokio::test(flavor = "multi_thread")]
async fn each_crossing_is_notified_once_and_foreseen() {
    let stand = Stand::new().await;
    stand.credit(10 * DOLLAR).await;
    // Two dollars an hour: five hours, low after three.
    let id = stand.start(ask(2)).await;
    stand.settle().await;
    let due = "SELECT round(extract(epoch FROM due_at - (SELECT max(at) FROM usage)) / 60)::bigint FROM work WHERE kind = 'wallet'";
    assert_eq!(stand.one::<i64>(due).await, 30, "it sleeps until its hold is past half");
    stand.pass(175).await;
    stand.is(WalletState::Funded).await;
    assert_eq!(stand.crossings().await, [0, 0, 0, 0]);
    stand.pass(10).await;
    stand.is(WalletState::Low).await;
    stand.pass(80).await;
    assert_eq!(stand.crossings().await, [1, 0, 0, 0], "once, however often somebody looks");
    stand.pass(10).await;
    let balance = stand.balance().await;
    assert_eq!(balance.state, WalletState::Grace);
    let ends = balance.grace_ends_at.expect("a grace period has an end");
    let why = stand.why(id).await;
    assert!(
        why.rule.contains("after a grace period (until") && why.change.unwrap().contains("add funds"),
        "{}",
        why.rule
    );
    stand.pass(20).await;
    assert_eq!(stand.crossings().await, [1, 1, 0, 0]);
    assert_eq!(stand.get(id).await.state, AllocationState::Active, "not before the grace is over");
    stand.pass(10).await;
    stand.is(WalletState::Depleted).await;
    let over = stand.get(id).await;
    assert_eq!(
        (over.state, over.reason.as_deref()),
        (AllocationState::Released.into(), Some("the organization's money ran out"))
    );
    assert_eq!(stand.crossings().await, [1, 1, 1, 0]);
    assert_eq!(stand.told("allocation.funds_exhausted").await.len(), 1);
    let why = stand.why(id).await;
    println!("why: {}\nchange: {}", why.rule, why.change.as_deref().unwrap());
    assert!(why.change.unwrap().starts_with("add funds"));
    // Holds lasted as long as the grace: nothing was given away.
    let left = stand.balance().await.available_micros;
    assert!((-200_000..=0).contains(&left), "{left}");
    // What is told is as the contract says, with amount and time.
    let low: WalletBalanceLow = serde_json::from_value(stand.told("wallet.balance_low").await.remove(0)).unwrap();
    let grace: WalletGraceStarted = serde_json::from_value(stand.told("wallet.grace_started").await.remove(0)).unwrap();
    assert_eq!((low.currency.as_str(), grace.until), ("USD", Some(ends)));
    assert!(low.balance.ends_with(" USD") && low.until.is_some(), "{low:?}");
    let audited: i64 = stand.one("SELECT count(*) FROM audit WHERE action LIKE 'wallet.%'").await;
    assert_eq!(audited, 3, "each step is in the audit log");
    println!("low: {} until {:?}; grace: {} until {ends}", low.balance, low.until.unwrap(), grace.balance);
}

#[tokio::test(flavor = "multi_thread")]
async fn money_in_the_grace_stops_it() {
    let stand = Stand::new().await;
    stand.credit(2 * DOLLAR).await;
    let id = stand.start(ask(2)).await;
    stand.settle().await;
    stand.is(WalletState::Low).await;
    stand.pass(35).await;
    stand.is(WalletState::Grace).await;
    stand.credit(100 * DOLLAR).await;
    stand.settle().await;
    let balance = stand.balance().await;
    assert_eq!((balance.state, balance.grace_ends_at), (WalletState::Funded.into(), None));
    stand.pass(120).await;
    assert_eq!(stand.get(id).await.state, AllocationState::Active);
    assert_eq!(stand.crossings().await, [1, 1, 0, 1]);
    println!("funded again: {:?}", stand.told("wallet.funded").await[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_paid_for_whole_and_never_past_its_end() {
    let stand = Stand::new().await;
    stand.policy("billing.low_balance_minutes", "1").await;
    stand.credit(4 * DOLLAR + 1000).await;
    let leased = AllocationSpec { lease_minutes: contract::Within::new(240), ..ask(1) };
    let id = stand.ask(leased).await;
    stand.go(id, "provisioning").await;
    stand.run("UPDATE allocations SET lease_ends_at = app_now() + interval '240 minutes'").await;
    stand.go(id, "active").await;
    stand.pass(235).await;
    assert_eq!((stand.crossings().await, stand.get(id).await.state), ([0; 4], AllocationState::Active.into()));
    stand.pass(10).await;
    let over = stand.get(id).await;
    assert_eq!((over.state, over.reason.as_deref()), (AllocationState::Released.into(), Some("its lease ended")));
    let crossings = stand.crossings().await;
    assert_eq!((crossings[1], crossings[2]), (0, 0), "its end is not a lack of money");
}

#[tokio::test(flavor = "multi_thread")]
async fn wallet_is_never_short_where_allocations_need_no_money() {
    let stand = Stand::new().await;
    stand.credit(2 * DOLLAR).await;
    let id = stand.start(ask(2)).await;
    stand.pass(35).await;
    stand.is(WalletState::Grace).await;
    stand.policy("billing.required", "false").await;
    stand.settle().await;
    stand.is(WalletState::Funded).await;
    stand.later(300).await;
    assert_eq!(stand.get(id).await.state, AllocationState::Active);
    assert!(stand.balance().await.available_micros < -5 * DOLLAR, "it is metered all the same");
    assert_eq!(stand.crossings().await[2], 0);
    // Switched on again, what runs is held for from then on, or has its grace.
    stand.policy("billing.required", "true").await;
    stand.settle().await;
    stand.is(WalletState::Grace).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn allocation_from_before_money_was_required_gets_a_hold() {
    let stand = Stand::new().await;
    stand.policy("billing.required", "false").await;
    stand.credit(100 * DOLLAR).await;
    stand.start(ask(1)).await;
    stand.settle().await;
    assert_eq!(stand.one::<i64>("SELECT count(*) FROM holds").await, 0);
    stand.policy("billing.required", "true").await;
    stand.settle().await;
    assert_eq!(stand.one::<i64>("SELECT count(*) FROM holds").await, 1);
    let held = stand.balance().await.held_micros;
    assert!((990_000..=1_000_000).contains(&held), "{held}");
}

#[tokio::test(flavor = "multi_thread")]
async fn adjustment_below_the_holds_starts_the_grace() {
    let stand = Stand::new().await;
    stand.credit(50 * DOLLAR).await;
    stand.start(ask(1)).await;
    stand.settle().await;
    stand.is(WalletState::Funded).await;
    let spec = CorrectionSpec {
        currency: "USD".parse().unwrap(),
        amount_micros: -60 * DOLLAR,
        reason: "a chargeback".parse().unwrap(),
    };
    stand.operator.call::<AdjustBalance>(stand.path(), Nothing {}, spec).await.unwrap();
    stand.settle().await;
    stand.is(WalletState::Grace).await;
    assert_eq!(stand.crossings().await, [0, 1, 0, 0]);
}
