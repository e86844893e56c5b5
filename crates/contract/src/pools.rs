//! Pools: groups of nodes of one region that come from one provider and are
//! cleaned in one way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Label, Open, Page, Timestamp, endpoint, event,
    id::{PoolId, RegionId},
    list_query, words,
};

endpoint! {
    /// Add a pool of nodes to a region.
    CreatePool = POST "/v1/platform/pools" {
        body: PoolSpec,
        returns: 201 Pool,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("pool.create"),
        problems: [InvalidValue, NameTaken],
    }
}

endpoint! {
    /// List the pools.
    ListPools = GET "/v1/platform/pools" {
        query: PoolFilter,
        returns: 200 Page<Pool>,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Change how the nodes of a pool are sanitized between tenants.
    ChangePool = PATCH "/v1/platform/pools/{pool_id}" {
        path: PoolPath,
        body: PoolChange,
        returns: 200 Pool,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("pool.change"),
        problems: [NotFound],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PoolPath {
    pub pool_id: PoolId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolSpec {
    pub name: Label,
    pub region_id: RegionId,
    pub provider: PoolProvider,
    pub isolation: Isolation,
    /// Whether workloads run in virtual machines here, so that one node can serve several organizations at
    /// the same time.
    #[serde(default)]
    pub isolates_vms: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolChange {
    pub isolation: Isolation,
}

list_query! {
    PoolFilter {
        /// Only pools of this region.
        region_id: RegionId,
        /// Only the pool with this name.
        name: Label,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pool {
    pub id: PoolId,
    pub region_id: RegionId,
    pub name: Label,
    pub provider: Open<PoolProvider>,
    pub isolation: Open<Isolation>,
    pub isolates_vms: bool,
    pub created_at: Timestamp,
}

words! {
    /// The provider of a pool's nodes.
    PoolProvider { Enrolled = "enrolled", Maas = "maas", Sim = "sim" }
}

words! {
    /// How a node is sanitized between two tenants.
    Isolation {
        /// The user and all of its data are removed; sufficient within one organization.
        UserRevoke = "user_revoke",
        /// The whole host is wiped or reinstalled.
        FullReimage = "full_reimage",
    }
}

event! {
    /// A pool was added.
    PoolCreated = "pool.created", staff: PlatformFleetRead { id: PoolId, region_id: RegionId, name: Label }
}
event! {
    /// How a pool's nodes are sanitized changed.
    PoolChanged = "pool.changed", staff: PlatformFleetRead { id: PoolId, isolation: Open<Isolation> }
}
