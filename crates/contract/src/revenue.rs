//! What the platform earned, and how much of what is there was sold, day by day.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Timestamp, endpoint, id::SkuId, prices::CurrencyCode};

endpoint! {
    /// Show what was earned from usage, by day and SKU, as the books have it.
    ///
    /// A day is that of UTC on which it was posted. What was taken back counts against the day on which it was.
    GetRevenue = GET "/v1/platform/revenue" {
        query: DayRange,
        returns: 200 Revenue,
        auth: Platform(PlatformLedgerRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.revenue.read"),
        problems: [InvalidValue],
    }
}

endpoint! {
    /// Show how long GPUs were sold and how long they were there, day by day.
    GetUtilization = GET "/v1/platform/utilization" {
        query: DayRange,
        returns: 200 Utilization,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [InvalidValue],
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DayRange {
    /// From when on; the beginning of the day 30 days ago when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Until when, without that moment itself; until now when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Revenue {
    pub since: Timestamp,
    pub until: Timestamp,
    /// In the order of days; days without any are left out.
    pub lines: Vec<RevenueLine>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RevenueLine {
    /// Like `2026-11-15`.
    pub day: String,
    pub sku_id: SkuId,
    pub sku: String,
    pub currency: CurrencyCode,
    /// Negative when more was taken back than earned.
    pub amount_micros: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Utilization {
    pub since: Timestamp,
    pub until: Timestamp,
    /// Every day, in order.
    pub lines: Vec<UtilizationLine>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UtilizationLine {
    /// Like `2026-11-15`.
    pub day: String,
    /// GPUs times the seconds that they ran for somebody.
    pub sold_gpu_seconds: i64,
    /// GPUs times the seconds that their nodes were part of the fleet.
    pub there_gpu_seconds: i64,
}
