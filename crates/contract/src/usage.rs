//! Usage: how long GPUs ran, and what that came to, cut any way.

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
    prices::CurrencyCode,
    words,
};

endpoint! {
    /// Show what the organization used in a while, by project, SKU, tag or day.
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
    /// Show what any organization used in a while.
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
    /// Export a part of what the organization used in a month, interval by interval.
    ///
    /// Ask again with `next_after` until there is none. What is not posted yet is not part of it.
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
    /// Export a part of what any organization used in a month.
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
    /// Show what an allocation has cost so far: what is in the books, and what it has come to since.
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
    /// How usage is cut.
    UsageBy {
        Project = "project",
        Sku = "sku",
        /// By the values of one tag.
        Tag = "tag",
        /// Days are those of UTC.
        Day = "day",
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageRange {
    /// How to cut it; by project when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<UsageBy>,
    /// Which tag, when cut by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<Label>,
    /// Only what was used in this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// From when on; the beginning of this month when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Until when, without that moment itself; until now when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    pub by: Open<UsageBy>,
    pub since: Timestamp,
    pub until: Timestamp,
    /// The largest amount first; days in their order.
    pub lines: Vec<UsageLine>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageLine {
    /// The project's or SKU's name, the tag's value (empty without the tag), or the day.
    pub key: String,
    pub currency: CurrencyCode,
    /// GPUs times the seconds that they ran.
    pub gpu_seconds: i64,
    pub amount_micros: i64,
    /// How many intervals it is made of.
    pub intervals: i64,
}

/// What an allocation cost, to the millionth, at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllocationCost {
    pub allocation_id: AllocationId,
    pub currency: CurrencyCode,
    /// Up to when it is counted.
    pub at: Timestamp,
    /// All of it: posted less taken back, and accrued.
    pub amount_micros: i64,
    /// What is in the books, up to `posted_to`.
    pub posted_micros: i64,
    pub posted_to: Timestamp,
    /// What of that was taken back by corrections.
    pub taken_back_micros: i64,
    /// What it has come to since `posted_to`; it is posted with the next journal of usage.
    pub accrued_micros: i64,
    /// What is held for it besides.
    pub held_micros: i64,
    /// What an hour costs at present; 0 when it is not active.
    pub burn_micros_per_hour: i64,
    /// How long it was active.
    pub active_seconds: i64,
    /// GPUs times the seconds that they ran.
    pub gpu_seconds: i64,
    /// How often it became active.
    pub intervals: i64,
}

text! {
    /// How far an export got. Opaque: only send back what a part of it gave.
    ExportPlace {
        schema: { "type": "string", "pattern": "^[a-z0-9.-]{1,120}$" },
        rule: |text| (1..=120).contains(&text.len())
            && text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'.' || it == b'-'),
        otherwise: "not a place in an export; send `next_after` of an earlier part",
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportRange {
    pub month: Month,
    /// Goes on after this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ExportPlace>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageExport {
    pub organization_id: OrganizationId,
    pub organization: String,
    /// Who sells, as on invoices; absent until the platform says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seller: Option<String>,
    pub period_start: Timestamp,
    /// The end of the month, which is not part of it.
    pub period_end: Timestamp,
    /// Up to when usage was posted, the same for all parts of an export.
    pub posted_to: Timestamp,
    pub charges: Vec<Charge>,
    /// What costs or gives something besides usage; after the last of the charges.
    #[serde(default)]
    pub other_charges: Vec<OtherCharge>,
    /// Send it as `after` to go on; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<ExportPlace>,
}

/// What an allocation came to from one start until it ceased to run, as far as
/// that lies in the month. Amounts are millionths of the currency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Charge {
    pub allocation_id: AllocationId,
    /// Names the interval in the allocation.
    pub interval: i64,
    pub project_id: ProjectId,
    pub project: String,
    pub sku_id: SkuId,
    pub sku: String,
    /// Where it was asked to run, if that mattered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    pub gpus: i32,
    pub from: Timestamp,
    /// The end, which is not part of it.
    pub to: Timestamp,
    /// GPUs times the microseconds that they ran.
    pub gpu_micros: i64,
    pub currency: CurrencyCode,
    /// The version of the price; absent when it was free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_id: Option<PriceId>,
    pub price_micros_per_gpu_hour: i64,
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
        /// Usage that was taken back, a correction by staff, or the rounding of an invoice.
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
    /// What it is for: the window that is taken back, the invoice's month, or the day on which it was posted.
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
