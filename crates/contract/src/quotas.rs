//! Quotas: how many GPUs of a SKU an organization may hold at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Label, Nothing, Page, Timestamp, endpoint, event,
    id::{OrganizationId, QuotaId, SkuId},
    list_query,
    organizations::OrganizationPath,
};

endpoint! {
    /// Set how many GPUs of a SKU an organization may have at the same time.
    SetQuota = PUT "/v1/platform/organizations/{organization_id}/quotas/{sku_id}" {
        path: QuotaPath,
        body: QuotaSpec,
        returns: 200 Quota,
        auth: Platform(PlatformQuotasWrite),
        lane: Admin,
        idempotency: Natural,
        audit: Action("quota.set"),
        problems: [NotFound, InvalidValue],
    }
}

endpoint! {
    /// Remove a quota: only the policy `allocations.max_gpus` applies again.
    UnsetQuota = DELETE "/v1/platform/organizations/{organization_id}/quotas/{sku_id}" {
        path: QuotaPath,
        returns: 200 Nothing,
        auth: Platform(PlatformQuotasWrite),
        lane: Admin,
        idempotency: Natural,
        audit: Action("quota.unset"),
        problems: [NotFound],
    }
}

endpoint! {
    /// List an organization's quotas and their usage.
    ListQuotas = GET "/v1/organizations/{organization_id}/quotas" {
        path: OrganizationPath,
        query: QuotaFilter,
        returns: 200 Page<Quota>,
        auth: Organization(QuotasRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// List the quotas of any organization and their usage.
    ListAnyQuotas = GET "/v1/platform/organizations/{organization_id}/quotas" {
        path: OrganizationPath,
        query: QuotaFilter,
        returns: 200 Page<Quota>,
        auth: Platform(PlatformAllocationsRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.quotas.list"),
        problems: [NotFound],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct QuotaPath {
    pub organization_id: OrganizationId,
    pub sku_id: SkuId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotaSpec {
    #[schemars(range(min = 0, max = 1_000_000))]
    pub gpus: u32,
}

list_query! {
    QuotaFilter {
        /// Only the quota for this SKU.
        sku: Label,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quota {
    pub id: QuotaId,
    pub organization_id: OrganizationId,
    pub sku_id: SkuId,
    pub sku: Label,
    pub gpus: u32,
    /// How many are in use.
    pub used: u32,
    pub set_at: Timestamp,
}

event! {
    /// A quota of an organization was set.
    QuotaSet = "quota.set", staff: PlatformAllocationsRead { sku_id: SkuId, gpus: u32 }
}
event! {
    /// A quota of an organization was removed.
    QuotaUnset = "quota.unset", staff: PlatformAllocationsRead { sku_id: SkuId }
}
