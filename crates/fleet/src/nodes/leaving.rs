//! Nodes whose hosts come and go by a provider: what their machine may do to
//! them, and what they ask of it.

use contract::{id::NodeId, nodes::NodeState};
use kernel::{
    Tx,
    lifecycle::{TransitionError, transition},
};

use super::occupants::LossError;
use super::{
    changes, health,
    lifecycle::{Event, NodeLifecycle},
    loss::LossCause,
    store::{self, NodeFacts, slots},
};

/// Whether the host under a node may be taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// Somebody holds a part of it.
    Held,
    /// Nobody is on it.
    Empty,
    /// Nobody is on it and it must be wiped.
    Sanitizing,
    Retired,
}

pub async fn leaving(tx: &mut Tx, node: NodeId) -> sqlx::Result<Leaving> {
    let Some(known) = store::known(tx, node).await? else { return Ok(Leaving::Retired) };
    if slots::held(tx, node).await? > 0 {
        return Ok(Leaving::Held);
    }
    Ok(match known.state {
        NodeState::Retired => Leaving::Retired,
        NodeState::Sanitizing => Leaving::Sanitizing,
        NodeState::Enrolling
        | NodeState::Ready
        | NodeState::Cordoned
        | NodeState::Draining
        | NodeState::Maintenance
        | NodeState::Failed => Leaving::Empty,
    })
}

/// Who is on a node, and whether somebody may still come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    pub held: i64,
    pub takes_work: bool,
}

pub async fn occupancy(tx: &mut Tx, node: NodeId) -> sqlx::Result<Option<Occupancy>> {
    let Some(known) = store::known(tx, node).await? else { return Ok(None) };
    let held = slots::held(tx, node).await?;
    Ok(Some(Occupancy { held, takes_work: known.state == NodeState::Ready }))
}

/// Keeps new work off a node that shall become empty.
pub async fn place_nothing_new(tx: &mut Tx, node: NodeId, reason: &str) -> Result<(), TransitionError> {
    step(tx, node, NodeState::Ready, Event::Cordoned, reason).await.map(|_| ())
}

/// Takes an empty node out of the fleet for good.
pub async fn leave(tx: &mut Tx, node: NodeId, reason: &str) -> Result<(), TransitionError> {
    step(tx, node, NodeState::Ready, Event::Cordoned, reason).await?;
    step(tx, node, NodeState::Draining, Event::Drained, reason).await?;
    let Some(known) = store::lock(tx, node).await? else { return Ok(()) };
    if known.state != NodeState::Retired {
        transition::<NodeLifecycle>(tx, known.versioned(), Event::Retired, reason).await?;
    }
    Ok(())
}

/// The host is new: it was erased and installed. The node may serve anyone.
pub async fn reimaged(tx: &mut Tx, node: NodeId, reason: &str) -> Result<(), TransitionError> {
    // One that failed on the way is wiped now as well.
    step(tx, node, NodeState::Failed, Event::SanitizeRequested, reason).await?;
    match store::lock(tx, node).await? {
        Some(known) if known.state == NodeState::Sanitizing => changes::sanitized(tx, &known, reason).await,
        // A first enrollment: the node is ready when it reported its inventory.
        _ => Ok(()),
    }
}

/// Nothing works on the node until a person looks; what is on it ended when it was last heard.
pub async fn fail(tx: &mut Tx, node: NodeId, cause: &LossCause) -> Result<(), LossError> {
    match store::lock(tx, node).await? {
        Some(known) if known.state != NodeState::Retired => health::give_up(tx, &known, cause).await,
        _ => Ok(()),
    }
}

/// Makes one move if the node is in that state.
async fn step(
    tx: &mut Tx,
    node: NodeId,
    from: NodeState,
    event: Event,
    reason: &str,
) -> Result<Option<NodeFacts>, TransitionError> {
    let Some(known) = store::lock(tx, node).await? else { return Ok(None) };
    if known.state == from {
        transition::<NodeLifecycle>(tx, known.versioned(), event, reason).await?;
    }
    Ok(Some(known))
}
