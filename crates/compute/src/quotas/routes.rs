//! Setting, unsetting and listing quotas.

use contract::{
    Code, Nothing, Page,
    id::OrganizationId,
    quotas::{ListAnyQuotas, ListQuotas, Quota, QuotaPath, QuotaSet, QuotaUnset, SetQuota, UnsetQuota},
};

use super::store;
use crate::ComputeArea;
use fleet::skus;
use people::organizations;
use platform::{
    events::emit,
    http::{Call, Failure, Handle, ProblemBuilder, Request},
};

// bound: what the contract's schema says of `gpus`
const MOST_GPUS: u32 = 1_000_000;

impl Handle<SetQuota> for ComputeArea {
    async fn handle(&self, call: &mut Call, request: Request<SetQuota>) -> Result<Quota, Failure> {
        let gpus = request.body.gpus;
        if gpus > MOST_GPUS {
            let detail = format!("a quota is at most {MOST_GPUS} GPUs");
            return Err(ProblemBuilder::new(Code::InvalidValue, detail).at("gpus").into());
        }
        let QuotaPath { organization_id, sku_id } = known(call, request.path).await?;
        let set = store::set(&mut call.tx, organization_id, sku_id, gpus).await?;
        let quota = set.ok_or_else(|| Failure::not_found("SKU"))?;
        call.note("gpus", gpus);
        emit(&mut call.tx, Some(organization_id), quota.id, &QuotaSet { sku_id, gpus });
        Ok(quota)
    }
}

impl Handle<UnsetQuota> for ComputeArea {
    async fn handle(&self, call: &mut Call, request: Request<UnsetQuota>) -> Result<Nothing, Failure> {
        let QuotaPath { organization_id, sku_id } = known(call, request.path).await?;
        // Unsetting again changes nothing and tells nobody.
        if store::unset(&mut call.tx, organization_id, sku_id).await? {
            emit(&mut call.tx, Some(organization_id), sku_id, &QuotaUnset { sku_id });
        }
        Ok(Nothing {})
    }
}

impl Handle<ListQuotas> for ComputeArea {
    async fn handle(&self, call: &mut Call, request: Request<ListQuotas>) -> Result<Page<Quota>, Failure> {
        let organization = call.organization();
        let rows = store::list(&mut call.tx, organization, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<ListAnyQuotas> for ComputeArea {
    async fn handle(&self, call: &mut Call, request: Request<ListAnyQuotas>) -> Result<Page<Quota>, Failure> {
        let organization = existing(call, request.path.organization_id).await?;
        let rows = store::list(&mut call.tx, organization, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

/// What the path names, when all of it exists.
async fn known(call: &mut Call, path: QuotaPath) -> Result<QuotaPath, Failure> {
    existing(call, path.organization_id).await?;
    if skus::get(&mut call.tx, path.sku_id).await?.is_none() {
        return Err(Failure::not_found("SKU"));
    }
    Ok(path)
}

/// An organization that exists; it can then read of this in its audit log.
async fn existing(call: &mut Call, organization: OrganizationId) -> Result<OrganizationId, Failure> {
    if organizations::get(&mut call.tx, organization).await?.is_none() {
        return Err(Failure::not_found("organization"));
    }
    call.about_organization(organization);
    Ok(organization)
}
