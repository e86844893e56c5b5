//! Usage that is taken back: before its month is invoiced it is not on the
//! invoice, after that it is on a credit note with its own number.

use contract::{
    Code, Nothing,
    corrections::{JournalPath, ReverseJournal},
    id::JournalId,
    invoices::InvoiceKind,
    organizations::Because,
};
use serde_json::json;

use crate::invoices::shop::Shop;

async fn reverse(shop: &Shop, journal_id: uuid::Uuid) -> Result<(), client::ClientError> {
    let path = JournalPath { organization_id: shop.stand.organization, journal_id: JournalId::from(journal_id) };
    let because = Because { reason: "the host was broken".parse().unwrap() };
    let operator = shop.staff().await;
    operator.call::<ReverseJournal>(path, Nothing {}, because).await.map(|_| ())
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_reversed_after_its_invoice_is_credited() {
    let shop = Shop::open(1_234_577, json!({ "name": "VAT", "basis_points": 1900 })).await;
    let id = shop.stand.started(2).await;
    shop.stand.advance(3 * 3600 + 11);
    shop.stand.close().await;
    shop.stand.advance(3600);
    shop.stand.go(id, "releasing").await;
    shop.to_month_end(-60);
    shop.issue().await;
    let usage: uuid::Uuid =
        shop.stand.one("SELECT id FROM journals WHERE kind = 'usage' ORDER BY number LIMIT 1").await;
    reverse(&shop, usage).await.unwrap();
    let waits = "SELECT count(*) FROM work WHERE kind = 'invoices'";
    assert_eq!(shop.stand.one::<i64>(waits).await, 1, "taking it back asks for the credit note at once");
    shop.issue().await;

    let invoices = shop.invoices().await;
    assert_eq!(invoices.len(), 2, "{invoices:?}");
    let (invoice, note) = (&invoices[0], &invoices[1]);
    assert_eq!(note.kind, InvoiceKind::CreditNote);
    assert_eq!(note.corrects.as_ref(), Some(&invoice.number));
    assert!(note.number.ends_with("-000002"), "{}", note.number);
    assert_eq!(note.month, invoice.month);
    let taken = format!(
        "SELECT -sum(e.amount)::bigint FROM entries e JOIN journals j USING (organization_id, number) JOIN accounts a ON a.id = e.account_id
         WHERE j.id = '{usage}' AND a.kind = 'revenue'"
    );
    assert_eq!(note.subtotal_micros, shop.stand.one::<i64>(&taken).await);
    assert!(note.total_micros < 0 && note.due_micros == 0);
    assert_eq!(note.lines[0].consumed % 2, 0, "two GPUs");
    let remains = shop.stand.balance().await.posted.micros();
    assert_eq!(remains, -(invoice.total_micros + note.total_micros), "the wallet paid what both say");
    shop.issue().await;
    assert_eq!(shop.invoices().await.len(), 2, "once");

    for kind in ["invoice", "credit_note", "reversal"] {
        let statement = format!("SELECT id FROM journals WHERE kind = '{kind}' LIMIT 1");
        let refused = reverse(&shop, shop.stand.one(&statement).await).await.unwrap_err();
        assert!(refused.is(Code::Conflict), "{kind}: {refused}");
    }
    shop.proves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_reversed_before_its_invoice_is_not_on_it() {
    let shop = Shop::open(1_234_577, json!(null)).await;
    let id = shop.stand.started(2).await;
    shop.stand.advance(3 * 3600 + 11);
    shop.stand.close().await;
    shop.stand.advance(3600);
    shop.stand.go(id, "releasing").await;
    shop.stand.close().await;
    let usage: uuid::Uuid =
        shop.stand.one("SELECT id FROM journals WHERE kind = 'usage' ORDER BY number LIMIT 1").await;
    reverse(&shop, usage).await.unwrap();
    shop.issue().await;
    let period = shop.to_month_end(-60);
    shop.issue().await;
    let invoices = shop.invoices().await;
    assert_eq!(invoices.len(), 1, "{invoices:?}");
    let taken = format!(
        "SELECT sum(e.amount)::bigint FROM entries e JOIN journals j USING (organization_id, number) WHERE j.id = '{usage}' AND e.amount > 0"
    );
    let taken: i64 = shop.stand.one(&taken).await;
    assert_eq!(invoices[0].subtotal_micros, shop.charged(period).await - taken);
    let hours = invoices[0].lines[0].consumed / 2;
    assert!((3_600_000_000..3_660_000_000).contains(&hours), "what is left is the last hour: {hours}");
    shop.proves().await;
}
