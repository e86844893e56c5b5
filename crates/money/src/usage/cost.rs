//! What one allocation has cost so far.

use contract::usage::{AllocationCost, GetAllocationCost};

use super::store;
use crate::MoneyArea;
use platform::http::{Call, Failure, Handle, Request};

impl Handle<GetAllocationCost> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<GetAllocationCost>) -> Result<AllocationCost, Failure> {
        let (organization, path) = (call.organization(), request.path);
        let found = store::cost(&mut call.tx, organization, path.project_id, path.allocation_id).await?;
        found.ok_or_else(|| Failure::not_found("allocation"))
    }
}
