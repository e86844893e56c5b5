//! A host and its slots as the planner sees them. Turning rows into these is the
//! caller's part.

use crate::key::{AllocationKey, Name, NodeKey, OrganizationKey, SlotKey};
use std::collections::BTreeSet;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub key: NodeKey,
    /// What people call it; explanations use it.
    pub name: Name,
    pub region: Name,
    pub pool: Name,
    /// Nodes of one domain reach each other over the fast fabric.
    pub fabric_domain: Option<Name>,
    pub state: State,
    pub health: Health,
    /// The organization that this node serves until it is sanitized; none: it is clean.
    pub serves: Option<OrganizationKey>,
    /// Kept free for this request, which waits: nothing else is placed here.
    pub reserved_for: Option<AllocationKey>,
    /// Allocations run in virtual machines, so several organizations may share it.
    pub isolates_vms: bool,
    pub tags: BTreeSet<Name>,
    pub slots: Vec<Slot>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Ready,
    Unavailable(Unavailable),
}

/// Why a node takes nothing new, by its lifecycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unavailable {
    Enrolling,
    Cordoned,
    Draining,
    Maintenance,
    Sanitizing,
    /// Nobody wipes it but a person, who then has to say so.
    Unattested,
    Failed,
    Retired,
}

/// What was observed, apart from what the operator wants of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    Ok,
    Bad(Name),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    pub key: SlotKey,
    pub kind: SlotKind,
    pub model: Name,
    pub memory_bytes: u64,
    pub numa: Option<u32>,
    /// The fabric device (a network adapter, or the switch before it) beside the slot.
    pub fabric: Option<Name>,
    pub condition: Condition,
    pub held_by: Option<AllocationKey>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlotKind {
    Gpu,
    Mig { profile: Name },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Clean,
    /// Given back, and not cleaned yet.
    Dirty,
    /// Cleaning failed, or somebody took it out.
    Quarantined,
    /// The host no longer reports it.
    Missing,
}

impl Node {
    /// A ready, healthy and clean node without slots.
    pub fn new(key: NodeKey, name: impl Into<Name>, region: impl Into<Name>, pool: impl Into<Name>) -> Self {
        Self {
            key,
            name: name.into(),
            region: region.into(),
            pool: pool.into(),
            fabric_domain: None,
            state: State::Ready,
            health: Health::Ok,
            serves: None,
            reserved_for: None,
            isolates_vms: false,
            tags: BTreeSet::new(),
            slots: Vec::new(),
        }
    }

    /// Whether new work may go there at all.
    pub fn is_usable(&self) -> bool {
        self.state == State::Ready && self.health == Health::Ok
    }
}

impl Slot {
    /// A clean, free GPU of which nothing else is known.
    pub fn gpu(key: SlotKey, model: impl Into<Name>) -> Self {
        Self {
            key,
            kind: SlotKind::Gpu,
            model: model.into(),
            memory_bytes: 0,
            numa: None,
            fabric: None,
            condition: Condition::Clean,
            held_by: None,
        }
    }

    pub fn on_numa(mut self, numa: u32) -> Self {
        self.numa = Some(numa);
        self
    }

    pub fn is_free(&self) -> bool {
        self.condition == Condition::Clean && self.held_by.is_none()
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enrolling => "still enrolling",
            Self::Cordoned => "cordoned",
            Self::Draining => "draining",
            Self::Maintenance => "in maintenance",
            Self::Sanitizing => "being sanitized",
            Self::Unattested => "waiting for a person to attest that it was wiped",
            Self::Failed => "failed",
            Self::Retired => "retired",
        })
    }
}
