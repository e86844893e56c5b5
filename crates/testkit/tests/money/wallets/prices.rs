//! Prices that rise, money for a start, and the currency of what is asked for.

use std::time::Duration;

use client::ClientError;
use contract::{
    Code, Nothing,
    allocations::{Allocation, AllocationSpec, StartAllocation},
    id::AllocationId,
    prices::{PriceSpec, SetPrice},
    skus::SkuPath,
    wallets::WalletState,
};
use testkit::cloud::{ask, price_of};

use crate::wallets::stand::{DOLLAR, Stand};

#[tokio::test(flavor = "multi_thread")]
async fn a_price_that_rose_before_the_start_is_held_for_or_has_a_grace() {
    let stand = Stand::new().await;
    stand.credit(10 * DOLLAR).await;
    let waits = stand.ask(ask(1)).await;
    stand.price(4 * DOLLAR, "USD").await;
    stand.go(waits, "provisioning").await;
    stand.go(waits, "active").await;
    stand.settle().await;
    let balance = stand.balance().await;
    assert!((5_990_000..=6_010_000).contains(&balance.available_micros), "{balance:?}: held at the new price");
    assert_eq!(balance.state, WalletState::Funded);
    // Another one is asked for at the price of now, and starts at three times that.
    let waits = stand.ask(ask(1)).await;
    stand.price(12 * DOLLAR, "USD").await;
    stand.go(waits, "provisioning").await;
    stand.go(waits, "active").await;
    stand.settle().await;
    stand.is(WalletState::Grace).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_allocation_needs_money_to_start_again() {
    let stand = Stand::new().await;
    stand.credit(5 * DOLLAR).await;
    let id = stand.start(ask(1)).await;
    stand.go(id, "stopping").await;
    stand.go(id, "stopped").await;
    stand.price(20 * DOLLAR, "USD").await;
    let refused = start(&stand, id).await.unwrap_err();
    assert!(refused.is(Code::InsufficientFunds), "{refused}");
    println!("{refused}");
    stand.credit(16 * DOLLAR).await;
    start(&stand, id).await.unwrap();
    let held = stand.balance().await.held_micros;
    assert_eq!(held, 20 * DOLLAR, "what was held for it before counts");
}

#[tokio::test(flavor = "multi_thread")]
async fn sku_priced_in_another_currency_alone_is_not_free() {
    let stand = Stand::new().await;
    stand.credit(5 * DOLLAR).await;
    for required in ["true", "false"] {
        stand.policy("billing.required", required).await;
        stand.policy("billing.currency", "EUR").await;
        let refused = stand.try_ask(ask(1)).await.unwrap_err();
        assert!(refused.is(Code::NotPriced), "{refused}");
        assert!(refused.to_string().contains("`slice` has a price in USD but no price in EUR"), "{refused}");
        stand.policy("billing.currency", "USD").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sku_without_a_price_in_force_is_not_sold() {
    let stand = Stand::new().await;
    stand.credit(5 * DOLLAR).await;
    stand.run("INSERT INTO skus (id, name, shape, gpu_counts, numa_bound) SELECT gen_random_uuid(), 'gratis', shape, gpu_counts, false FROM skus").await;
    let gratis = || AllocationSpec { sku: "gratis".parse().unwrap(), ..ask(1) };
    for required in ["true", "false"] {
        stand.policy("billing.required", required).await;
        let refused = stand.try_ask(gratis()).await.unwrap_err();
        assert!(refused.is(Code::NotPriced), "{refused}");
        assert!(refused.to_string().contains("`gpuaas prices set gratis AMOUNT --currency USD`"), "{refused}");
        println!("{refused}");
    }
    stand.policy("billing.required", "true").await;
    // One that begins later does not count yet; one of nothing does, at once.
    let sku_id = stand.one::<uuid::Uuid>("SELECT id FROM skus WHERE name = 'gratis'").await.into();
    let set = |micros, effective_at| {
        let spec = PriceSpec { effective_at, ..price_of(micros) };
        stand.operator.call::<SetPrice>(SkuPath { sku_id }, Nothing {}, spec)
    };
    let tomorrow = stand.world.server.control_plane.db.clock.estimate() + Duration::from_secs(86_400);
    set(DOLLAR, Some(tomorrow)).await.unwrap();
    assert!(stand.try_ask(gratis()).await.unwrap_err().is(Code::NotPriced));
    set(0, None).await.unwrap();
    let free = stand.start(gratis()).await;
    assert_eq!(stand.balance().await.held_micros, 0);
    stand.go(free, "stopping").await;
    stand.go(free, "stopped").await;
    start(&stand, free).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_allocation_does_not_start_without_a_price() {
    let stand = Stand::new().await;
    stand.credit(5 * DOLLAR).await;
    let id = stand.start(ask(1)).await;
    stand.go(id, "stopping").await;
    stand.go(id, "stopped").await;
    stand.run(&format!("UPDATE allocations SET currency = 'EUR' WHERE id = '{}'", id.uuid())).await;
    let refused = start(&stand, id).await.unwrap_err();
    assert!(refused.is(Code::NotPriced), "{refused}");
    println!("{refused}");
    stand.price(0, "EUR").await;
    start(&stand, id).await.unwrap();
}

async fn start(stand: &Stand, id: AllocationId) -> Result<Allocation, ClientError> {
    stand.client().await.call::<StartAllocation>(stand.at(id), Nothing {}, Nothing {}).await
}

#[tokio::test(flavor = "multi_thread")]
async fn request_is_charged_in_the_currency_of_the_platform() {
    let stand = Stand::new().await;
    stand.credit(5 * DOLLAR).await;
    stand.price(2 * DOLLAR, "EUR").await;
    let before = stand.ask(ask(1)).await;
    stand.policy("billing.currency", "EUR").await;
    let refused = stand.try_ask(ask(1)).await.unwrap_err();
    assert!(refused.to_string().contains("the request needs 2.00 EUR, and 0.00 EUR is available"), "{refused}");
    stand.policy("billing.required", "false").await;
    let after = stand.ask(ask(1)).await;
    for (id, currency) in [(before, "USD"), (after, "EUR")] {
        let found = format!("SELECT currency FROM allocations WHERE id = '{}'", id.uuid());
        assert_eq!(stand.one::<String>(&found).await, currency);
    }
}
