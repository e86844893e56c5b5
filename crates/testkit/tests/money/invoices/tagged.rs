//! Lines cut by a tag: what was used sums the same however it is cut.

use std::collections::BTreeMap;

use contract::{
    Code, Nothing, Role,
    corrections::{JournalPath, ReverseJournal},
    id::JournalId,
    invoices::{DownloadInvoiceCsv, Invoice, InvoiceKind, InvoicePath},
    organizations::Because,
    policies::{OrganizationPolicyPath, PolicyValue, SetOrganizationPolicy},
};
use serde_json::json;

use crate::{
    invoices::{downloads::text_of, shop::Shop},
    ledger::stand::Stand,
};

async fn cut_by(shop: &Shop, tag: &str) -> Result<(), client::ClientError> {
    let world = &shop.stand.world;
    let admin = world.as_(&world.member_of(shop.stand.organization, Role::Admin).await);
    let path =
        OrganizationPolicyPath { organization_id: shop.stand.organization, key: "billing.invoice_tag".to_owned() };
    admin.call::<SetOrganizationPolicy>(path, Nothing {}, PolicyValue { value: tag.to_owned() }).await.map(|_| ())
}

/// Runs an allocation of one GPU with such tags.
async fn started(stand: &Stand, tags: &str) {
    let id = stand.allocation(1).await;
    stand.run(&format!("UPDATE allocations SET tags = '{tags}' WHERE id = '{id}'")).await;
    stand.go(id, "active").await;
}

fn by_tag(invoice: &Invoice) -> BTreeMap<&str, i64> {
    let mut sums = BTreeMap::new();
    for line in &invoice.lines {
        *sums.entry(line.tag.as_deref().expect("every line says the tag's value")).or_insert(0) += line.amount_micros;
    }
    sums
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_cut_by_the_tag_that_the_organization_chose() {
    let shop = Shop::open(1_234_577, json!({ "name": "VAT", "basis_points": 1900 })).await;
    let refused = cut_by(&shop, "No Tag").await.unwrap_err();
    assert!(refused.is(Code::InvalidValue), "{refused}");
    cut_by(&shop, "team").await.unwrap();
    for tags in [r#"{"team":"=vision"}"#, r#"{"team":"=vision","other":"x"}"#, r#"{"team":"speech"}"#, "{}"] {
        started(&shop.stand, tags).await;
    }
    shop.stand.advance(3 * 3600 + 11);
    shop.stand.close().await;
    // What changes later changes nothing: tags are those of the start.
    shop.stand.run(r#"UPDATE allocations SET tags = '{"team":"late"}'"#).await;
    let period = shop.to_month_end(-60);
    shop.issue().await;

    let invoice = shop.invoices().await.remove(0);
    assert_eq!(invoice.tag_key.as_ref().map(|it| it.as_str()), Some("team"));
    assert_eq!(invoice.subtotal_micros, shop.charged(period).await);
    let sums = by_tag(&invoice);
    assert_eq!(sums.keys().copied().collect::<Vec<_>>(), ["", "=vision", "speech"]);
    assert_eq!(sums.values().sum::<i64>(), invoice.subtotal_micros, "the parts sum to the whole");
    assert!((sums["=vision"] - 2 * sums["speech"]).abs() < 3_000, "{sums:?}: two ran, and one");
    let text = text_of(&money::invoices::render(&invoice).unwrap());
    assert!(text.contains("Lines by tag") && text.contains("speech"), "{text}");

    let path = InvoicePath { organization_id: shop.stand.organization, invoice_id: invoice.id };
    let csv = shop.viewer().await.call::<DownloadInvoiceCsv>(path, Nothing {}, Nothing {}).await.unwrap();
    let csv = String::from_utf8(csv.bytes).unwrap();
    assert!(csv.lines().next().unwrap().contains(",sku,tag_key,tag,quantity,unit,"), "{csv}");
    assert!(csv.contains(",team,speech,") && csv.contains(",team,'=vision,"), "{csv}");

    // Another tag is for the next invoice; a credit note is cut as what it corrects.
    cut_by(&shop, "other").await.unwrap();
    let usage: uuid::Uuid =
        shop.stand.one("SELECT id FROM journals WHERE kind = 'usage' ORDER BY number LIMIT 1").await;
    let path = JournalPath { organization_id: shop.stand.organization, journal_id: JournalId::from(usage) };
    let because = Because { reason: "the host was broken".parse().unwrap() };
    shop.staff().await.call::<ReverseJournal>(path, Nothing {}, because).await.unwrap();
    shop.to_month_end(-60);
    shop.issue().await;
    let invoices = shop.invoices().await;
    let note = invoices.iter().find(|it| it.kind == InvoiceKind::CreditNote).unwrap();
    assert_eq!(note.tag_key, invoice.tag_key);
    assert_eq!(by_tag(note).into_keys().collect::<Vec<_>>(), ["", "=vision", "speech"]);
    let next = invoices.last().unwrap();
    assert_eq!(next.kind, InvoiceKind::Invoice);
    assert_eq!(by_tag(next).into_keys().collect::<Vec<_>>(), ["", "x"]);
    assert_eq!(invoices[0], invoice, "what was issued stays");
    shop.proves().await;
    println!("by team: {sums:?}, together {}", invoice.subtotal_micros);
}

#[tokio::test(flavor = "multi_thread")]
async fn values_beyond_the_largest_share_a_line() {
    let shop = Shop::open(1_234_577, json!(null)).await;
    cut_by(&shop, "run").await.unwrap();
    let (organization, project, sku) = (shop.stand.organization.uuid(), shop.stand.project, shop.stand.sku);
    shop.stand
        .run(&format!(
            "INSERT INTO allocations (id, organization_id, project_id, sku_id, gpus, nodes, same_fabric, login, created_by, state, tags)
               SELECT gen_random_uuid(), '{organization}', '{project}', '{sku}', CASE WHEN n <= 500 THEN 2 ELSE 1 END, 1, false, 'g',
                 'test', 'requested', jsonb_build_object('run', 'r' || n) FROM generate_series(1, 520) n"
        ))
        .await;
    shop.stand.run_all().await;
    let period = shop.to_month_end(-60);
    shop.issue().await;
    let invoice = shop.invoices().await.remove(0);
    assert_eq!(invoice.lines.len(), 501);
    assert_eq!(invoice.subtotal_micros, shop.charged(period).await);
    let sums = by_tag(&invoice);
    assert!(sums.contains_key("r1") && sums.contains_key("r500") && !sums.contains_key("r501"));
    assert!((sums["(other)"] - 10 * sums["r1"]).abs() < 20_000, "20 of one GPU are 10 of two");
}
