//! Allocations that others end: their project or organization, or the loss of a host.

mod lost;
mod store;

pub use lost::{abandon_on_node, hosts_are_back, node_lost};
pub use store::{heeding, is_abandoned, last_heard, live_in_project, preview_end, silent_since};

use contract::{allocations::AllocationState, id::ProjectId};
use kernel::{
    Tx,
    lifecycle::{Lifecycle, TransitionError, Versioned, transition},
    work,
};

use super::{
    lifecycle::{AllocationLifecycle, Event},
    reason::Reason,
};

/// Ends some of what is in a project that is being deleted; how many.
pub async fn end_in_project(tx: &mut Tx, project: ProjectId, limit: i64) -> Result<u64, TransitionError> {
    let found = store::endable_in_project(tx, project, limit).await?;
    let count = found.len() as u64;
    for row in found {
        end_with_project(tx, row).await?;
    }
    Ok(count)
}

/// Ends one whose project or organization ended.
pub async fn end_with_project(tx: &mut Tx, row: Versioned<AllocationState>) -> Result<(), TransitionError> {
    let reason = Reason::ProjectDeleted;
    let moved = transition::<AllocationLifecycle>(tx, row, Event::ProjectEnded, &reason.sentence()).await?;
    super::store::ended(tx, row.id.into(), moved.state, &reason).await?;
    // One that only waited may have had nodes kept for it, and others behind it.
    work::wake(tx, AllocationLifecycle::NAME, row.id);
    if row.state == AllocationState::Requested {
        super::capacity_changed(tx).await?;
    }
    Ok(())
}
