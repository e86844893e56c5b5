//! Charges in the columns of FOCUS 1.0, the FinOps Open Cost and Usage
//! Specification, as CSV: one row per interval that an allocation ran.

use contract::{
    csv::{Row, head},
    usage::{Charge, UsageExport},
};

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
    export.charges.iter().map(|it| line(export, it)).collect()
}

fn line(export: &UsageExport, charge: &Charge) -> String {
    let seller = export.seller.as_deref().unwrap_or("gpuaas");
    let (cost, price) = (decimal(charge.amount_micros), decimal(charge.price_micros_per_gpu_hour));
    let hours = gpu_hours(charge.gpu_micros);
    let about = format!("{} GPU(s) of {} at {price} {} per GPU-hour", charge.gpus, charge.sku, charge.currency);
    let region = charge.region.as_deref().unwrap_or("");
    let tags = serde_json::to_string(&charge.tags).unwrap_or_default();
    let nothing = |row: Row, count: usize| (0..count).fold(row, |row, _| row.plain(""));
    let row = Row::default().plain("").plain(&cost).plain(export.organization_id).text(&export.organization);
    let row = row.plain(&charge.currency).plain(export.period_end).plain(export.period_start);
    let row = row.plain("Usage").plain("").text(&about).plain("Usage-Based").plain(charge.to).plain(charge.from);
    let row = nothing(row, 5).plain(&hours).plain(UNIT).plain(&cost).plain(&price).plain(&cost).text(seller);
    let row = row.plain(&cost).plain(&price).plain("Standard").plain(&hours).plain(UNIT).text(seller).text(seller);
    let row = row.text(region).text(region).plain(charge.allocation_id).plain("").plain("Allocation");
    let row = row.plain("Compute").plain(SERVICE).plain(charge.sku_id);
    let row = row.plain(charge.price_id.map(|it| it.to_string()).unwrap_or_default());
    let row = row.plain(charge.project_id).text(&charge.project).text(&tags);
    row.plain(charge.invoice.as_deref().unwrap_or("")).finish()
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
            "from": "2026-11-30T23:00:00Z", "to": "2026-12-01T00:00:00Z", "gpu_micros": 7_200_000_000_i64,
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
