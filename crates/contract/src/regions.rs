//! Regions: places that capacity is in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Label, Page, Timestamp, endpoint, event, id::RegionId, list_query};

endpoint! {
    /// Add a region.
    CreateRegion = POST "/v1/platform/regions" {
        body: RegionSpec,
        returns: 201 Region,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("region.create"),
        problems: [NameTaken],
    }
}

endpoint! {
    /// List the regions.
    ListRegions = GET "/v1/regions" {
        query: RegionFilter,
        returns: 200 Page<Region>,
        auth: SignedIn,
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegionSpec {
    pub name: Label,
}

list_query! {
    RegionFilter {
        /// Only the region with this name.
        name: Label,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Region {
    pub id: RegionId,
    pub name: Label,
    pub created_at: Timestamp,
}

event! {
    /// A region was added.
    RegionCreated = "region.created", staff: PlatformFleetRead { id: RegionId, name: Label }
}
