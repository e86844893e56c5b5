//! What a maintenance window does to nodes: empties those in service, and
//! gives them back as they were.

use contract::{Timestamp, id::NodeId, nodes::NodeState};
use kernel::{
    Tx,
    lifecycle::{TransitionError, transition},
};

use super::occupants;
use super::{
    changes,
    lifecycle::{Event, NodeLifecycle},
    store,
};

/// What a node was before it was emptied.
pub struct Before {
    pub was_cordoned: bool,
}

/// Empties a node that is in service; what still runs at the deadline is
/// released. None when the node is not in service.
pub async fn empty_for(
    tx: &mut Tx,
    node: NodeId,
    deadline: Timestamp,
    reason: &str,
) -> Result<Option<Before>, TransitionError> {
    let Some(known) = store::lock(tx, node).await? else { return Ok(None) };
    if !matches!(known.state, NodeState::Ready | NodeState::Cordoned) {
        return Ok(None);
    }
    store::set_deadline(tx, node, Some(deadline)).await?;
    transition::<NodeLifecycle>(tx, known.versioned(), Event::DrainRequested, reason).await?;
    Ok(Some(Before { was_cordoned: known.state == NodeState::Cordoned }))
}

/// Gives a node back that was emptied, unless somebody did something else with
/// it since. One that is not empty yet is no longer emptied.
pub async fn give_back(tx: &mut Tx, node: NodeId, was_cordoned: bool, reason: &str) -> Result<(), TransitionError> {
    let Some(known) = store::lock(tx, node).await? else { return Ok(()) };
    let event = match known.state {
        NodeState::Maintenance => Event::Restored,
        NodeState::Draining => Event::Uncordoned,
        NodeState::Enrolling
        | NodeState::Ready
        | NodeState::Cordoned
        | NodeState::Sanitizing
        | NodeState::Failed
        | NodeState::Retired => return Ok(()),
    };
    store::set_deadline(tx, node, None).await?;
    transition::<NodeLifecycle>(tx, known.versioned(), event, reason).await?;
    if let Some(back) = store::lock(tx, node).await?.filter(|_| was_cordoned) {
        transition::<NodeLifecycle>(tx, back.versioned(), Event::Cordoned, "it was cordoned before").await?;
    }
    changes::wipe_if_abandoned(tx, node).await?;
    if !was_cordoned {
        occupants::capacity_changed(tx).await?;
    }
    Ok(())
}
