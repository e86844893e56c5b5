//! What can be said about a page without looking at it.

use contract::{
    billing_profiles::Tax,
    id::{InvoiceId, OrganizationId, ProjectId, SkuId},
    prices::PriceKind,
};

use super::*;

fn party(name: &str) -> Party {
    Party {
        legal_name: name.into(),
        address: vec!["Königsallee 1".into(), "40212 Düsseldorf".into(), "Germany".into()],
        tax_id: Some("DE123456789".into()),
        email: Some("billing@example.com".into()),
    }
}

fn invoice(lines: usize) -> Invoice {
    let line = |index: usize| InvoiceLine {
        project_id: ProjectId::from(uuid::Uuid::from_u128(index as u128)),
        project: format!("training-{index}"),
        sku_id: SkuId::from(uuid::Uuid::from_u128(1)),
        sku: "h200-slice".into(),
        tag: None,
        unit: PriceUnit::GpuHour.into(),
        price_kind: PriceKind::OnDemand.into(),
        consumed: 3_600_000_000 * (index as i64 + 1) + 1_234_567,
        price_micros: 2_490_000,
        per_units: 1,
        amount_micros: 2_490_000 * (index as i64 + 1) + 853,
    };
    let lines: Vec<InvoiceLine> = (0..lines).map(line).collect();
    let subtotal: i64 = lines.iter().map(|it| it.amount_micros).sum();
    let net = (subtotal + 5_000) / 10_000 * 10_000;
    let tax = net * 19 / 100 / 10_000 * 10_000;
    Invoice {
        id: InvoiceId::from(uuid::Uuid::from_u128(7)),
        organization_id: OrganizationId::from(uuid::Uuid::from_u128(8)),
        number: "2026-000123".into(),
        kind: InvoiceKind::Invoice.into(),
        corrects: None,
        month: "2026-11".parse().unwrap(),
        period_start: "2026-11-01T00:00:00Z".parse().unwrap(),
        period_end: "2026-12-01T00:00:00Z".parse().unwrap(),
        issued_at: "2026-12-01T00:02:03Z".parse().unwrap(),
        currency: "EUR".parse().unwrap(),
        seller: party("Rechenwerk Süd GmbH"),
        buyer: party("Ψηφιακή Έρευνα ΑΕ — Исследования"),
        tag_key: None,
        lines,
        subtotal_micros: subtotal,
        rounding_micros: net - subtotal,
        net_micros: net,
        tax: Some(Tax { name: "VAT".into(), basis_points: 1900, note: Some("Supplied in Germany.".into()) }),
        tax_micros: tax,
        total_micros: net + tax,
        paid_micros: net,
        due_micros: tax,
        journal: Some(9),
        pdf_sha256: String::new(),
    }
}

/// The same, cut by a tag: some have none, and some values are long.
fn tagged(lines: usize) -> Invoice {
    let mut invoice = invoice(lines);
    invoice.tag_key = Some("cost-center".parse().unwrap());
    for (index, line) in invoice.lines.iter_mut().enumerate() {
        line.tag = Some(["4711", "", "research and development, Düsseldorf", "(other)"][index % 4].into());
    }
    invoice
}

/// Takes all of it back.
fn credit_note(mut note: Invoice) -> Invoice {
    note.kind = InvoiceKind::CreditNote.into();
    note.corrects = Some(std::mem::replace(&mut note.number, "2026-000124".into()));
    for line in &mut note.lines {
        line.consumed = -line.consumed;
        line.amount_micros = -line.amount_micros;
    }
    let micros = [
        &mut note.subtotal_micros,
        &mut note.rounding_micros,
        &mut note.net_micros,
        &mut note.tax_micros,
        &mut note.total_micros,
    ];
    micros.into_iter().for_each(|it| *it = -*it);
    (note.paid_micros, note.due_micros) = (note.total_micros, 0);
    note
}

#[test]
fn the_same_invoice_gives_the_same_bytes() {
    let one = render(&invoice(3)).unwrap();
    assert!(one.starts_with(b"%PDF-"));
    assert_eq!(one, render(&invoice(3)).unwrap());
    // To be looked at: GPUAAS_PAPER=/tmp/paper cargo nextest run -p control pdf
    if let Ok(folder) = std::env::var("GPUAAS_PAPER") {
        let papers = [
            ("short", invoice(3)),
            ("long", invoice(95)),
            ("tagged", tagged(9)),
            ("note", credit_note(invoice(3))),
            ("tagged-note", credit_note(tagged(5))),
        ];
        for (name, paper) in papers {
            std::fs::write(format!("{folder}/{name}.pdf"), render(&paper).unwrap()).unwrap();
        }
    }
}

#[test]
fn many_lines_take_many_pages() {
    let pages = |lines: usize| {
        let text = String::from_utf8_lossy(&render(&invoice(lines)).unwrap()).into_owned();
        text.matches("/Type /Page\n").count()
    };
    assert_eq!(pages(1), 1);
    assert_eq!(pages(95), 3);
}

#[test]
fn letters_that_cannot_be_printed_are_named() {
    assert_eq!(unprintable("Zażółć gęślą jaźń, Ελλάδα, Україна – €"), None);
    assert_eq!(unprintable("0123456789 -,.–·%()"), None, "what we print ourselves");
    assert_eq!(unprintable("株式会社"), Some('株'));
}

#[test]
fn amounts_read_well() {
    assert_eq!(grouped("1234567.890000"), "1,234,567.890000");
    assert_eq!(grouped("-999.10"), "-999.10");
    assert_eq!(price(2_490_000), "2.49");
    assert_eq!(price(1_234_567), "1.234567");
    assert_eq!(trimmed("19.00", 0), "19");
    assert_eq!(trimmed("7.70", 0), "7.7");
    assert_eq!((minor_places("USD"), minor_places("JPY"), minor_places("KWD")), (2, 0, 3));
}

#[test]
fn long_names_are_broken_into_lines() {
    let paper = Paper::new().unwrap();
    let long = "a-name-without-any-space-that-is-much-longer-than-its-column-is-wide";
    let lines = paper.broken(long, 120.0, TEXT);
    assert!(lines.len() > 1 && lines.concat() == long, "{lines:?}");
    assert!(lines.iter().all(|it| paper.width(it, TEXT) <= 120.0));
    assert_eq!(paper.broken("two words", 500.0, TEXT), ["two words"]);
}
