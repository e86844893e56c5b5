//! Charges in the columns of FOCUS 1.0, the FinOps Open Cost and Usage
//! Specification, as CSV: one row per interval or count of usage, and one
//! for each credit, correction, rounding and tax.

use std::{collections::BTreeMap, fmt::Display};

use contract::{
    Open, Timestamp,
    csv::{Row, head},
    prices::{PriceKind, PriceUnit},
    usage::{Charge, OtherCharge, OtherChargeKind, UsageExport},
};
use jiff::SignedDuration;

const COLUMNS: &[&str] = &[
    "AvailabilityZone",
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargeFrequency",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "CommitmentDiscountCategory",
    "CommitmentDiscountId",
    "CommitmentDiscountName",
    "CommitmentDiscountStatus",
    "CommitmentDiscountType",
    "ConsumedQuantity",
    "ConsumedUnit",
    "ContractedCost",
    "ContractedUnitPrice",
    "EffectiveCost",
    "InvoiceIssuerName",
    "ListCost",
    "ListUnitPrice",
    "PricingCategory",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "RegionId",
    "RegionName",
    "ResourceId",
    "ResourceName",
    "ResourceType",
    "ServiceCategory",
    "ServiceName",
    "SkuId",
    "SkuPriceId",
    "SubAccountId",
    "SubAccountName",
    "Tags",
    "x_InvoiceNumber",
];

const SERVICE: &str = "GPU compute";

pub fn heading() -> String {
    head(COLUMNS)
}

/// Lines of the table, for a part of an export.
pub fn lines(export: &UsageExport) -> String {
    let usage = export.charges.iter().map(|it| usage(export, it));
    usage.chain(export.other_charges.iter().map(|it| other(export, it))).collect()
}

