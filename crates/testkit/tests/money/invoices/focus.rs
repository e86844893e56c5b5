//! The export for FinOps tools: every row as FOCUS 1.0 asks, and together what
//! the wallet paid.

use std::{collections::BTreeSet, process::Stdio};

use contract::{
    Nothing,
    corrections::{AdjustBalance, CorrectionSpec, GrantCredit, JournalPath, ReverseJournal},
    id::JournalId,
    organizations::{Because, OrganizationPath},
};
use serde_json::json;
use testkit::process::{binary, said};
use tokio::{io::AsyncWriteExt, process::Command};

use crate::invoices::{
    focus_rules::{Line, wrong},
    shop::Shop,
};

/// A month's table, as Python's reader reads it.
async fn export(shop: &Shop, month: &str) -> Vec<Line> {
    let world = &shop.stand.world;
    let viewer = world.member_of(shop.stand.organization, contract::Role::Viewer).await;
    let mut command = Command::new(binary("gpuaas"));
    command
        .args(["usage", "export", "--month", month, "--format", "focus"])
        .env("GPUAAS_URL", &world.server.base)
        .env("GPUAAS_TOKEN", &viewer.token)
        .env("GPUAAS_ORGANIZATION", shop.stand.organization.to_string())
        .env("GPUAAS_CONFIG", "/nonexistent/gpuaas.toml")
        .kill_on_drop(true);
    let table = said(command).await;
    assert!(table.is_success, "{table:?}");
    let script = "import csv,json,sys; print(json.dumps(list(csv.DictReader(sys.stdin, strict=True))))";
    let mut reader = Command::new("python3")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is there, as `make test` sees to");
    reader.stdin.take().unwrap().write_all(table.out.as_bytes()).await.unwrap();
    let output = reader.wait_with_output().await.unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn micros(line: &Line) -> i64 {
    let (whole, rest) = line["BilledCost"].split_once('.').unwrap();
    format!("{whole}{rest:0<6}").parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_is_as_the_specification_asks_and_all_sum_to_what_was_paid() {
    let shop = Shop::open(1_234_577, json!({ "name": "VAT", "basis_points": 1900 })).await;
    let path = || OrganizationPath { organization_id: shop.stand.organization };
    let spec = |amount_micros: i64, reason: &str| CorrectionSpec {
        currency: "USD".parse().unwrap(),
        amount_micros,
        reason: reason.parse().unwrap(),
    };
    let first = shop.period();
    let staff = shop.staff().await;
    staff.call::<GrantCredit>(path(), Nothing {}, spec(50_000_000, "welcome, \"friend\"")).await.unwrap();
    staff.call::<AdjustBalance>(path(), Nothing {}, spec(-3_000_001, "=a fee")).await.unwrap();
    let id = shop.stand.allocation(2).await;
    shop.stand.run(&format!(r#"UPDATE allocations SET tags = '{{"team":"=vision"}}' WHERE id = '{id}'"#)).await;
    shop.stand.go(id, "active").await;
    // What has no price is in the table too, for nothing.
    let (organization, project) = (shop.stand.organization.uuid(), shop.stand.project);
    shop.stand
        .run(&format!(
            "INSERT INTO skus (id, name, shape, gpu_counts, numa_bound) SELECT gen_random_uuid(), 'gratis', shape, gpu_counts, false FROM skus;
             INSERT INTO allocations (id, organization_id, project_id, sku_id, gpus, nodes, same_fabric, login, created_by, state)
               SELECT gen_random_uuid(), '{organization}', '{project}', id, 1, 1, false, 'g', 'test', 'requested' FROM skus WHERE name = 'gratis'"
        ))
        .await;
    shop.stand.run_all().await;
    shop.stand.advance(3 * 3600 + 11);
    shop.stand.close().await;
    shop.to_month_end(-60);
    shop.issue().await;
    // Taken back after its month was invoiced, and within the month that goes on.
    let second = shop.period();
    let usage = |order: &str| format!("SELECT id FROM journals WHERE kind = 'usage' ORDER BY number {order} LIMIT 1");
    for order in ["ASC", "DESC"] {
        let journal_id = JournalId::from(shop.stand.one::<uuid::Uuid>(&usage(order)).await);
        let path = JournalPath { organization_id: shop.stand.organization, journal_id };
        let because = Because { reason: "the host was broken".parse().unwrap() };
        shop.staff().await.call::<ReverseJournal>(path, Nothing {}, because).await.unwrap();
    }
    shop.issue().await;
    shop.stand.advance(3600);
    shop.stand.close().await;

    let mut lines = Vec::new();
    for period in [first, second] {
        lines.extend(export(&shop, &period.start.strftime("%Y-%m").to_string()).await);
    }
    for line in &lines {
        assert_eq!(wrong(line), [] as [String; 0], "{line:#?}");
    }
    let seen: BTreeSet<(&str, &str)> =
        lines.iter().map(|it| (it["ChargeCategory"].as_str(), it["ChargeClass"].as_str())).collect();
    let all = [
        ("Adjustment", ""),
        ("Adjustment", "Correction"),
        ("Credit", ""),
        ("Tax", ""),
        ("Tax", "Correction"),
        ("Usage", ""),
    ];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
    let paid =
        "SELECT -sum(e.amount)::bigint FROM entries e JOIN accounts a ON a.id = e.account_id WHERE a.kind = 'wallet'";
    let sum: i64 = lines.iter().map(micros).sum();
    assert_eq!(sum, shop.stand.one::<i64>(paid).await, "nothing else moved the wallet");
    let invoice = &shop.invoices().await[0];
    let on_it: i64 = lines.iter().filter(|it| it["x_InvoiceNumber"] == invoice.number).map(micros).sum();
    assert_eq!(on_it, invoice.total_micros, "what names an invoice sums to it");
    println!("{} rows as FOCUS 1.0 asks, together {sum} micros, as the wallet paid", lines.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_breaks_a_rule_is_found() {
    let shop = Shop::open(1_234_577, json!(null)).await;
    let month = shop.period().start.strftime("%Y-%m").to_string();
    shop.stand.started(1).await;
    shop.stand.advance(60);
    shop.stand.close().await;
    let good = export(&shop, &month).await.remove(0);
    assert_eq!(wrong(&good), [] as [String; 0]);
    let faults = [
        ("BilledCost", "1,5"),
        ("BillingCurrency", "dollars"),
        ("BillingPeriodEnd", "2026-12-01T00:00:00.5Z"),
        ("ChargeCategory", "Refund"),
        ("ChargeClass", "Regular"),
        ("ChargePeriodEnd", "2020-01-01T00:00:00Z"),
        ("CommitmentDiscountId", "x"),
        ("ConsumedUnit", ""),
        ("ListUnitPrice", "7.5"),
        ("RegionId", "alone"),
        ("SkuPriceId", ""),
        ("Tags", "team"),
        ("ServiceName", ""),
        ("Own", "x"),
    ];
    for (column, value) in faults {
        let mut line = good.clone();
        line.insert(column.to_owned(), value.to_owned());
        assert!(!wrong(&line).is_empty(), "{column} = {value:?} was let through");
    }
    let mut line = good.clone();
    line.remove("ChargeClass");
    assert_eq!(wrong(&line), ["ChargeClass is missing"]);
    let mut line = good;
    line.insert("ChargeCategory".into(), "Tax".into());
    let found = wrong(&line);
    assert!(found.iter().any(|it| it.starts_with("SkuId is ")), "tax has no price: {found:?}");
}
