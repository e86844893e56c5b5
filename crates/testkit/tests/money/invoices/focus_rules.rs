//! The columns of FOCUS 1.0 as its specification has them: which there are,
//! what they hold, and when they are null. Names, allowed values and conditions
//! are those of its chapter "Columns".

use std::collections::BTreeMap;

pub type Line = BTreeMap<String, String>;

enum Holds {
    Decimal,
    Text,
    /// `YYYY-MM-DDTHH:mm:ssZ`, in UTC.
    Moment,
    Currency,
    /// Keys and values, as JSON.
    KeyValue,
    OneOf(&'static [&'static str]),
}

/// When a column has a value.
enum Filled {
    Always,
    Maybe,
    Never,
    /// For `Usage` that is no correction; never for `Tax`.
    AsPriced,
    /// For `Usage` alone.
    AsConsumed,
    /// When the other one is.
    With(&'static str),
}

use Filled::{Always, AsConsumed, AsPriced, Maybe, Never, With};
use Holds::{Currency, Decimal, KeyValue, Moment, OneOf, Text};

const SERVICES: &[&str] = &[
    "AI and Machine Learning",
    "Analytics",
    "Business Applications",
    "Compute",
    "Databases",
    "Developer Tools",
    "Multicloud",
    "Identity",
    "Integration",
    "Internet of Things",
    "Management and Governance",
    "Media",
    "Migration",
    "Mobile",
    "Networking",
    "Security",
    "Storage",
    "Web",
    "Other",
];

const COLUMNS: &[(&str, Holds, Filled)] = &[
    ("AvailabilityZone", Text, Maybe),
    ("BilledCost", Decimal, Always),
    ("BillingAccountId", Text, Always),
    ("BillingAccountName", Text, Always),
    ("BillingCurrency", Currency, Always),
    ("BillingPeriodEnd", Moment, Always),
    ("BillingPeriodStart", Moment, Always),
    ("ChargeCategory", OneOf(&["Usage", "Purchase", "Tax", "Credit", "Adjustment"]), Always),
    ("ChargeClass", OneOf(&["Correction"]), Maybe),
    ("ChargeDescription", Text, Always),
    ("ChargeFrequency", OneOf(&["One-Time", "Recurring", "Usage-Based"]), Always),
    ("ChargePeriodEnd", Moment, Always),
    ("ChargePeriodStart", Moment, Always),
    // Nothing is sold in advance for a discount.
    ("CommitmentDiscountCategory", OneOf(&["Spend", "Usage"]), Never),
    ("CommitmentDiscountId", Text, Never),
    ("CommitmentDiscountName", Text, Never),
    ("CommitmentDiscountStatus", OneOf(&["Used", "Unused"]), Never),
    ("CommitmentDiscountType", Text, Never),
    ("ConsumedQuantity", Decimal, AsConsumed),
    ("ConsumedUnit", Text, AsConsumed),
    ("ContractedCost", Decimal, Always),
    ("ContractedUnitPrice", Decimal, AsPriced),
    ("EffectiveCost", Decimal, Always),
    ("InvoiceIssuerName", Text, Always),
    ("ListCost", Decimal, Always),
    ("ListUnitPrice", Decimal, AsPriced),
    ("PricingCategory", OneOf(&["Standard", "Dynamic", "Committed", "Other"]), AsPriced),
    ("PricingQuantity", Decimal, AsPriced),
    ("PricingUnit", Text, AsPriced),
    ("ProviderName", Text, Always),
    ("PublisherName", Text, Always),
    ("RegionId", Text, With("RegionName")),
    ("RegionName", Text, With("RegionId")),
    ("ResourceId", Text, With("ResourceType")),
    ("ResourceName", Text, Maybe),
    ("ResourceType", Text, With("ResourceId")),
    ("ServiceCategory", OneOf(SERVICES), Always),
    ("ServiceName", Text, Always),
    ("SkuId", Text, AsPriced),
    ("SkuPriceId", Text, AsPriced),
    ("SubAccountId", Text, With("SubAccountName")),
    ("SubAccountName", Text, With("SubAccountId")),
    ("Tags", KeyValue, Maybe),
];

/// What is wrong with a row, column by column.
pub fn wrong(line: &Line) -> Vec<String> {
    let cell = |name: &str| line.get(name).map_or("", String::as_str);
    let mut wrong: Vec<String> = Vec::new();
    for name in line.keys().filter(|it| !it.starts_with("x_")) {
        if !COLUMNS.iter().any(|it| it.0 == name) {
            wrong.push(format!("{name} is no column, and our own begin with x_"));
        }
    }
    for (name, holds, filled) in COLUMNS {
        let value = cell(name);
        if !line.contains_key(*name) {
            wrong.push(format!("{name} is missing"));
        }
        let must = match filled {
            Always => Some(true),
            Never => Some(false),
            Maybe => None,
            With(other) => Some(!cell(other).is_empty()),
            AsConsumed => Some(cell("ChargeCategory") == "Usage"),
            AsPriced => match (cell("ChargeCategory"), cell("ChargeClass")) {
                ("Usage" | "Purchase", "") => Some(true),
                ("Tax", _) => Some(false),
                _ => None,
            },
        };
        if must.is_some_and(|it| it == value.is_empty()) {
            wrong.push(format!("{name} is {value:?}"));
        }
        if !value.is_empty() && !holds.takes(value) {
            wrong.push(format!("{name} cannot be {value:?}"));
        }
    }
    for (start, end) in [("BillingPeriodStart", "BillingPeriodEnd"), ("ChargePeriodStart", "ChargePeriodEnd")] {
        if cell(start) >= cell(end) {
            wrong.push(format!("{end} is not after {start}"));
        }
    }
    for (cost, price) in [("ListCost", "ListUnitPrice"), ("ContractedCost", "ContractedUnitPrice")] {
        let number = |name: &str| cell(name).parse::<f64>().ok();
        if let (Some(cost_is), Some(price), Some(quantity)) = (number(cost), number(price), number("PricingQuantity"))
            && (cost_is - price * quantity).abs() > 0.000_002
        {
            wrong.push(format!("{cost} is {cost_is}, and not {price} times {quantity}"));
        }
    }
    wrong
}

impl Holds {
    fn takes(&self, value: &str) -> bool {
        match self {
            Decimal => {
                let digits = value.strip_prefix('-').unwrap_or(value);
                let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
                let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
                is_number(whole) && is_number(rest)
            }
            Text => value.trim() == value,
            Moment => {
                let is_whole = value.len() == "2026-11-01T00:00:00Z".len() && value.ends_with('Z');
                is_whole && value.parse::<jiff::Timestamp>().is_ok()
            }
            Currency => value.parse::<kernel::money::Currency>().is_ok(),
            KeyValue => serde_json::from_str::<BTreeMap<String, serde_json::Value>>(value).is_ok(),
            OneOf(allowed) => allowed.contains(&value),
        }
    }
}
