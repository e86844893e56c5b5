//! What a visit of an allocation reads and writes.

mod store;

pub use store::{
    activate, attempt, attended, finish, keep_parts, lease_told, load, need_attention, note_done, placed, request, wait,
};

use std::time::Duration;

use contract::{
    Timestamp,
    allocations::AllocationState,
    id::{AllocationId, NodeId, OrganizationId, ProjectId},
    skus::Shape,
};
use kernel::machine::Versioned;

use crate::{
    placement::{reservations::Leases, slots::Held},
    tasks::Ordered,
};

/// An allocation as a visit finds it.
#[derive(Debug, Clone)]
pub struct Visit {
    pub id: AllocationId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub state: AllocationState,
    pub version: i64,
    pub login: String,
    /// Whom its hosts let in by themselves; nobody where only recorded ways in are allowed.
    pub ssh_keys: Vec<String>,
    pub shape: Shape,
    /// Set when it ends failed, not released.
    pub failure: Option<String>,
    pub attempts: i32,
    pub lease_ends_at: Option<Timestamp>,
    /// How long the whole lease is.
    pub lease: Option<Duration>,
    /// Whether its project was told that the lease ends.
    pub is_lease_told: bool,
    pub now: Timestamp,
    /// What it holds.
    pub held: Vec<Held>,
    /// The newest order to each of its nodes.
    pub orders: Vec<Ordered>,
    /// What is needed to place it, while it waits.
    pub request: Option<Request>,
    /// Whether nodes are kept free for it.
    pub is_reserved: bool,
}

#[derive(Debug, Clone)]
pub struct Request {
    pub ask: planner::Ask,
    /// Older requests of the same organization for the same, which found no room
    /// and would with fewer others about.
    pub behind: u32,
    /// Whether no request of anybody for the same has waited longer, of those that could run.
    pub is_eldest: bool,
    /// The nodes that are kept free for it.
    pub kept: Vec<planner::NodeKey>,
    /// When leases end, where it is about to get room.
    pub leases: Option<Leases>,
    /// Whether it found no room before.
    pub is_waiting: bool,
    /// How long ago it was asked for.
    pub age: Duration,
    /// What other organizations wait for whose turn comes first.
    pub ahead: Vec<planner::Ask>,
}

impl Visit {
    pub fn row(&self) -> Versioned<AllocationState> {
        let organization = Some(self.organization.uuid());
        Versioned { id: self.id.uuid(), organization, state: self.state, version: self.version }
    }

    /// Its nodes, each once.
    pub fn nodes(&self) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = self.held.iter().map(|it| it.node).collect();
        nodes.dedup();
        nodes
    }

    pub fn held_on(&self, node: NodeId) -> impl Iterator<Item = &Held> {
        self.held.iter().filter(move |it| it.node == node)
    }
}
