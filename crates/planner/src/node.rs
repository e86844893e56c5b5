//! A host and its slots as the planner sees them. Turning rows into these is the
//! caller's part.

use crate::key::{AllocationKey, Name, NodeKey, OrganizationKey, SlotKey};
use crate::resources::{HostResources, Resources};
use std::collections::{BTreeMap, BTreeSet};
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
    pub kept_for: Option<AllocationKey>,
    /// Allocations run in virtual machines, so several organizations may share it.
    pub isolates_vms: bool,
    pub tags: BTreeSet<Name>,
    pub slots: Vec<Slot>,
    /// What the host has besides its slots.
    pub host: HostResources,
    /// What allocations use of that. Bare metal uses all of it.
    pub usage: BTreeMap<AllocationKey, HostResources>,
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
    /// A ready, healthy and clean node without slots; how much else it has, nobody said.
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
            kept_for: None,
            isolates_vms: false,
            tags: BTreeSet::new(),
            slots: Vec::new(),
            host: HostResources::UNLIMITED,
            usage: BTreeMap::new(),
        }
    }

    /// Whether new work may go there at all.
    pub fn is_usable(&self) -> bool {
        self.state == State::Ready && self.health == Health::Ok
    }

    /// What it has in all.
    pub fn capacity(&self) -> Resources {
        self.counted(self.host, |_| true)
    }

    /// What allocations use of it. A slot that is held but broken is used, too.
    pub fn used(&self) -> Resources {
        let host = self.usage.values().fold(HostResources::default(), |sum, usage| sum.and(usage));
        self.counted(host, |slot| slot.held_by.is_some())
    }

    /// What is left of the host besides slots.
    pub fn free_host(&self) -> HostResources {
        self.usage.values().fold(self.host, |left, usage| left.without(usage))
    }

    /// Nothing is held or used by anybody.
    pub fn is_idle(&self) -> bool {
        self.usage.is_empty() && self.slots.iter().all(|slot| slot.held_by.is_none())
    }

    /// The allocation leaves its slots and what it used of the host.
    pub fn release(&mut self, allocation: AllocationKey) {
        let held = self.slots.iter_mut().filter(|slot| slot.held_by == Some(allocation));
        held.for_each(|slot| slot.held_by = None);
        self.usage.remove(&allocation);
    }

    fn counted(&self, host: HostResources, counts: impl Fn(&Slot) -> bool) -> Resources {
        let mut sum = Resources::default().with_host(host);
        for slot in self.slots.iter().filter(|slot| counts(slot)) {
            match &slot.kind {
                SlotKind::Gpu => sum.gpus += 1,
                SlotKind::Mig { profile } => *sum.mig.entry(profile.clone()).or_default() += 1,
            }
        }
        sum
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
            Self::Unattested => "waiting for an operator to attest that it was sanitized",
            Self::Failed => "failed",
            Self::Retired => "retired",
        })
    }
}
