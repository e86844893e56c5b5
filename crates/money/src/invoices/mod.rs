//! Invoices: what a month of usage came to, issued once the month is posted,
//! numbered without gaps and never changed. The ledger decides what is owed;
//! an invoice tells it, rounds it once and adds tax.

mod csv;
mod issue;
mod pdf;
mod reconcile;
mod routes;
mod store;

pub use issue::{InvoiceError, issue_due};
pub use pdf::{render, unprintable};
pub use reconcile::{InvoicesReconciler, KIND};

use contract::{invoices::InvoiceLine, ledger::Month, prices::PriceUnit};
use jiff::{Timestamp, civil::Date, tz::TimeZone};

use crate::MoneyArea;
use kernel::lifecycle::ParentEnd;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<MoneyArea>) {
    registry.table("invoices", ParentEnd::Stays("the record of money"));
    registry.table("invoicing", ParentEnd::Stays("the record of money"));
    registry.reconciler(|_| InvoicesReconciler);
    registry.retention(&["invoices", "invoicing", "invoice_series"], Retention::Forever("the record of money"));
}

/// A month, from its beginning on and before the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    pub start: Timestamp,
    pub end: Timestamp,
}

impl Period {
    pub fn of(month: &Month) -> Option<Self> {
        let first: Date = format!("{month}-01").parse().ok()?;
        Self::from(first)
    }

    /// The month that a moment lies in.
    pub fn around(moment: Timestamp) -> Option<Self> {
        Self::from(moment.to_zoned(TimeZone::UTC).date().first_of_month())
    }

    fn from(first: Date) -> Option<Self> {
        let next = first.checked_add(jiff::Span::new().months(1)).ok()?;
        let moment = |day: Date| day.to_zoned(TimeZone::UTC).ok().map(|it| it.timestamp());
        Some(Self { start: moment(first)?, end: moment(next)? })
    }
}

/// The month that begins at a moment.
fn month(start: Timestamp) -> String {
    start.to_zoned(TimeZone::UTC).strftime("%Y-%m").to_string()
}

/// A number of millionths with so many decimals, the rest rounded half up.
fn decimal(micros: i64, places: u32) -> String {
    decimal_of(i128::from(micros), 6, places)
}

/// What a line is for, in the unit of its price: hours, from microseconds, or pieces.
fn quantity(line: &InvoiceLine, places: u32) -> String {
    match line.unit.known().is_none_or(PriceUnit::is_rate) {
        true => hours(line.consumed, places),
        false => line.consumed.to_string(),
    }
}

fn hours(micros: i64, places: u32) -> String {
    let scale = 10_i128.pow(places);
    let (whole, hour) = (i128::from(micros) * scale, 3_600_000_000);
    let rounded = (whole.abs() + hour / 2) / hour * whole.signum();
    decimal_of(rounded, places, places)
}

fn decimal_of(value: i128, has: u32, places: u32) -> String {
    let dropped = 10_i128.pow(has - places);
    let rounded = (value.abs() + dropped / 2) / dropped;
    let scale = 10_i128.pow(places);
    let sign = if value < 0 && rounded != 0 { "-" } else { "" };
    let whole = rounded / scale;
    if places == 0 {
        return format!("{sign}{whole}");
    }
    format!("{sign}{whole}.{:0width$}", rounded % scale, width = places as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_those_of_utc() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let december = Period { start: at("2026-12-01T00:00:00Z"), end: at("2027-01-01T00:00:00Z") };
        assert_eq!(Period::of(&"2026-12".parse().unwrap()), Some(december));
        assert_eq!(Period::around(at("2026-12-31T23:59:59.999999Z")), Some(december));
        assert_eq!(Period::around(at("2027-01-01T00:30:00+01:00")), Some(december));
        assert_ne!(Period::around(at("2027-01-01T00:00:00Z")), Some(december));
        assert_eq!(month(december.start), "2026-12");
    }

    #[test]
    fn numbers_are_written_exactly() {
        assert_eq!(decimal(1_234_567, 6), "1.234567");
        assert_eq!(decimal(-1_234_567, 6), "-1.234567");
        assert_eq!(decimal(-4_999, 2), "0.00");
        assert_eq!(decimal(5_000, 2), "0.01");
        assert_eq!(decimal(12_000_000, 0), "12");
        assert_eq!(hours(3_600_000_000, 4), "1.0000");
        assert_eq!(hours(-5_400_000_000, 4), "-1.5000");
        assert_eq!(hours(1, 4), "0.0000");
        assert_eq!(hours(i64::MAX, 12), "2562047788.015215501944");
    }
}
