//! Usage: how long GPUs ran, and what that came to, cut any way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Label, Open, Timestamp, endpoint, id::ProjectId, organizations::OrganizationPath, prices::CurrencyCode, words,
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
