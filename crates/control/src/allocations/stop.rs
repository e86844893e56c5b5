//! Stopping allocations and starting them again. Their slots stay held all the while.

use contract::{
    Code,
    allocations::{Allocation, AllocationState, StartAllocation, StopAllocation},
};
use kernel::machine::{TransitionError, transition};

use super::{
    lifecycle::{Event, Lifecycle},
    routes::found,
    store,
};
use crate::{
    app::App,
    http::{Call, Failure, Handle, Request},
};

impl Handle<StopAllocation> for App {
    async fn handle(&self, call: &mut Call, request: Request<StopAllocation>) -> Result<Allocation, Failure> {
        let allocation = found(call, request.path.project_id, request.path.allocation_id).await?;
        // Who asks again while hosts are at it would only make them begin anew.
        if allocation.state == AllocationState::Stopping && !allocation.needs_attention {
            return Err(refused(allocation.state.as_str(), "active", "stopped"));
        }
        let wish = Wish { event: Event::StopRequested, from: "active", to: "stopped", reason: Some(STOPPED) };
        switch(call, allocation, wish).await
    }
}

impl Handle<StartAllocation> for App {
    async fn handle(&self, call: &mut Call, request: Request<StartAllocation>) -> Result<Allocation, Failure> {
        let allocation = found(call, request.path.project_id, request.path.allocation_id).await?;
        let wish = Wish { event: Event::StartRequested, from: "stopped", to: "started", reason: None };
        switch(call, allocation, wish).await
    }
}

const STOPPED: &str = "its project stopped it";

struct Wish {
    event: Event,
    from: &'static str,
    to: &'static str,
    reason: Option<&'static str>,
}

/// Sends the event. Of several who want something of it at once one wins, and
/// the others are told what happened.
async fn switch(call: &mut Call, mut allocation: Allocation, wish: Wish) -> Result<Allocation, Failure> {
    let row = store::versioned(&allocation)?;
    let moved = match transition::<Lifecycle>(&mut call.tx, row, wish.event, wish.reason.unwrap_or_default()).await {
        Ok(moved) => moved,
        Err(TransitionError::Illegal { state, .. }) => return Err(refused(state, wish.from, wish.to)),
        Err(TransitionError::Stale { .. }) => {
            return Err(Failure::new(Code::Conflict, "somebody else ended or changed the allocation at this moment"));
        }
        Err(TransitionError::Database(error)) => return Err(error.into()),
    };
    store::wanted_so(&mut call.tx, allocation.id, wish.reason).await?;
    (allocation.state, allocation.version) = (moved.state.into(), moved.version);
    (allocation.reason, allocation.needs_attention) = (wish.reason.map(Into::into), false);
    Ok(allocation)
}

fn refused(state: &str, from: &str, to: &str) -> Failure {
    let detail = match state {
        "stopping" | "starting" => format!("the allocation is {state} already"),
        _ => format!("the allocation is {state}; only one that is {from} can be {to}"),
    };
    Failure::new(Code::Conflict, detail)
}
