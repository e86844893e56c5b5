//! Asking for allocations, reading them, giving them back.

use aws_lc_rs::digest::{SHA256, digest};
use contract::{
    Code, Page,
    allocations::{
        Allocation, AllocationCreated, AllocationKeysChanged, AllocationState, CreateAllocation, ExplainAllocation,
        Explanation, ForceReleaseAllocation, GetAllocation, ListAllAllocations, ListAllocations, ReleaseAllocation,
        SetAllocationSshKeys,
    },
    id::{AllocationId, ProjectId},
    prices::PriceKind,
};
use kernel::{
    lifecycle::{Lifecycle, TransitionError, transition},
    work,
};

use super::{
    admission, explain, host_keys,
    lifecycle::{AllocationLifecycle, Event},
    metering::GPU_TIME,
    reason::Reason,
    store::{self, New},
};
use crate::{ComputeArea, placement::slots};
use money::{metering::Subject, wallets::Hold};
use platform::{
    events::emit,
    http::{Call, Failure, Handle, Request},
    policies::settings,
};

impl Handle<CreateAllocation> for ComputeArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateAllocation>) -> Result<Allocation, Failure> {
        let (organization, project, spec) = (call.organization(), request.path.project_id, &request.body);
        let admitted = admission::admit(&mut call.tx, organization, project, call.caller.user(), spec).await?;
        let id = AllocationId::generate();
        let (login, actor) = (login(id), call.caller.actor());
        let currency = self.policies.currency(settings::BILLING_CURRENCY);
        let new = New {
            id,
            organization,
            project,
            spec,
            sku: admitted.sku.id.uuid(),
            region: admitted.region,
            login: &login,
            created_by: actor.as_str(),
            currency,
        };
        store::insert(&mut call.tx, new).await?;
        host_keys::choose(&mut call.tx, (organization, id), call.caller.user(), &admitted.ssh_keys).await?;
        let hold = Hold {
            subject: Subject { organization, id: id.uuid(), meter: &GPU_TIME },
            sku: admitted.sku.id,
            price_kind: PriceKind::OnDemand,
            quantity: spec.gpus.to::<u32>() * spec.nodes.to::<u32>(),
            currency,
            lasts: admission::lasts(&self.policies, spec),
        };
        admission::paid_for(&mut call.tx, &self.policies, project, admitted.sku.name.as_str(), hold).await?;
        work::wake(&mut call.tx, AllocationLifecycle::NAME, id.uuid());
        call.about(id);
        let event = AllocationCreated {
            id,
            project_id: project,
            sku_id: admitted.sku.id,
            gpus: spec.gpus.to(),
            nodes: spec.nodes.to(),
        };
        emit(&mut call.tx, Some(organization), id, &event);
        found(call, project, id).await
    }
}

