//! A request for capacity: what is wanted, and what may not be compromised.

use crate::groups::SlotClass;
use crate::key::{Name, NodeKey, OrganizationKey};
use crate::node::SlotKind;
use crate::resources::Resources;
use shapes::Shape;
use std::fmt;

// bound: the widest host has a few dozen MIG instances; beyond this a count is a mistake
const MAX_GPUS_PER_NODE: u32 = 1_024;
// bound: a gang wider than the largest fabric is a mistake, and its answer would be huge
const MAX_NODES: u32 = 4_096;
// bound: each entry is compared with each candidate node
const MAX_LIST: usize = 1_024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub organization: OrganizationKey,
    /// None: any, but a gang stays in one.
    pub region: Option<Name>,
    /// Empty: any.
    pub pools: Vec<Name>,
    pub sku: SkuShape,
    /// What it takes of each node. GPUs of bare metal are the size of the node; 0 is
    /// whatever it has.
    pub needs: Resources,
    /// More than one makes a gang: all of them or none.
    pub nodes: u32,
    pub same_fabric: SameFabric,
    /// Take only slots with a fabric device beside them, on as few devices as can be.
    pub colocate_fabric: bool,
    /// Nodes that must not be taken.
    pub anti_affinity: Vec<NodeKey>,
    /// Tags that a node must have.
    pub tags: Vec<Name>,
    /// The counts that may be asked for instead; empty: any. Only advice looks here.
    pub allowed_gpus: Vec<u32>,
}

/// What a SKU says about the slots it sells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkuShape {
    pub shape: Shape,
    pub model: Option<Name>,
    pub min_memory_bytes: u64,
    /// All slots of a part lie on one NUMA node.
    pub numa_bound: bool,
}

/// Whether a gang lies in one fabric domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameFabric {
    Any,
    Preferred,
    Required,
}

/// Why a request makes no sense, whatever the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invalid {
    NothingNeeded,
    MixedSlots,
    TooManyGpus,
    NoNodes,
    TooManyNodes,
    ListTooLong,
}

impl Ask {
    /// One node, anywhere, with nothing to avoid.
    pub fn new(organization: OrganizationKey, sku: SkuShape, needs: impl Into<Resources>) -> Self {
        Self {
            organization,
            region: None,
            pools: Vec::new(),
            sku,
            needs: needs.into(),
            nodes: 1,
            same_fabric: SameFabric::Preferred,
            colocate_fabric: false,
            anti_affinity: Vec::new(),
            tags: Vec::new(),
            allowed_gpus: Vec::new(),
        }
    }

    pub fn is_gang(&self) -> bool {
        self.nodes > 1
    }

    pub fn is_baremetal(&self) -> bool {
        self.sku.shape == Shape::Baremetal
    }

    /// GPUs or MIG slices on each node.
    pub fn slots_per_node(&self) -> u32 {
        self.needs.profiles().map(|(_, count)| count).fold(self.needs.gpus, u32::saturating_add)
    }

    /// Whether it takes GPUs or MIG slices at all.
    pub fn has_slots(&self) -> bool {
        self.is_baremetal() || self.slots_per_node() > 0
    }

    /// The same with another number of GPUs or MIG slices.
    pub(crate) fn with_slots(mut self, count: u32) -> Self {
        match self.needs.mig.values_mut().find(|slices| **slices > 0) {
            Some(slices) => *slices = count,
            None => self.needs.gpus = count,
        }
        self
    }

    /// Whether slots of that class are what it takes.
    pub fn admits(&self, class: &SlotClass) -> bool {
        let is_kind = match (self.needs.profiles().next(), &class.kind) {
            (None, SlotKind::Gpu) => self.has_slots(),
            (Some((wanted, _)), SlotKind::Mig { profile }) => wanted == profile,
            (None, SlotKind::Mig { .. }) | (Some(_), SlotKind::Gpu) => false,
        };
        is_kind && self.sku.admits(class)
    }

    /// Whether a fabric domain has to hold all of it.
    pub(crate) fn needs_one_domain(&self) -> bool {
        self.is_gang() && self.same_fabric == SameFabric::Required
    }

    /// A part is of one kind of slot, and whole hosts have no slices.
    fn mixes_slots(&self) -> bool {
        let kinds = usize::from(self.needs.gpus > 0 || self.is_baremetal()) + self.needs.profiles().count();
        kinds > 1
    }

    pub fn check(&self) -> Result<(), Invalid> {
        let lists = [self.anti_affinity.len(), self.pools.len(), self.tags.len(), self.allowed_gpus.len()];
        match self {
            ask if ask.needs.is_nothing() && !ask.is_baremetal() => Err(Invalid::NothingNeeded),
            ask if ask.mixes_slots() => Err(Invalid::MixedSlots),
            ask if ask.slots_per_node() > MAX_GPUS_PER_NODE => Err(Invalid::TooManyGpus),
            ask if ask.nodes == 0 => Err(Invalid::NoNodes),
            ask if ask.nodes > MAX_NODES => Err(Invalid::TooManyNodes),
            _ if lists.iter().any(|length| *length > MAX_LIST) => Err(Invalid::ListTooLong),
            _ => Ok(()),
        }
    }
}

impl SkuShape {
    /// Any model, not bound to a NUMA node.
    pub fn new(shape: Shape) -> Self {
        Self { shape, model: None, min_memory_bytes: 0, numa_bound: false }
    }

    pub fn of_model(mut self, model: impl Into<Name>) -> Self {
        self.model = Some(model.into());
        self
    }

    pub fn bound_to_numa(mut self) -> Self {
        self.numa_bound = true;
        self
    }

    /// Whether the SKU sells slots of that model and memory.
    fn admits(&self, class: &SlotClass) -> bool {
        let model = self.model.as_ref().is_none_or(|model| *model == class.model);
        model && class.memory_bytes >= self.min_memory_bytes
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingNeeded => write!(f, "request at least one GPU, CPU, port, or some memory or disk"),
            Self::MixedSlots => write!(f, "request whole GPUs, or MIG slices of one profile"),
            Self::TooManyGpus => write!(f, "request at most {MAX_GPUS_PER_NODE} GPUs per node"),
            Self::NoNodes => write!(f, "request at least one node"),
            Self::TooManyNodes => write!(f, "request at most {MAX_NODES} nodes"),
            Self::ListTooLong => write!(f, "give at most {MAX_LIST} pools, tags, counts or nodes to avoid"),
        }
    }
}
