//! An invoice, its files and the export of a month in which every unit was used.

use contract::prices::{PriceKind, PriceUnit};
use money::metering;
use serde_json::json;
use uuid::Uuid;

use crate::{
    invoices::shop::Shop,
    ledger::meters::{APPS, JOBS, REQUESTS, STORAGE, TOKENS},
};

#[tokio::test(flavor = "multi_thread")]
async fn invoice_has_a_line_for_every_unit_and_kind_of_price() {
    let shop = Shop::open(2_500_000, json!({ "name": "VAT", "basis_points": 1900 })).await;
    let stand = &shop.stand;
    let owner = stand.owner();
    for (unit, kind, micros, per_units) in [
        (PriceUnit::GibHour, PriceKind::OnDemand, 137, 1),
        (PriceUnit::GibHour, PriceKind::Reserved, 90, 1),
        (PriceUnit::Hour, PriceKind::OnDemand, 50_000, 1),
        (PriceUnit::Token, PriceKind::OnDemand, 700_003, 1_000_000),
        (PriceUnit::Request, PriceKind::OnDemand, 2000, 1000),
        (PriceUnit::Job, PriceKind::Spot, 125_000, 1),
    ] {
        stand.run(&owner.priced(unit, kind, micros, per_units)).await;
    }
    let (volume, reserved, app, model) = (Uuid::now_v7(), Uuid::now_v7(), Uuid::now_v7(), Uuid::now_v7());
    let gpus = stand.started(2).await;
    let mut tx = stand.tx().await;
    let running = [
        owner.used(&STORAGE, volume, 512, PriceKind::OnDemand),
        owner.used(&STORAGE, reserved, 1024, PriceKind::Reserved),
        owner.used(&APPS, app, 1, PriceKind::OnDemand),
    ];
    metering::start(&mut tx, &running).await.unwrap();
    let counted = [
        owner.used(&TOKENS, model, 12_345_678, PriceKind::OnDemand),
        owner.used(&REQUESTS, model, 4321, PriceKind::OnDemand),
        owner.used(&JOBS, app, 3, PriceKind::Spot),
    ];
    metering::count(&mut tx, &counted).await.unwrap();
    tx.commit().await.unwrap();
    stand.advance(3 * 3600);
    stand.close().await;
    stand.go(gpus, "releasing").await;
    let period = shop.to_month_end(-60);
    shop.issue().await;
    let invoice = shop.invoices().await.remove(0);
    let mut lines: Vec<(String, String, i64)> =
        invoice.lines.iter().map(|it| (it.unit.to_string(), it.price_kind.to_string(), it.per_units)).collect();
    lines.sort();
    let expected = [
        ("gib_hour", "on_demand", 1),
        ("gib_hour", "reserved", 1),
        ("gpu_hour", "on_demand", 1),
        ("hour", "on_demand", 1),
        ("job", "spot", 1),
        ("request", "on_demand", 1000),
        ("token", "on_demand", 1_000_000),
    ];
    assert_eq!(lines, expected.map(|(unit, kind, per)| (unit.to_owned(), kind.to_owned(), per)));
    let of = |unit: &str| invoice.lines.iter().find(|it| it.unit.to_string() == unit).unwrap();
    assert_eq!((of("token").consumed, of("token").amount_micros), (12_345_678, 12_345_678 * 700_003 / 1_000_000));
    assert_eq!((of("job").consumed, of("job").amount_micros), (3, 375_000));
    assert_eq!(of("request").amount_micros, 4321 * 2000 / 1000);
    assert_eq!(invoice.subtotal_micros, shop.charged(period).await);
    shop.proves().await;
    for line in &invoice.lines {
        println!(
            "{:>9} {:>10} {:>20} × {} / {} = {}",
            line.unit, line.price_kind, line.consumed, line.price_micros, line.per_units, line.amount_micros
        );
    }
}
