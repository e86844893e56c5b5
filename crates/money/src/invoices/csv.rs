//! An invoice as a table: a line for each line, one for rounding and one for
//! tax, so that the amounts of the table sum to the invoice's total.

use contract::{
    csv::{Row, head},
    invoices::{Invoice, InvoiceLine},
};

use super::{decimal, quantity};

const COLUMNS: &[&str] = &[
    "invoice",
    "kind",
    "month",
    "currency",
    "line",
    "project_id",
    "project",
    "sku_id",
    "sku",
    "tag_key",
    "tag",
    "quantity",
    "unit",
    "price_kind",
    "price",
    "per_units",
    "amount",
];

pub fn table(invoice: &Invoice) -> String {
    let mut text = head(COLUMNS);
    for line in &invoice.lines {
        text.push_str(&usage(invoice, line));
    }
    if invoice.rounding_micros != 0 {
        text.push_str(&extra(invoice, "rounding", "Rounding", invoice.rounding_micros));
    }
    if let Some(tax) = invoice.tax.as_ref().filter(|_| invoice.tax_micros != 0) {
        text.push_str(&extra(invoice, "tax", &tax.name, invoice.tax_micros));
    }
    text
}

fn begin(invoice: &Invoice, line: &str) -> Row {
    let row = Row::default().plain(&invoice.number).plain(&invoice.kind).plain(&invoice.month);
    row.plain(&invoice.currency).plain(line)
}

fn usage(invoice: &Invoice, line: &InvoiceLine) -> String {
    begin(invoice, "usage")
        .plain(line.project_id)
        .text(&line.project)
        .plain(line.sku_id)
        .text(&line.sku)
        .plain(invoice.tag_key.as_ref().map_or("", |it| it.as_str()))
        .text(line.tag.as_deref().unwrap_or(""))
        .plain(quantity(line, 9))
        .plain(&line.unit)
        .plain(&line.price_kind)
        .plain(decimal(line.price_micros, 6))
        .plain(line.per_units)
        .plain(decimal(line.amount_micros, 6))
        .finish()
}

fn extra(invoice: &Invoice, line: &str, name: &str, micros: i64) -> String {
    let row = begin(invoice, line).plain("").text(name);
    let row = (0..9).fold(row, |row, _| row.plain(""));
    row.plain(decimal(micros, 6)).finish()
}
