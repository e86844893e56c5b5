//! What the platform earned, and how much of what is there was sold, day by day.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Timestamp, endpoint, id::SkuId, prices::CurrencyCode};

endpoint! {
    /// Show revenue from usage by day and SKU, from the ledger.
    ///
    /// Days are UTC days of posting. Reversals count on the day they were posted.
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
    /// Show the utilization of GPUs by day: GPU time sold and GPU time available.
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
    /// The start. Default: the beginning of the day 30 days ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The end, exclusive. Default: now.
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
    /// Negative when reversals exceed revenue.
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
    /// GPU-seconds sold.
    pub sold_gpu_seconds: i64,
    /// GPU-seconds available in the fleet.
    pub there_gpu_seconds: i64,
}
