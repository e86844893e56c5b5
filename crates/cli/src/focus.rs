//! Charges in the columns of FOCUS 1.0, the FinOps Open Cost and Usage
//! Specification, as CSV: one row per interval that an allocation ran, and one
//! for each credit, correction, rounding and tax.

use std::{collections::BTreeMap, fmt::Display};

use contract::{
    Open, Timestamp,
    csv::{Row, head},
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
const UNIT: &str = "GPU-Hours";

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
    let price = decimal(charge.price_micros_per_gpu_hour);
    let about = format!("{} GPU(s) of {} at {price} {} per GPU-hour", charge.gpus, charge.sku, charge.currency);
    let mut cells = Cells::of(export, charge.amount_micros);
    cells.plain("BillingCurrency", &charge.currency);
    cells.plain("ChargeCategory", "Usage");
    cells.text("ChargeDescription", &about);
    cells.plain("ChargeFrequency", "Usage-Based");
    cells.charge_period(charge.from, charge.to);
    for column in ["ConsumedQuantity", "PricingQuantity"] {
        cells.plain(column, gpu_hours(charge.gpu_micros));
    }
    for column in ["ConsumedUnit", "PricingUnit"] {
        cells.plain(column, UNIT);
    }
    for column in ["ContractedUnitPrice", "ListUnitPrice"] {
        cells.plain(column, &price);
    }
    cells.plain("PricingCategory", "Standard");
    if let Some(region) = &charge.region {
        cells.text("RegionId", region);
        cells.text("RegionName", region);
    }
    cells.plain("ResourceId", charge.allocation_id);
    cells.plain("ResourceType", "Allocation");
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

/// GPUs times hours with twelve decimals, the rest cut off.
fn gpu_hours(gpu_micros: i64) -> String {
    let scaled = i128::from(gpu_micros) * 1_000_000_000_000 / 3_600_000_000;
    format!("{}.{:012}", scaled / 1_000_000_000_000, scaled % 1_000_000_000_000)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_row_has_every_column() {
        let charge = json!({
            "allocation_id": contract::id::AllocationId::generate(), "interval": 3,
            "project_id": contract::id::ProjectId::generate(), "project": "a, \"b\"",
            "sku_id": contract::id::SkuId::generate(), "sku": "slice", "gpus": 2,
            "from": "2026-11-30T23:00:00.9Z", "to": "2026-11-30T23:59:59.000001Z", "gpu_micros": 7_200_000_000_i64,
            "currency": "USD", "price_micros_per_gpu_hour": 2_490_000, "amount_micros": 4_980_000,
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
