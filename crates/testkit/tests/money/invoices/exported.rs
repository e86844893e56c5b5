//! Usage exports: part by part, and together what the ledger charged.

use std::collections::BTreeSet;

use contract::{
    Code, Nothing,
    organizations::OrganizationPath,
    usage::{ExportAnyUsage, ExportRange, ExportUsage, GetAnyUsage, UsageExport, UsageRange},
};
use serde_json::json;

use crate::invoices::shop::Shop;

async fn part(shop: &Shop, month: &str, after: Option<&str>) -> Result<UsageExport, client::ClientError> {
    let query: ExportRange = serde_json::from_value(json!({ "month": month, "after": after })).unwrap();
    let path = OrganizationPath { organization_id: shop.stand.organization };
    shop.viewer().await.call::<ExportUsage>(path, query, Nothing {}).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_sums_to_what_the_ledger_charged() {
    let shop = Shop::open(1_234_577, json!(null)).await;
    let (organization, project, sku) = (shop.stand.organization.uuid(), shop.stand.project, shop.stand.sku);
    shop.stand
        .run(&format!(
            "INSERT INTO allocations (id, organization_id, project_id, sku_id, gpus, nodes, same_fabric, login, created_by, state, tags)
               SELECT gen_random_uuid(), '{organization}', '{project}', '{sku}', 1 + n % 8, 1, false, 'g', 'test', 'requested',
                 jsonb_build_object('team', 't' || n % 3) FROM generate_series(1, 1100) n"
        ))
        .await;
    shop.stand.run_all().await;
    let period = shop.to_month_end(1800);
    shop.stand.close().await;
    shop.stand.advance(3600);
    // While it runs on: what is not posted is in no part.
    let month = period.start.strftime("%Y-%m").to_string();
    let first = part(&shop, &month, None).await.unwrap();
    assert_eq!(first.charges.len(), 1000);
    let after = first.next_after.clone().unwrap();
    shop.stand.close().await;
    let second = part(&shop, &month, Some(after.as_str())).await.unwrap();
    assert_eq!((second.charges.len(), second.next_after), (100, None));
    assert_eq!(second.posted_to, first.posted_to, "all parts end at one moment");
    let seen: BTreeSet<_> = first.charges.iter().chain(&second.charges).map(|it| it.subject_id.clone()).collect();
    assert_eq!(seen.len(), 1100);

    shop.issue().await;
    let mut sum = 0;
    let mut after = None;
    loop {
        let part = part(&shop, &month, after.as_deref()).await.unwrap();
        assert!(part.charges.iter().all(|it| it.to <= period.end && it.from >= period.start));
        assert!(part.charges.iter().all(|it| it.invoice.is_some() && it.tags.contains_key("team")));
        sum += part.charges.iter().map(|it| it.amount_micros).sum::<i64>();
        after = part.next_after.map(|it| it.to_string());
        if after.is_none() {
            break;
        }
    }
    let charged = shop.charged(period).await;
    assert_eq!(sum, charged);
    assert_eq!(shop.invoices().await[0].subtotal_micros, charged);
    println!("1100 intervals in two parts: {sum} micros, as the ledger charged");
    let staff = shop.staff().await;
    let path = || OrganizationPath { organization_id: shop.stand.organization };
    let query: ExportRange = serde_json::from_value(json!({ "month": month })).unwrap();
    let any = staff.call::<ExportAnyUsage>(path(), query, Nothing {}).await.unwrap();
    assert_eq!(any.charges.len(), 1000, "staff get the same");
    let by_project = staff.call::<GetAnyUsage>(path(), UsageRange::default(), Nothing {}).await.unwrap();
    assert!(by_project.lines.iter().all(|it| !it.key.is_empty()), "staff see what projects are called");
    let refused = part(&shop, &month, Some("1.2.3")).await.unwrap_err();
    assert!(refused.is(Code::InvalidValue), "{refused}");
}
