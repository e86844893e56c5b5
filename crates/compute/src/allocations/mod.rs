//! Allocations: GPUs that a project holds for a while. A request waits until it
//! is placed; hosts prepare and prove it; at its end they clean it, and only
//! then its slots go back on offer.

mod admission;
pub mod compensation;
mod consume;
mod decide;
mod endings;
mod explain;
mod hooks;
mod host_keys;
pub mod lifecycle;
mod metering;
mod orders;
mod reason;
mod reconcile;
mod routes;
mod stop;
mod store;
mod together;
mod visits;

pub use consume::HeedOrganization;
pub use hooks::AllocationHooks;
pub use host_keys::RefreshHostKeys;
pub use metering::GPU_TIME;
pub use reconcile::AllocationReconciler;
pub use store::{count_needing_attention, get as find, named};

use contract::{
    Timestamp,
    allocations::{AllocationDrainAnnounced, AllocationDrainCalledOff},
    id::{AllocationId, NodeId},
};
use kernel::{
    Tx,
    lifecycle::{Lifecycle, TransitionError, transition},
    work,
};

use lifecycle::{AllocationLifecycle, Event};
use reason::Reason;

use platform::events::emit;

use crate::ComputeArea;
use kernel::lifecycle::ParentEnd;
use platform::registry::{Registry, Retention};
use std::sync::Arc;
use uuid::Uuid;

pub fn register(registry: &mut Registry<ComputeArea>) {
    registry.lifecycle::<lifecycle::AllocationLifecycle>();
    registry.meter(&GPU_TIME);
    registry.reconciler(|area: &ComputeArea| AllocationReconciler {
        placement: area.placement.clone(),
        signer: area.fleet.signer.clone(),
        policies: area.policies.clone(),
    });
    registry.consumer(|_| Arc::new(HeedOrganization));
    registry.consumer(|_| Arc::new(RefreshHostKeys));
    registry.gauge("gpuaas_allocations_needing_attention", |tx| Box::pin(count_needing_attention(tx)));
    registry.table("allocation_keys", ParentEnd::EndsToo("`host_keys`: hosts receive keys of active allocations only"));
    registry.table("allocation_parts", ParentEnd::EndsToo("with its allocation; the record remains"));
    registry.retention(&["allocations", "allocation_parts"], Retention::Forever("the record of what was rented"));
    registry.retention(&["allocation_keys"], Retention::Removed("when keys are replaced or revoked"));
}

/// Looks again at what waits, because something became free or may be used now.
/// The organizations that hold least come first, each with its oldest request.
async fn capacity_changed(tx: &mut Tx) -> sqlx::Result<()> {
    // bound: each that is placed brings the next of its organization
    const AT_ONCE: i64 = 32;
    for id in store::next_in_turn(tx, AT_ONCE).await? {
        work::wake(tx, AllocationLifecycle::NAME, id);
    }
    Ok(())
}

/// Ends what is still on a node when the deadline of its drain has passed.
async fn release_on_node(tx: &mut Tx, node: NodeId) -> Result<(), TransitionError> {
    let reason = Reason::NodeDrained;
    for found in store::on_node(tx, node).await? {
        if AllocationLifecycle::next(found.state, Event::ForceReleased).is_none() {
            continue;
        }
        store::explain(tx, found.id, &reason, None).await?;
        transition::<AllocationLifecycle>(tx, found, Event::ForceReleased, &reason.sentence()).await?;
    }
    Ok(())
}

/// Ends these, one after the other, because the money for them ran out. Says how many there were to end.
async fn out_of_funds(tx: &mut Tx, ids: &[Uuid]) -> Result<u64, TransitionError> {
    let reason = Reason::OutOfFunds;
    // All at once and in the order in which everybody locks several, whatever the order of their ends.
    let locked = store::locked(tx, ids).await?;
    let mut ended = 0;
    for id in ids {
        let Some(found) = locked.iter().find(|it| it.id == *id).copied() else { continue };
        if AllocationLifecycle::next(found.state, Event::FundsExhausted).is_none() {
            continue;
        }
        let moved = transition::<AllocationLifecycle>(tx, found, Event::FundsExhausted, &reason.sentence()).await?;
        store::ended(tx, (*id).into(), moved.state, &reason).await?;
        // One that only waited may have had nodes kept for it.
        work::wake(tx, AllocationLifecycle::NAME, *id);
        ended += 1;
    }
    Ok(ended)
}

/// Tells those who have something on a node that it is being emptied, or with
/// no deadline that it no longer is.
async fn drain_changed(tx: &mut Tx, node_id: NodeId, deadline: Option<Timestamp>) -> sqlx::Result<()> {
    for (id, organization, project) in store::holders_on_node(tx, node_id).await? {
        let (id, organization, project_id) = (AllocationId::from(id), Some(organization.into()), project.into());
        match deadline {
            Some(deadline_at) => {
                emit(tx, organization, id, &AllocationDrainAnnounced { id, project_id, node_id, deadline_at });
            }
            None => emit(tx, organization, id, &AllocationDrainCalledOff { id, project_id, node_id }),
        }
    }
    Ok(())
}
