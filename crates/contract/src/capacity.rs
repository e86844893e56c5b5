//! Capacity: how many GPUs there are for a SKU in a region.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Label, Page, endpoint,
    id::{RegionId, SkuId},
    list_query,
};

endpoint! {
    /// Show how many GPUs each SKU has in each region.
    ListCapacity = GET "/v1/capacity" {
        query: CapacityFilter,
        returns: 200 Page<CapacityLine>,
        auth: SignedIn,
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

list_query! {
    CapacityFilter {
        /// Only this SKU.
        sku: Label,
        /// Only this region.
        region: Label,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityLine {
    pub sku_id: SkuId,
    pub sku: Label,
    pub region_id: RegionId,
    pub region: Label,
    /// GPUs that can be taken now.
    pub free: u64,
    /// GPUs that are being prepared or cleaned.
    pub held: u64,
    /// GPUs that somebody uses.
    pub used: u64,
    /// GPUs that are quarantined, missing, or on nodes out of service.
    pub broken: u64,
}