/// A row by the names of its columns; those that are not named are null.
struct Cells(BTreeMap<&'static str, Cell>);

enum Cell {
    Plain(String),
    /// Somebody may have chosen it.
    Text(String),
}

impl Cells {
    /// What every row says.
    fn of(export: &UsageExport, cost: i64) -> Self {
        let seller = export.seller.as_deref().unwrap_or("gpuaas");
        let mut cells = Self(BTreeMap::new());
        for column in ["BilledCost", "ContractedCost", "EffectiveCost", "ListCost"] {
            cells.plain(column, decimal(cost));
        }
        for column in ["InvoiceIssuerName", "ProviderName", "PublisherName"] {
            cells.text(column, seller);
        }
        cells.plain("BillingAccountId", export.organization_id);
        cells.text("BillingAccountName", &export.organization);
        cells.plain("BillingPeriodStart", second(export.period_start));
        cells.plain("BillingPeriodEnd", second(export.period_end));
        cells.plain("ServiceCategory", "Compute");
        cells.plain("ServiceName", SERVICE);
        cells
    }

    fn plain(&mut self, column: &'static str, value: impl Display) {
        self.0.insert(column, Cell::Plain(value.to_string()));
    }

    fn text(&mut self, column: &'static str, text: &str) {
        self.0.insert(column, Cell::Text(text.to_owned()));
    }

    /// The seconds that hold the period, so that it is never empty.
    fn charge_period(&mut self, from: Timestamp, to: Timestamp) {
        self.plain("ChargePeriodStart", second(from));
        let is_whole = to.subsec_nanosecond() == 0;
        self.plain("ChargePeriodEnd", second(if is_whole { to } else { to + SignedDuration::from_secs(1) }));
    }

    fn line(self) -> String {
        let put = |row: Row, column: &&str| match self.0.get(column) {
            None => row.plain(""),
            Some(Cell::Plain(value)) => row.plain(value),
            Some(Cell::Text(text)) => row.text(text),
        };
        COLUMNS.iter().fold(Row::default(), put).finish()
    }
}

fn usage(export: &UsageExport, charge: &Charge) -> String {
    let price = decimal(charge.price_micros);
    let (of, unit, quantity) = match charge.unit {
        Open::Known(PriceUnit::GpuHour) => ("GPU(s)", "GPU-Hours", hours(charge.consumed)),
        Open::Known(PriceUnit::Hour) => ("unit(s)", "Hours", hours(charge.consumed)),
        Open::Known(PriceUnit::GibHour) => ("GiB", "GiB-Hours", hours(charge.consumed)),
        Open::Known(PriceUnit::Request) => ("request(s)", "Requests", charge.consumed.to_string()),
        Open::Known(PriceUnit::Token) => ("token(s)", "Tokens", charge.consumed.to_string()),
        Open::Known(PriceUnit::Job) => ("job(s)", "Jobs", charge.consumed.to_string()),
        Open::Unknown(_) => ("unit(s)", "Units", charge.consumed.to_string()),
    };
    let per = match charge.per_units {
        1 => unit.to_owned(),
        many => format!("{many} {unit}"),
    };
    let about = format!("{} {of} of {} at {price} {} per {per}", charge.quantity, charge.sku, charge.currency);
    let mut cells = Cells::of(export, charge.amount_micros);
    cells.plain("BillingCurrency", &charge.currency);
    cells.plain("ChargeCategory", "Usage");
    cells.text("ChargeDescription", &about);
    cells.plain("ChargeFrequency", "Usage-Based");
    cells.charge_period(charge.from, charge.to);
    for column in ["ConsumedQuantity", "PricingQuantity"] {
        cells.plain(column, &quantity);
    }
    for column in ["ConsumedUnit", "PricingUnit"] {
        cells.plain(column, unit);
    }
    for column in ["ContractedUnitPrice", "ListUnitPrice"] {
        cells.plain(column, unit_price(charge.price_micros, charge.per_units));
    }
    let category = match charge.price_kind {
        Open::Known(PriceKind::Spot) => "Dynamic",
        Open::Known(PriceKind::Reserved) => "Committed",
        Open::Known(PriceKind::OnDemand | PriceKind::Stopped) | Open::Unknown(_) => "Standard",
    };
    cells.plain("PricingCategory", category);
    if let Some(region) = &charge.region {
        cells.text("RegionId", region);
        cells.text("RegionName", region);
    }
    cells.plain("ResourceId", &charge.subject_id);
    cells.text("ResourceType", &capitalized(&charge.subject_kind));
    cells.plain("SkuId", charge.sku_id);
    // What is free has no price of its own, and the column is not for nulls.
    cells.plain("SkuPriceId", charge.price_id.map_or_else(|| charge.sku_id.to_string(), |it| it.to_string()));
    cells.plain("SubAccountId", charge.project_id);
    cells.text("SubAccountName", &charge.project);
    cells.text("Tags", &serde_json::to_string(&charge.tags).unwrap_or_default());
    cells.plain("x_InvoiceNumber", charge.invoice.as_deref().unwrap_or_default());
    cells.line()
}

fn other(export: &UsageExport, charge: &OtherCharge) -> String {
    let category = match &charge.kind {
        Open::Known(OtherChargeKind::Credit) => "Credit",
        Open::Known(OtherChargeKind::Tax) => "Tax",
        Open::Known(OtherChargeKind::Adjustment) | Open::Unknown(_) => "Adjustment",
    };
    let mut cells = Cells::of(export, charge.amount_micros);
    cells.plain("BillingCurrency", &charge.currency);
    cells.plain("ChargeCategory", category);
    cells.plain("ChargeClass", if charge.is_correction { "Correction" } else { "" });
    cells.text("ChargeDescription", if charge.reason.is_empty() { category } else { &charge.reason });
    cells.plain("ChargeFrequency", "One-Time");
    cells.charge_period(charge.from, charge.to);
    cells.plain("x_InvoiceNumber", charge.invoice.as_deref().unwrap_or_default());
    cells.line()
}

/// Without a fraction, as the specification writes moments.
fn second(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Millionths as a decimal number, exactly.
fn decimal(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let whole = micros.unsigned_abs();
    format!("{sign}{}.{:06}", whole / 1_000_000, whole % 1_000_000)
}

/// The price of one unit: with more decimals where it is for many.
fn unit_price(micros: i64, per_units: i64) -> String {
    if per_units == 1 {
        return decimal(micros);
    }
    let scaled = i128::from(micros) * 1_000_000_000_000 / i128::from(per_units.max(1));
    format!("{}.{:018}", scaled / 1_000_000_000_000_000_000, scaled % 1_000_000_000_000_000_000)
}

/// `app_instance` as `App instance`.
fn capitalized(noun: &str) -> String {
    let text = noun.replace('_', " ");
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Units times hours with twelve decimals, the rest cut off.
fn hours(micros: i64) -> String {
    let scaled = i128::from(micros) * 1_000_000_000_000 / 3_600_000_000;
    format!("{}.{:012}", scaled / 1_000_000_000_000, scaled % 1_000_000_000_000)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_row_has_every_column() {
        let charge = json!({
            "subject_kind": "allocation", "subject_id": contract::id::AllocationId::generate().to_string(),
            "meter": "gpu_time", "interval": 3, "number": 3,
            "project_id": contract::id::ProjectId::generate(), "project": "a, \"b\"",
            "sku_id": contract::id::SkuId::generate(), "sku": "slice", "unit": "gpu_hour", "price_kind": "on_demand", "quantity": 2,
            "from": "2026-11-30T23:00:00.9Z", "to": "2026-11-30T23:59:59.000001Z", "consumed": 7_200_000_000_i64,
            "currency": "USD", "price_micros": 2_490_000, "per_units": 1, "amount_micros": 4_980_000,
            "tags": { "team": "=cmd" },
        });
        let export = json!({
            "organization_id": contract::id::OrganizationId::generate(), "organization": "Acme",
            "period_start": "2026-11-01T00:00:00Z", "period_end": "2026-12-01T00:00:00Z",
            "posted_to": "2026-12-01T00:00:00Z", "charges": [charge],
        });
        let line = lines(&serde_json::from_value(export).unwrap());
        let cells = cells(line.trim_end());
        assert_eq!(cells.len(), COLUMNS.len());
        let cell = |name: &str| cells[COLUMNS.iter().position(|it| *it == name).unwrap()].as_str();
        assert_eq!(cell("BilledCost"), "4.980000");
        assert_eq!(cell("PricingQuantity"), "2.000000000000");
        assert_eq!(cell("ChargePeriodStart"), "2026-11-30T23:00:00Z");
        assert_eq!(cell("ChargePeriodEnd"), "2026-12-01T00:00:00Z");
        assert_eq!(cell("BillingPeriodEnd"), "2026-12-01T00:00:00Z");
        assert_eq!(cell("ChargeFrequency"), "Usage-Based");
        assert_eq!(cell("ListUnitPrice"), "2.490000");
        assert_eq!(cell("ProviderName"), "gpuaas");
        assert_eq!(cell("ServiceCategory"), "Compute");
        assert_eq!(cell("SubAccountName"), "a, \"b\"");
        assert_eq!(cell("Tags"), r#"{"team":"=cmd"}"#);
        assert_eq!(cell("x_InvoiceNumber"), "");
    }

    fn cells(line: &str) -> Vec<String> {
        let (mut cells, mut is_quoted) = (vec![String::new()], false);
        let mut letters = line.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '"' if is_quoted && letters.peek() == Some(&'"') => {
                    letters.next();
                    cells.last_mut().unwrap().push('"');
                }
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => cells.push(String::new()),
                other => cells.last_mut().unwrap().push(other),
            }
        }
        cells
    }
}
