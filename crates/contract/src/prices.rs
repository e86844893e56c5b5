//! Prices: what a unit of a SKU costs. A price is never edited: a new version
//! takes its place from a given time on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Page, Timestamp, endpoint, event,
    id::{PriceId, SkuId},
    list_query,
    skus::SkuPath,
    words,
};

endpoint! {
    /// Set the price of a SKU from a given time on.
    ///
    /// With the policy `billing.four_eyes`, this only creates a proposal and answers `approval_required`: a
    /// second person must approve the named correction.
    SetPrice = POST "/v1/platform/skus/{sku_id}/prices" {
        path: SkuPath,
        body: PriceSpec,
        returns: 201 Price,
        auth: Platform(PlatformFleetWrite),
        lane: Financial,
        idempotency: KeyRequired,
        audit: Action("price.set"),
        problems: [NotFound, Conflict, InvalidValue, ApprovalRequired],
    }
}

endpoint! {
    /// List every version of the prices of a SKU, newest first.
    ListPrices = GET "/v1/skus/{sku_id}/prices" {
        path: SkuPath,
        query: PriceFilter,
        returns: 200 Page<Price>,
        auth: SignedIn,
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceSpec {
    /// What is priced. Default: `gpu_hour`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<PriceUnit>,
    /// Which usage it is for. Default: `on_demand`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PriceKind>,
    pub currency: CurrencyCode,
    /// Millionths of the currency for `per_units` units.
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub price_micros: i64,
    /// How many units the price is for, such as 1000000 tokens. Only counted units have more than 1, the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_i64))]
    pub per_units: Option<i64>,
    /// When it takes effect; never in the past. Default: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_at: Option<Timestamp>,
}

words! {
    /// What a price is for one of. Hours are charged by the microsecond, the others by the piece.
    PriceUnit {
        /// A GPU for an hour.
        GpuHour = "gpu_hour",
        /// A whole thing for an hour, however large.
        Hour = "hour",
        /// A gibibyte for an hour.
        GibHour = "gib_hour",
        Request = "request",
        /// A token of a model's input or output.
        Token = "token",
        Job = "job",
    }
}

impl PriceUnit {
    /// Whether it is measured over time; the others are counted.
    pub const fn is_rate(self) -> bool {
        match self {
            PriceUnit::GpuHour | PriceUnit::Hour | PriceUnit::GibHour => true,
            PriceUnit::Request | PriceUnit::Token | PriceUnit::Job => false,
        }
    }
}

words! {
    /// Which usage a price is for.
    PriceKind {
        /// Usage that was requested without a commitment.
        OnDemand = "on_demand",
        /// What is stopped and keeps its capacity.
        Stopped = "stopped",
        /// Capacity that was reserved ahead.
        Reserved = "reserved",
        /// Capacity that can be taken away.
        Spot = "spot",
    }
}

text! {
    /// A currency's three letters, such as `USD`.
    CurrencyCode {
        schema: { "type": "string", "pattern": "^[A-Z]{3}$" },
        rule: |text| text.len() == 3 && text.bytes().all(|it| it.is_ascii_uppercase()),
        otherwise: "a currency is three capital letters, like `USD`",
    }
}

list_query! {
    PriceFilter {
        /// Only prices in this currency.
        currency: CurrencyCode,
        /// Only prices of this unit.
        unit: PriceUnit,
        /// Only prices of this kind.
        kind: PriceKind,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    pub id: PriceId,
    pub sku_id: SkuId,
    pub unit: Open<PriceUnit>,
    pub kind: Open<PriceKind>,
    /// Counts up per SKU, unit, kind and currency.
    pub version: i64,
    pub currency: CurrencyCode,
    /// Millionths of the currency for `per_units` units.
    pub price_micros: i64,
    pub per_units: i64,
    pub effective_at: Timestamp,
    pub created_at: Timestamp,
}

event! {
    /// The price of a SKU changes at a given time.
    PriceSet = "price.set", staff: PlatformFleetRead {
        id: PriceId, sku_id: SkuId, unit: Open<PriceUnit>, kind: Open<PriceKind>, currency: CurrencyCode, price_micros: i64,
        per_units: i64, effective_at: Timestamp
    }
}