impl Handle<ListAllocations> for ComputeArea {
    async fn handle(&self, call: &mut Call, request: Request<ListAllocations>) -> Result<Page<Allocation>, Failure> {
        let rows = store::list(&mut call.tx, request.path.project_id, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<GetAllocation> for ComputeArea {
    async fn handle(&self, call: &mut Call, request: Request<GetAllocation>) -> Result<Allocation, Failure> {
        found(call, request.path.project_id, request.path.allocation_id).await
    }
}

impl Handle<ExplainAllocation> for ComputeArea {
    async fn handle(&self, call: &mut Call, request: Request<ExplainAllocation>) -> Result<Explanation, Failure> {
        let allocation = found(call, request.path.project_id, request.path.allocation_id).await?;
        explain::explain(&mut call.tx, self, allocation).await.map_err(Into::into)
    }
}

impl Handle<ReleaseAllocation> for ComputeArea {
    async fn handle(&self, call: &mut Call, request: Request<ReleaseAllocation>) -> Result<Allocation, Failure> {
        let allocation = found_for_update(call, request.path.project_id, request.path.allocation_id).await?;
        let event = match allocation.state {
            ref state if *state == AllocationState::Requested => Event::Canceled,
            _ => Event::ReleaseRequested,
        };
        end(call, allocation, event, &Reason::ReleasedByProject).await
    }
}

impl Handle<ForceReleaseAllocation> for ComputeArea {
    async fn handle(&self, call: &mut Call, request: Request<ForceReleaseAllocation>) -> Result<Allocation, Failure> {
        let found = store::get_for_update(&mut call.tx, request.path.allocation_id).await?;
        let allocation = found.ok_or_else(|| Failure::not_found("allocation"))?;
        call.about_organization(allocation.organization_id);
        call.note("reason", request.body.reason.as_str());
        let state = allocation.state.clone();
        let may_be_lost = state == AllocationState::Releasing || state == AllocationState::ReleaseFailed;
        // Hosts that are lost never answer: waiting for their evidence is waiting for nothing.
        let is_lost = may_be_lost && slots::abandon_on_lost_nodes(&mut call.tx, allocation.id).await?;
        let holds_more = is_lost && !slots::held(&mut call.tx, allocation.id).await?.is_empty();
        let event = match &state {
            state if *state == AllocationState::Requested => Event::Canceled,
            // What it holds on other hosts is cleaned there, as always.
            state if *state == AllocationState::Releasing && holds_more => {
                work::wake(&mut call.tx, AllocationLifecycle::NAME, allocation.id.uuid());
                return Ok(allocation);
            }
            state if *state == AllocationState::ReleaseFailed && holds_more => Event::ReleaseRequested,
            state if *state == AllocationState::ReleaseFailed => Event::Abandoned,
            state if *state == AllocationState::Releasing && is_lost => Event::Abandoned,
            _ => Event::ForceReleased,
        };
        let said = request.body.reason.to_string();
        end(call, allocation, event, &Reason::ForceReleased { said }).await
    }
}

impl Handle<SetAllocationSshKeys> for ComputeArea {
    async fn handle(&self, call: &mut Call, request: Request<SetAllocationSshKeys>) -> Result<Allocation, Failure> {
        let (project, id) = (request.path.project_id, request.path.allocation_id);
        let allocation = found(call, project, id).await?;
        let user = call.caller.user();
        let keys = admission::keys_of(&mut call.tx, user, Some(&request.body.ssh_keys)).await?;
        // A stopped one lets them in when it is started.
        if allocation.state != AllocationState::Active && allocation.state != AllocationState::Stopped {
            let detail =
                format!("the allocation is {}; keys can only be set while it is active or stopped", allocation.state);
            return Err(Failure::new(Code::Conflict, detail));
        }
        if !store::keys_chosen(&mut call.tx, id, allocation.version).await? {
            return Err(Failure::new(Code::Conflict, "the allocation was changed concurrently"));
        }
        host_keys::choose(&mut call.tx, (allocation.organization_id, id), user, &keys).await?;
        work::wake(&mut call.tx, AllocationLifecycle::NAME, id.uuid());
        let count = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        emit(&mut call.tx, Some(allocation.organization_id), id, &AllocationKeysChanged { id, count });
        found(call, project, id).await
    }
}

impl Handle<ListAllAllocations> for ComputeArea {
    async fn handle(&self, call: &mut Call, request: Request<ListAllAllocations>) -> Result<Page<Allocation>, Failure> {
        let rows = store::list_all(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

pub async fn found(call: &mut Call, project: ProjectId, id: AllocationId) -> Result<Allocation, Failure> {
    of_project(store::get(&mut call.tx, id).await?, project)
}

/// The same, and it stays as it is until the call ends.
pub async fn found_for_update(call: &mut Call, project: ProjectId, id: AllocationId) -> Result<Allocation, Failure> {
    of_project(store::get_for_update(&mut call.tx, id).await?, project)
}

/// The path's project was authorized; an allocation of another one is not found.
fn of_project(allocation: Option<Allocation>, project: ProjectId) -> Result<Allocation, Failure> {
    allocation.filter(|it| it.project_id == project).ok_or_else(|| Failure::not_found("allocation"))
}

/// Sends the event that ends an allocation, which stands still. Of several who
/// want that at once one wins, and the others are told what happened.
async fn end(
    call: &mut Call,
    mut allocation: Allocation,
    event: Event,
    reason: &Reason,
) -> Result<Allocation, Failure> {
    let (row, sentence) = (store::versioned(&allocation)?, reason.sentence());
    let moved = match transition::<AllocationLifecycle>(&mut call.tx, row, event, &sentence).await {
        Ok(moved) => moved,
        Err(TransitionError::Illegal { state, .. }) => {
            return Err(Failure::new(Code::Conflict, format!("the allocation is already {state}")));
        }
        Err(TransitionError::Stale { .. }) => {
            return Err(Failure::new(Code::Conflict, "the allocation was ended or changed concurrently"));
        }
        Err(TransitionError::Database(error)) => return Err(error.into()),
    };
    (allocation.state_since, allocation.ended_at) =
        store::ended(&mut call.tx, allocation.id, moved.state, reason).await?;
    allocation.needs_attention = false;
    if event == Event::Abandoned {
        slots::abandon(&mut call.tx, allocation.id).await?;
    }
    if event == Event::Canceled {
        // Who waited behind it need not any longer.
        super::capacity_changed(&mut call.tx).await?;
    }
    (allocation.state, allocation.version) = (moved.state.into(), moved.version);
    (allocation.reason, allocation.reason_code) = (Some(sentence), Some(reason.code().into()));
    work::wake(&mut call.tx, AllocationLifecycle::NAME, allocation.id.uuid());
    Ok(allocation)
}

/// A user name that Linux accepts and that nobody else has.
fn login(id: AllocationId) -> String {
    let hash = digest(&SHA256, id.uuid().as_bytes());
    let hex: String = hash.as_ref().iter().take(6).map(|it| format!("{it:02x}")).collect();
    format!("g{hex}")
}
