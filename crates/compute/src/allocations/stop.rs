//! Stopping allocations and starting them again. Their slots stay held all the while.

use contract::{
    Code,
    allocations::{Allocation, AllocationState, StartAllocation, StopAllocation},
    prices::PriceKind,
};
use jiff::SignedDuration;
use kernel::{
    clock,
    lifecycle::{TransitionError, transition},
};

use super::{
    admission,
    lifecycle::{AllocationLifecycle, Event},
    metering::GPU_TIME,
    reason::Reason,
    routes::{found, found_for_update},
    store,
};
use crate::ComputeArea;
use money::{metering::Subject, wallets::Hold};
use platform::http::{Call, Failure, Handle, Request};

impl Handle<StopAllocation> for ComputeArea {
    async fn handle(&self, call: &mut Call, request: Request<StopAllocation>) -> Result<Allocation, Failure> {
        let allocation = found_for_update(call, request.path.project_id, request.path.allocation_id).await?;
        // Who asks again while hosts are at it would only make them begin anew.
        if allocation.state == AllocationState::Stopping && !allocation.needs_attention {
            return Err(refused(allocation.state.as_str(), "active", "stopped"));
        }
        let reason = Some(Reason::StoppedByProject);
        let wish = StateChange { event: Event::StopRequested, from: "active", to: "stopped", reason };
        switch(call, allocation, wish).await
    }
}

impl Handle<StartAllocation> for ComputeArea {
    async fn handle(&self, call: &mut Call, request: Request<StartAllocation>) -> Result<Allocation, Failure> {
        let allocation = found(call, request.path.project_id, request.path.allocation_id).await?;
        if allocation.state == AllocationState::Stopped {
            // Before it moves: who looks after the wallet waits for allocations, never the other way round.
            admission::open(&mut call.tx, allocation.organization_id, allocation.project_id).await?;
            let hold = hold(self, call, &allocation).await?;
            let (project, sku) = (allocation.project_id, allocation.sku.as_str());
            admission::paid_for(&mut call.tx, &self.policies, project, sku, hold).await?;
        }
        let wish = StateChange { event: Event::StartRequested, from: "stopped", to: "started", reason: None };
        switch(call, allocation, wish).await
    }
}

/// What it may cost once it runs again, at the price of now.
async fn hold(area: &ComputeArea, call: &mut Call, allocation: &Allocation) -> Result<Hold, Failure> {
    let now = clock::now(&mut call.tx).await?;
    // bound: what is about to end is held for a moment
    let left = allocation.lease_ends_at.map(|it| it.duration_since(now).max(SignedDuration::from_secs(1)));
    let window = admission::window(&area.policies);
    Ok(Hold {
        subject: Subject { organization: allocation.organization_id, id: allocation.id.uuid(), meter: &GPU_TIME },
        sku: allocation.sku_id,
        price_kind: PriceKind::OnDemand,
        quantity: u32::from(allocation.gpus) * u32::from(allocation.nodes),
        currency: store::currency(&mut call.tx, allocation.id).await?,
        lasts: left.unwrap_or(window),
    })
}

struct StateChange {
    event: Event,
    from: &'static str,
    to: &'static str,
    reason: Option<Reason>,
}

/// Sends the event. Of several who want something of it at once one wins, and
/// the others are told what happened.
async fn switch(call: &mut Call, mut allocation: Allocation, wish: StateChange) -> Result<Allocation, Failure> {
    let row = store::versioned(&allocation)?;
    let sentence = wish.reason.as_ref().map(Reason::sentence);
    let said = sentence.as_deref().unwrap_or_default();
    let moved = match transition::<AllocationLifecycle>(&mut call.tx, row, wish.event, said).await {
        Ok(moved) => moved,
        Err(TransitionError::Illegal { state, .. }) => return Err(refused(state, wish.from, wish.to)),
        Err(TransitionError::Stale { .. }) => {
            return Err(Failure::new(Code::Conflict, "the allocation was ended or changed concurrently"));
        }
        Err(TransitionError::Database(error)) => return Err(error.into()),
    };
    store::record_intent(&mut call.tx, allocation.id, wish.reason.as_ref()).await?;
    (allocation.state, allocation.version) = (moved.state.into(), moved.version);
    (allocation.reason, allocation.reason_code) = (sentence, wish.reason.map(|it| it.code().into()));
    allocation.needs_attention = false;
    Ok(allocation)
}

fn refused(state: &str, from: &str, to: &str) -> Failure {
    let detail = match state {
        "stopping" | "starting" => format!("the allocation is already {state}"),
        _ => format!("the allocation is {state}; it must be {from} to be {to}"),
    };
    Failure::new(Code::Conflict, detail)
}
