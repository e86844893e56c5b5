//! Meters of every unit: what they charge, and what the database refuses.

use contract::{
    prices::{PriceKind, PriceSpec, PriceUnit, SetPrice},
    skus::SkuPath,
};
use money::metering;
use testkit::cloud::price_of;
use uuid::Uuid;

use crate::ledger::{
    meters::{APPS, JOBS, STORAGE, TOKENS},
    stand::Stand,
};

#[tokio::test(flavor = "multi_thread")]
async fn move_without_its_mark_is_refused_at_the_commit() {
    let stand = Stand::new(1_000_000).await;
    let id = stand.allocation(1).await;
    let refused = |from: &'static str, to: &'static str| {
        let stand = &stand;
        async move {
            let mut tx = stand.tx().await;
            // tidy: planted, the trigger must refuse a move that is not metered
            let moved = format!("UPDATE allocations SET state = '{to}', version = version + 1 WHERE id = '{id}'");
            sqlx::raw_sql(sqlx::AssertSqlSafe(moved)).execute(tx.conn()).await.unwrap();
            let error = tx.commit().await.unwrap_err().to_string();
            println!("{from} to {to}: {error}");
            error
        }
    };
    let error = refused("provisioning", "active").await;
    assert!(error.contains("is active and its meter gpu_time is not running"), "{error}");
    stand.go(id, "active").await;
    let error = refused("active", "stopping").await;
    assert!(error.contains("is stopping and its meter gpu_time is running"), "{error}");
    assert_eq!(stand.marks().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn change_of_a_quantity_leaves_no_gap() {
    let stand = Stand::new(1_000_000).await;
    let owner = stand.owner();
    stand.run(&owner.priced(PriceUnit::GibHour, PriceKind::OnDemand, 1000, 1)).await;
    stand.run(&owner.priced(PriceUnit::GibHour, PriceKind::Stopped, 100, 1)).await;
    let volume = Uuid::now_v7();
    let mut tx = stand.tx().await;
    metering::start(&mut tx, &[owner.used(&STORAGE, volume, 10, PriceKind::OnDemand)]).await.unwrap();
    tx.commit().await.unwrap();
    for (quantity, kind) in [(20, PriceKind::OnDemand), (20, PriceKind::Stopped), (5, PriceKind::OnDemand)] {
        stand.advance(3600);
        let mut tx = stand.tx().await;
        metering::change(&mut tx, &[owner.used(&STORAGE, volume, quantity, kind)]).await.unwrap();
        tx.commit().await.unwrap();
    }
    let marks = stand.marks().await;
    let kinds: Vec<&str> = marks.iter().map(|it| it.kind.as_str()).collect();
    assert_eq!(kinds, ["start", "end", "start", "end", "start", "end", "start"]);
    for pair in marks[1..].chunks_exact(2) {
        assert_eq!(pair[0].at_us, pair[1].at_us, "one ends as the next begins");
    }
    let rates: Vec<i64> = marks.iter().step_by(2).map(|it| it.micros_per_hour).collect();
    assert_eq!(rates, [10_000, 20_000, 2_000, 5_000]);
    stand.close().await;
    assert_eq!(stand.is_exact().await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_add_up_to_the_price_of_their_total() {
    let stand = Stand::new(1_000_000).await;
    let owner = stand.owner();
    // A token costs less than a millionth: counted one by one, each alone would be free.
    stand.run(&owner.priced(PriceUnit::Token, PriceKind::OnDemand, 700_003, 1_000_000)).await;
    let (model, other) = (Uuid::now_v7(), Uuid::now_v7());
    let mut total = 0;
    for step in 0..40 {
        let count = 1 + step % 7;
        total += count;
        let mut tx = stand.tx().await;
        let both = [
            owner.used(&TOKENS, model, count, PriceKind::OnDemand),
            owner.used(&TOKENS, other, 1, PriceKind::OnDemand),
        ];
        metering::count(&mut tx, &both).await.unwrap();
        tx.commit().await.unwrap();
        if step % 5 == 0 {
            stand.close().await;
        }
    }
    stand.close().await;
    let charged = |id| format!("SELECT coalesce(sum(amount), 0)::bigint FROM entries WHERE subject_id = '{id}'");
    assert_eq!(stand.one::<i64>(&charged(model)).await, 700_003 * total / 1_000_000);
    assert_eq!(stand.one::<i64>(&charged(other)).await, 700_003 * 40 / 1_000_000);
    assert_eq!(stand.is_exact().await, 2, "one interval each, at one price");
    // Another price begins another interval, and so does what belongs to something else.
    stand.run(&owner.priced(PriceUnit::Token, PriceKind::OnDemand, 900_001, 1_000_000)).await;
    let mut tx = stand.tx().await;
    metering::count(&mut tx, &[owner.used(&TOKENS, model, 9, PriceKind::OnDemand)]).await.unwrap();
    let mut elsewhere = owner.used(&TOKENS, other, 9, PriceKind::OnDemand);
    elsewhere.parents.component = Some("draft".to_owned());
    metering::count(&mut tx, &[elsewhere]).await.unwrap();
    tx.commit().await.unwrap();
    stand.close().await;
    assert_eq!(stand.is_exact().await, 4);
    println!("{total} tokens in 40 counts: {} millionths", 700_003 * total / 1_000_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_without_a_price_is_free_and_recorded() {
    let stand = Stand::new(1_000_000).await;
    let owner = stand.owner();
    let app = Uuid::now_v7();
    let mut tx = stand.tx().await;
    metering::start(&mut tx, &[owner.used(&APPS, app, 1, PriceKind::OnDemand)]).await.unwrap();
    metering::count(&mut tx, &[owner.used(&JOBS, app, 3, PriceKind::OnDemand)]).await.unwrap();
    tx.commit().await.unwrap();
    stand.advance(3600);
    let closed = stand.close().await;
    assert_eq!((closed.lines, stand.marks().await.len()), (0, 2));
    stand.is_exact().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn price_that_nothing_charges_is_refused() {
    let stand = Stand::new(1_000_000).await;
    let operator = stand.world.as_(&stand.world.operator().await);
    let set =
        |spec: PriceSpec| operator.call::<SetPrice>(SkuPath { sku_id: stand.sku.into() }, Default::default(), spec);
    for (spec, says) in [
        (PriceSpec { unit: Some(PriceUnit::Token), ..price_of(1) }, "gpu_hour"),
        (PriceSpec { kind: Some(PriceKind::Reserved), ..price_of(1) }, "on_demand"),
        (PriceSpec { per_units: Some(1000), ..price_of(1) }, "only counted units"),
    ] {
        let refused = set(spec).await.unwrap_err();
        println!("{refused}");
        assert!(refused.is(contract::Code::InvalidValue) && refused.to_string().contains(says), "{refused}");
    }
    let set = set(PriceSpec { unit: Some(PriceUnit::GpuHour), kind: Some(PriceKind::OnDemand), ..price_of(1) });
    assert_eq!(set.await.unwrap().price_micros, 1);
}
