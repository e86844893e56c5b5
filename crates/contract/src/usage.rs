//! Usage: how long GPUs ran, and what that came to, cut any way.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Label, Open, Timestamp, endpoint,
    id::{AllocationId, OrganizationId, PriceId, ProjectId, SkuId},
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
