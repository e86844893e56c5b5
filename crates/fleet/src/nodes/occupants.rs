//! What another area has on nodes, and does at once when a node changes.

use contract::{
    Timestamp,
    id::{AllocationId, NodeId, ProjectId},
};
use kernel::{Tx, bus::BoxFuture, lifecycle::TransitionError};
use uuid::Uuid;

use super::loss::LossCause;

/// Why a node could not be given up.
#[derive(Debug, thiserror::Error)]
pub enum LossError {
    #[error(transparent)]
    Transition(#[from] TransitionError),
    #[error("a refund could not be posted")]
    Refund(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

/// Which slots an allocation holds, or held, and from when to when.
pub struct HeldSlots {
    pub slots: Vec<Uuid>,
    /// None when it never was active.
    pub since: Option<Timestamp>,
    /// None while it holds them.
    pub until: Option<Timestamp>,
}

pub trait Occupants: Send + Sync {
    /// Looks again at what waits, because something became free or may be used now.
    fn capacity_changed<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, sqlx::Result<()>>;
    /// Notifies those who have something on a node that it is being drained, or with
    /// no deadline that it no longer is.
    fn drain_changed<'a>(
        &'a self,
        tx: &'a mut Tx,
        node: NodeId,
        deadline: Option<Timestamp>,
    ) -> BoxFuture<'a, sqlx::Result<()>>;
    /// Ends what is still on a node when the deadline of its drain has passed.
    fn release_on_node<'a>(&'a self, tx: &'a mut Tx, node: NodeId) -> BoxFuture<'a, Result<(), TransitionError>>;
    /// Ends what was on a node that will not answer again and was last heard at that moment.
    fn node_lost<'a>(
        &'a self,
        tx: &'a mut Tx,
        node: NodeId,
        last_heard: Timestamp,
        cause: &'a LossCause,
    ) -> BoxFuture<'a, Result<(), LossError>>;
    /// Lets go of a node that is gone for good.
    fn abandon_on_node<'a>(
        &'a self,
        tx: &'a mut Tx,
        node: NodeId,
        cause: &'a LossCause,
    ) -> BoxFuture<'a, Result<(), TransitionError>>;
    /// Looks again at what these hosts, which were silent and are heard again, have not cleaned.
    fn hosts_are_back<'a>(&'a self, tx: &'a mut Tx, nodes: &'a [NodeId]) -> BoxFuture<'a, sqlx::Result<()>>;
    /// Whether slots of a node were let go of without its host's evidence, and neither
    /// attested nor wiped since.
    fn is_abandoned<'a>(&'a self, tx: &'a mut Tx, node: NodeId) -> BoxFuture<'a, sqlx::Result<bool>>;
    /// What an allocation of the project has or had, on all nodes or on one.
    fn held<'a>(
        &'a self,
        tx: &'a mut Tx,
        project: ProjectId,
        allocation: AllocationId,
        node: Option<NodeId>,
    ) -> BoxFuture<'a, sqlx::Result<Option<HeldSlots>>>;
}

/// As [`Occupants::capacity_changed`].
pub async fn capacity_changed(tx: &mut Tx) -> sqlx::Result<()> {
    tx.hook::<dyn Occupants>().capacity_changed(tx).await
}
