//! Capacity: how much there is for a SKU in a region, counted in what the SKU sells.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Label, Open, Page, endpoint,
    id::{RegionId, SkuId},
    list_query, words,
};

endpoint! {
    /// Show the capacity of each SKU in each region.
    ///
    /// Each line counts what its SKU sells: whole nodes for `baremetal`, GPUs or
    /// MIG slices otherwise.
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
    /// What the numbers count.
    pub unit: Open<CapacityUnit>,
    /// How many are free.
    pub free: u64,
    /// How many are being prepared or sanitized.
    pub held: u64,
    /// How many are in use; a partly used node counts.
    pub used: u64,
    /// How many are quarantined, missing, or out of service.
    pub broken: u64,
}

words! { CapacityUnit { Node = "node", Gpu = "gpu", MigSlice = "mig_slice" } }
