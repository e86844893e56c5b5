//! Invoices as files: what finance gets is what was issued.

use std::process::Command;

use contract::{
    Code, Nothing,
    invoices::{DownloadAnyInvoicePdf, DownloadInvoiceCsv, DownloadInvoicePdf, InvoicePath},
};
use serde_json::json;

use crate::invoices::shop::Shop;

const EVIL: &str = "=cmd|' /C calc'!A0, \"quoted\"\nand a second line";

async fn sold() -> Shop {
    let shop =
        Shop::open(1_234_577, json!({ "name": "VAT", "basis_points": 1900, "note": "Supplied in Germany" })).await;
    shop.stand.started(2).await;
    shop.stand.advance(3 * 3600);
    // Names are plain; one that is not must still harm nobody.
    shop.stand
        .run(&format!("UPDATE projects SET name = '{}' WHERE id = '{}'", EVIL.replace('\'', "''"), shop.stand.project))
        .await;
    shop.to_month_end(-60);
    shop.issue().await;
    shop
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pdf_is_the_one_that_was_issued_and_says_what_the_invoice_says() {
    let shop = sold().await;
    let invoice = shop.invoices().await.remove(0);
    let path = || InvoicePath { organization_id: shop.stand.organization, invoice_id: invoice.id };
    let viewer = shop.viewer().await;
    let pdf = viewer.call::<DownloadInvoicePdf>(path(), Nothing {}, Nothing {}).await.unwrap();
    assert_eq!(pdf.file_name, format!("invoice-{}.pdf", invoice.number));
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &pdf.bytes);
    let hash: String = hash.as_ref().iter().map(|it| format!("{it:02x}")).collect();
    assert_eq!(hash, invoice.pdf_sha256);
    assert_eq!(pdf.bytes, money::invoices::render(&invoice).unwrap(), "made again it has the same bytes");
    let staff = shop.staff().await;
    let any = contract::invoices::AnyInvoicePath { invoice_id: invoice.id };
    assert_eq!(staff.call::<DownloadAnyInvoicePdf>(any, Nothing {}, Nothing {}).await.unwrap().bytes, pdf.bytes);

    let text = text_of(&pdf.bytes);
    for part in [
        "Invoice",
        &invoice.number,
        "Rechenwerk Süd GmbH",
        "Königsallee 1",
        "DE123456789",
        "Test Organization",
        "slice",
        "1.234577",
        "VAT 19 %",
        "Supplied in Germany",
        "Page 1 of 1",
        "Amount due",
    ] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    let (stranger, person) = shop.stand.world.organization().await;
    let foreign = InvoicePath { organization_id: stranger, invoice_id: invoice.id };
    let refused = shop.stand.world.as_(&person).call::<DownloadInvoicePdf>(foreign, Nothing {}, Nothing {}).await;
    assert!(refused.unwrap_err().is(Code::NotFound));
}

/// What a reader of the document sees, by Debian's poppler-utils.
pub fn text_of(pdf: &[u8]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pdf).unwrap();
    let output = Command::new("pdftotext").arg("-layout").arg(file.path()).arg("-").output();
    let output = output.expect("pdftotext is missing: run scripts/bootstrap.sh --test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_sums_to_the_total_and_its_texts_stay_in_their_cells() {
    let shop = sold().await;
    let invoice = shop.invoices().await.remove(0);
    let path = InvoicePath { organization_id: shop.stand.organization, invoice_id: invoice.id };
    let viewer = shop.viewer().await;
    let csv = viewer.call::<DownloadInvoiceCsv>(path, Nothing {}, Nothing {}).await.unwrap();
    let text = String::from_utf8(csv.bytes).unwrap();
    let cell = format!("\"'{}\"", EVIL.replace('"', "\"\""));
    assert!(text.contains(&cell), "{text}");
    // Python's reader is the judge.
    let script = "import csv,sys,decimal
rows=list(csv.reader(sys.stdin))
assert all(len(row)==len(rows[0]) for row in rows), rows
print(rows[1][rows[0].index('project')])
print(sum(decimal.Decimal(row[-1]) for row in rows[1:]))";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &text).unwrap();
    let input = std::fs::File::open(file.path()).unwrap();
    let output = Command::new("python3").args(["-c", script]).stdin(input).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let total = format!("{}.{:06}", invoice.total_micros / 1_000_000, invoice.total_micros % 1_000_000);
    assert_eq!(said, format!("'{EVIL}\n{total}\n"));
}
