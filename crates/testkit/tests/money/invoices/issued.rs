//! What an invoice says, and that it is what the ledger charged.

use contract::{
    Code, Nothing,
    billing_profiles::{PartySpec, SetBillingProfile},
    corrections::{CorrectionSpec, GrantCredit},
    invoices::InvoiceKind,
    organizations::OrganizationPath,
};
use serde_json::json;

use crate::invoices::shop::Shop;

const DAY: u64 = 86_400;

#[tokio::test(flavor = "multi_thread")]
async fn a_month_is_invoiced_to_the_millionth_and_rounded_once() {
    let shop = Shop::open(1_234_577, json!({ "name": "VAT", "basis_points": 1900 })).await;
    let first = shop.stand.started(1).await;
    shop.stand.started(2).await;
    shop.stand.advance(2 * DAY + 7);
    shop.stand.go(first, "releasing").await;
    let period = shop.to_month_end(-3600);
    shop.issue().await;

    let invoices = shop.invoices().await;
    assert_eq!(invoices.len(), 1, "{invoices:?}");
    let invoice = &invoices[0];
    assert_eq!(invoice.kind, InvoiceKind::Invoice);
    assert!(invoice.number.ends_with("-000001"), "{}", invoice.number);
    assert_eq!((invoice.period_start, invoice.period_end), (period.start, period.end));
    assert_eq!(invoice.seller.legal_name, "Rechenwerk Süd GmbH");
    assert_eq!(invoice.buyer.legal_name, "Test Organization");
    let charged = shop.charged(period).await;
    assert!(charged > 0);
    assert_eq!(invoice.subtotal_micros, charged, "it says what the ledger charged");
    assert_eq!(invoice.lines.iter().map(|it| it.amount_micros).sum::<i64>(), charged);
    assert_eq!(invoice.lines.len(), 1, "one project, SKU and price");
    assert_eq!(invoice.lines[0].price_micros, 1_234_577);
    assert_eq!(invoice.net_micros % 10_000, 0);
    assert!(invoice.rounding_micros.abs() <= 5_000);
    assert_eq!(invoice.net_micros, invoice.subtotal_micros + invoice.rounding_micros);
    assert!((invoice.tax_micros * 100 - invoice.net_micros * 19).abs() <= 500_000, "19 % to the cent");
    assert_eq!(invoice.total_micros, invoice.net_micros + invoice.tax_micros);
    assert_eq!((invoice.paid_micros, invoice.due_micros), (0, invoice.total_micros), "nothing was paid in");

    // The wallet paid the invoice to the cent, and usage after it to the millionth.
    let later =
        shop.charged(money::invoices::Period { start: period.end, end: "2999-01-01T00:00:00Z".parse().unwrap() });
    assert_eq!(shop.stand.balance().await.posted.micros(), -invoice.total_micros - later.await);
    let rounding = "SELECT coalesce(sum(e.amount), 0)::bigint FROM entries e JOIN accounts a ON a.id = e.account_id WHERE a.kind = 'rounding'";
    assert_eq!(shop.stand.one::<i64>(rounding).await, invoice.rounding_micros);
    shop.proves().await;
    shop.issue().await;
    assert_eq!(shop.invoices().await.len(), 1, "once");
    println!(
        "{}: {} micros of usage, rounding {}, total {}",
        invoice.number, charged, invoice.rounding_micros, invoice.total_micros
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_over_midnight_of_the_first_is_split_exactly() {
    let shop = Shop::open(7_777_777, json!(null)).await;
    let id = shop.stand.started(4).await;
    shop.to_month_end(90);
    shop.stand.close().await;
    // One posting is due that begins before the border and ends after it.
    shop.stand.advance(135);
    shop.stand.close().await;
    let crossing = "SELECT count(*) FROM journals WHERE kind = 'usage' AND month_of(from_at) <> month_of(to_at - interval '1 microsecond')";
    assert_eq!(shop.stand.one::<i64>(crossing).await, 0, "no journal is of two months");
    shop.to_month_end(-10);
    shop.stand.go(id, "releasing").await;
    shop.stand.advance(40 * DAY);
    shop.issue().await;

    let invoices = shop.invoices().await;
    assert_eq!(invoices.len(), 3, "two whole months, and ten seconds of the third");
    let mark = "SELECT epoch_us(at) FROM usage WHERE kind = 'start'";
    let start: i64 = shop.stand.one(mark).await;
    let end: i64 = shop.stand.one("SELECT epoch_us(at) FROM usage WHERE kind = 'end'").await;
    let come_to =
        |until: i64| i64::try_from(i128::from(4 * 7_777_777) * i128::from(until - start) / 3_600_000_000).unwrap();
    let mut before = 0;
    for invoice in &invoices {
        let until = come_to(invoice.period_end.as_microsecond().min(end));
        assert_eq!(invoice.subtotal_micros, until - before, "{}", invoice.month);
        before = until;
    }
    shop.stand.is_exact().await;
    shop.proves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn months_without_usage_and_free_ones_give_no_invoice() {
    let shop = Shop::open(0, json!(null)).await;
    shop.stand.started(8).await;
    shop.stand.advance(100 * DAY);
    shop.issue().await;
    assert_eq!(shop.invoices().await, []);
    assert_eq!(shop.stand.one::<i64>("SELECT count(*) FROM invoice_series").await, 0, "no number was taken");
    shop.proves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invoices_are_issued_only_once_there_is_a_seller() {
    let stand = crate::ledger::stand::Stand::new(1_000_000).await;
    let shop = Shop { stand };
    shop.stand.started(1).await;
    shop.stand.advance(40 * DAY);
    shop.issue().await;
    assert_eq!(shop.stand.one::<i64>("SELECT count(*) FROM invoices").await, 0);
    shop.sells(json!(null)).await;
    shop.issue().await;
    assert!(shop.stand.one::<i64>("SELECT count(*) FROM invoices").await >= 1, "past months are made up for");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_balance_pays_first_and_the_rest_is_due() {
    let shop = Shop::open(3_000_000, json!(null)).await;
    let operator = shop.staff().await;
    let spec: CorrectionSpec =
        serde_json::from_value(json!({ "currency": "USD", "amount_micros": 50_000_000, "reason": "welcome" })).unwrap();
    let path = OrganizationPath { organization_id: shop.stand.organization };
    operator.call::<GrantCredit>(path, Nothing {}, spec).await.unwrap();
    let id = shop.stand.started(1).await;
    shop.stand.advance(20 * 3600);
    shop.stand.go(id, "releasing").await;
    shop.to_month_end(-60);
    shop.issue().await;
    let invoice = shop.invoices().await.remove(0);
    assert_eq!(invoice.tax_micros, 0);
    assert!(invoice.total_micros >= 60_000_000, "{invoice:?}");
    assert_eq!(invoice.paid_micros, 50_000_000);
    assert_eq!(invoice.due_micros, invoice.total_micros - 50_000_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_buyer_is_printed_as_it_says_and_taxed_as_staff_say() {
    let shop = Shop::open(3_000_000, json!({ "name": "VAT", "basis_points": 1900 })).await;
    let (organization_id, world) = (shop.stand.organization, &shop.stand.world);
    let admin = world.member_of(organization_id, contract::Role::Admin).await;
    let billing = world.member_of(organization_id, contract::Role::Billing).await;
    let member = world.member_of(organization_id, contract::Role::Member).await;
    let path = || OrganizationPath { organization_id };
    let spec = |name: &str| -> PartySpec {
        serde_json::from_value(json!({ "legal_name": name, "address": ["Ερμού 1", "Αθήνα"] })).unwrap()
    };
    let refused = world.as_(&admin).call::<SetBillingProfile>(path(), Nothing {}, spec("株式会社")).await.unwrap_err();
    assert!(refused.is(Code::InvalidValue), "{refused}");
    let refused = world.as_(&member).call::<SetBillingProfile>(path(), Nothing {}, spec("Acme")).await.unwrap_err();
    assert!(refused.is(Code::Forbidden), "{refused}");
    for may in [admin, billing] {
        world.as_(&may).call::<SetBillingProfile>(path(), Nothing {}, spec("Ψηφιακή Έρευνα ΑΕ")).await.unwrap();
    }
    let spec = serde_json::from_value(json!({
        "legal_name": "Ψηφιακή Έρευνα ΑΕ", "address": [],
        "tax": { "name": "VAT", "basis_points": 0, "note": "Reverse charge" },
    }));
    let staff = shop.staff().await;
    staff.call::<contract::billing_profiles::SetAnyBillingProfile>(path(), Nothing {}, spec.unwrap()).await.unwrap();
    shop.stand.started(1).await;
    shop.to_month_end(-60);
    shop.issue().await;
    let invoice = shop.invoices().await.remove(0);
    assert_eq!(invoice.buyer.legal_name, "Ψηφιακή Έρευνα ΑΕ");
    assert_eq!(invoice.tax_micros, 0);
    assert_eq!(invoice.tax.unwrap().note.as_deref(), Some("Reverse charge"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_stays_as_it_was_issued_even_for_a_superuser() {
    let shop = Shop::open(3_000_000, json!(null)).await;
    shop.stand.started(1).await;
    shop.to_month_end(-60);
    shop.issue().await;
    let mut above = shop.stand.world.server.database.superuser().await;
    for statement in [
        "UPDATE invoices SET total_micros = total_micros, pdf = 'x'",
        "DELETE FROM invoices",
        "TRUNCATE invoices CASCADE",
        "UPDATE invoice_series SET last = last + 2",
        "UPDATE invoice_series SET last = last + 1",
        "DELETE FROM invoice_series",
        "TRUNCATE invoice_series",
    ] {
        let outcome = sqlx::raw_sql(statement).execute(&mut above).await;
        assert!(outcome.is_err(), "the database let through: {statement}");
        println!("{statement}: {}", outcome.unwrap_err());
    }
}
