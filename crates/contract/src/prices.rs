//! Prices: what a GPU of a SKU costs. A price is never edited: a new version
//! takes its place from a given time on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Page, Timestamp, endpoint, event,
    id::{PriceId, SkuId},
    list_query,
    skus::SkuPath,
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
    pub currency: CurrencyCode,
    /// Millionths of the currency per GPU hour.
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub price_micros_per_gpu_hour: i64,
    /// When it takes effect; never in the past. Default: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_at: Option<Timestamp>,
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
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    pub id: PriceId,
    pub sku_id: SkuId,
    /// Counts up per SKU and currency.
    pub version: i64,
    pub currency: CurrencyCode,
    pub price_micros_per_gpu_hour: i64,
    pub effective_at: Timestamp,
    pub created_at: Timestamp,
}

event! {
    /// The price of a SKU changes at a given time.
    PriceSet = "price.set" { id: PriceId, sku_id: SkuId, currency: CurrencyCode, price_micros_per_gpu_hour: i64, effective_at: Timestamp }
}
