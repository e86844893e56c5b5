//! Usage: what was metered, and what that came to, divided any way.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Label, Open, Timestamp,
    allocations::AllocationPath,
    endpoint,
    id::{AllocationId, JournalId, OrganizationId, PriceId, ProjectId, SkuId},
    ledger::Month,
    organizations::OrganizationPath,
    prices::{CurrencyCode, PriceKind, PriceUnit},
    words,
};

endpoint! {
    /// Show the organization's usage in a period by project, SKU, tag, day or meter.
    GetUsage = GET "/v1/organizations/{organization_id}/usage" {
        path: OrganizationPath,
        query: UsageRange,
        returns: 200 Usage,
        auth: Organization(LedgerRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [InvalidValue],
    }
}

endpoint! {
    /// Show the usage of any organization in a period.
    GetAnyUsage = GET "/v1/platform/organizations/{organization_id}/usage" {
        path: OrganizationPath,
        query: UsageRange,
        returns: 200 Usage,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.usage.read"),
        problems: [NotFound, InvalidValue],
    }
}

endpoint! {
    /// Export the organization's usage of a month, interval by interval, in parts.
    ///
    /// Repeat with `next_after` until there is none. Usage that is not posted yet is not included.
    ExportUsage = GET "/v1/organizations/{organization_id}/usage/charges" {
        path: OrganizationPath,
        query: ExportRange,
        returns: 200 UsageExport,
        auth: Organization(LedgerRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [InvalidValue],
    }
}

endpoint! {
    /// Export the usage of any organization in a month, in parts.
    ExportAnyUsage = GET "/v1/platform/organizations/{organization_id}/usage/charges" {
        path: OrganizationPath,
        query: ExportRange,
        returns: 200 UsageExport,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.usage.export"),
        problems: [NotFound, InvalidValue],
    }
}

endpoint! {
    /// Show the cost of an allocation so far: posted, and accrued since.
    GetAllocationCost = GET "/v1/projects/{project_id}/allocations/{allocation_id}/cost" {
        path: AllocationPath,
        returns: 200 AllocationCost,
        auth: Project(LedgerRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

words! {
    /// How usage is grouped.
    UsageBy {
        Project = "project",
        Sku = "sku",
        /// By the values of one tag.
        Tag = "tag",
        /// Days are those of UTC.
        Day = "day",
        Meter = "meter",
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageRange {
    /// The grouping. Default: by project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<UsageBy>,
    /// The tag, when grouped by tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<Label>,
    /// Only usage of this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The start. Default: the beginning of this month.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The end, exclusive. Default: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    pub by: Open<UsageBy>,
    pub since: Timestamp,
    pub until: Timestamp,
    /// The largest amount first; days in order.
    pub lines: Vec<UsageLine>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageLine {
    /// The name of the project, SKU or meter, the tag's value (empty without the tag), or the day.
    pub key: String,
    pub currency: CurrencyCode,
    /// GPU-seconds. What is not measured in GPU hours adds none.
    pub gpu_seconds: i64,
    /// By meter: the unit of its prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Open<PriceUnit>>,
    /// By meter: the quantity; where it is measured over time, times seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<i64>,
    pub amount_micros: i64,
    /// How many intervals it consists of.
    pub intervals: i64,
}

/// What an allocation cost, to the millionth, at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllocationCost {
    pub allocation_id: AllocationId,
    pub currency: CurrencyCode,
    /// The time of the calculation.
    pub at: Timestamp,
    /// The total: posted minus reversed, plus accrued.
    pub amount_micros: i64,
    /// The posted amount, up to `posted_to`.
    pub posted_micros: i64,
    pub posted_to: Timestamp,
    /// The part of it that was reversed by corrections.
    pub taken_back_micros: i64,
    /// The accrued amount since `posted_to`; posted with the next usage journal.
    pub accrued_micros: i64,
    /// The remaining hold.
    pub held_micros: i64,
    /// The current cost per hour; 0 if it is not active.
    pub burn_micros_per_hour: i64,
    /// How long it was active.
    pub active_seconds: i64,
    /// GPU-seconds.
    pub gpu_seconds: i64,
    /// How often it became active.
    pub intervals: i64,
}

text! {
    /// The position of an export. Opaque: only send back a value from an earlier response.
    ExportPlace {
        schema: { "type": "string", "pattern": "^[a-z0-9._-]{1,160}$" },
        rule: |text| (1..=160).contains(&text.len())
            && text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || b"._-".contains(&it)),
        otherwise: "not a place in an export; send `next_after` of an earlier part",
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportRange {
    pub month: Month,
    /// Continues after this position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ExportPlace>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageExport {
    pub organization_id: OrganizationId,
    pub organization: String,
    /// The seller, as on invoices; absent until it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seller: Option<String>,
    pub period_start: Timestamp,
    /// The end of the month, which is not part of it.
    pub period_end: Timestamp,
    /// When usage was last posted, the same for all parts of an export.
    pub posted_to: Timestamp,
    pub charges: Vec<Charge>,
    /// Charges and credits besides usage, after the last usage charge.
    #[serde(default)]
    pub other_charges: Vec<OtherCharge>,
    /// Send it as `after` to continue; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<ExportPlace>,
}

/// The usage of a subject by a meter: from one start to the next end, or a counted quantity, within the month.
/// Amounts are millionths of the currency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Charge {
    /// What was metered, such as `allocation`.
    pub subject_kind: String,
    pub subject_id: String,
    pub meter: String,
    /// Names the interval in the subject and meter.
    pub interval: i64,
    /// The number of the mark that began it or counted it.
    pub number: i64,
    pub project_id: ProjectId,
    pub project: String,
    /// The allocation that it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation_id: Option<AllocationId>,
    pub sku_id: SkuId,
    pub sku: String,
    /// The requested region, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    pub unit: Open<PriceUnit>,
    pub price_kind: Open<PriceKind>,
    /// How many units concurrently, or how many were counted.
    pub quantity: i64,
    pub from: Timestamp,
    /// The end, which is not part of it.
    pub to: Timestamp,
    /// What is priced: the counted quantity, or quantity times microseconds where it is measured over time.
    pub consumed: i64,
    pub currency: CurrencyCode,
    /// The version of the price; absent when it was free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_id: Option<PriceId>,
    pub price_micros: i64,
    /// How many units the price is for.
    pub per_units: i64,
    pub amount_micros: i64,
    pub tags: BTreeMap<String, String>,
    /// The number of the month's invoice, once it is issued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invoice: Option<String>,
}

words! {
    OtherChargeKind {
        /// Given by the platform.
        Credit = "credit",
        /// Reversed usage, a correction by staff, or the rounding of an invoice.
        Adjustment = "adjustment",
        Tax = "tax",
    }
}

/// What a journal adds to what the organization pays, besides usage. Payments,
/// refunds and disputes are no charges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherCharge {
    pub journal_id: JournalId,
    pub kind: Open<OtherChargeKind>,
    /// Whether it corrects a month that was invoiced before.
    pub is_correction: bool,
    pub reason: String,
    /// The start of its period: the reversed window, the invoice's month, or the day of posting.
    pub from: Timestamp,
    /// The end, which is not part of it.
    pub to: Timestamp,
    pub currency: CurrencyCode,
    /// Negative when the organization pays less.
    pub amount_micros: i64,
    /// The number of the invoice or credit note that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invoice: Option<String>,
}
