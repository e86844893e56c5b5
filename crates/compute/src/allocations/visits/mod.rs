//! What a visit of an allocation reads and writes.

mod store;

pub use store::{
    activate, attempt, attended, finish, forgive, keep_parts, keys_written, lease_warning_sent, load, need_attention,
    note_done, placed, request, stop_notified, wait,
};

use std::time::Duration;

use contract::{
    Timestamp,
    allocations::AllocationState,
    id::{AllocationId, NodeId, OrganizationId, ProjectId},
    organizations::OrganizationState,
    projects::ProjectState,
    skus::{Shape, SkuLimits},
};
use kernel::lifecycle::Versioned;

use crate::{
    allocations::reason::Reason,
    placement::{slots::HeldSlot, starvation_guard::Leases},
};
use fleet::{nodes::Presence, tasks::OrderStatus};

/// Whether its project and organization let it be placed, started and run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parent {
    Active,
    /// Nothing of the organization runs until it is resumed.
    Suspended,
    /// The project is being deleted, or the organization is closed.
    Ended,
}

impl Parent {
    pub fn of(organization: OrganizationState, project: ProjectState) -> Self {
        match (organization, project) {
            (OrganizationState::Closed, _) | (_, ProjectState::Deleting | ProjectState::Deleted) => Parent::Ended,
            (OrganizationState::Suspended, ProjectState::Active) => Parent::Suspended,
            (OrganizationState::Active, ProjectState::Active) => Parent::Active,
        }
    }
}

/// How long a stopped one keeps its slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopLimit {
    /// From when the time counts.
    pub since: Timestamp,
    pub ends_at: Timestamp,
    pub hours: u64,
    /// Whether its requester was notified that it ends.
    pub is_notified: bool,
}

/// An allocation as a visit finds it.
#[derive(Debug, Clone)]
pub struct Visit {
    pub id: AllocationId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub parent: Parent,
    pub state: AllocationState,
    pub version: i64,
    pub login: String,
    pub shape: Shape,
    /// What its SKU says of CPU, memory, tasks and open files.
    pub limits: SkuLimits,
    /// Set when it ends failed, not released.
    pub failure: Option<Reason>,
    pub attempts: i32,
    /// Whether a person is asked to look.
    pub needs_attention: bool,
    pub lease_ends_at: Option<Timestamp>,
    /// How long the whole lease is.
    pub lease: Option<Duration>,
    /// Whether its project was told that the lease ends.
    pub is_lease_warning_sent: bool,
    /// Set while it is stopped; the time does not pass while its organization is suspended.
    pub stop_limit: Option<StopLimit>,
    pub now: Timestamp,
    /// Since when it is in its state.
    pub since: Timestamp,
    /// The hosts that it holds something on, while they could not clean it.
    pub hosts: Vec<Presence>,
    /// What it holds.
    pub held: Vec<HeldSlot>,
    /// The newest order to each of its nodes.
    pub orders: Vec<OrderStatus>,
    /// What is needed to place it, while it waits.
    pub request: Option<Request>,
    /// Whether nodes are kept free for it.
    pub has_kept_nodes: bool,
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

    pub fn held_on(&self, node: NodeId) -> impl Iterator<Item = &HeldSlot> {
        self.held.iter().filter(move |it| it.node == node)
    }
}
