//! A request for capacity: what is wanted, and what may not be compromised.

use crate::groups::SlotClass;
use crate::key::{Name, NodeKey, OrganizationKey};
use crate::node::SlotKind;
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
    /// Slots on each node. For bare metal the size of the node; 0 is whatever it has.
    pub gpus_per_node: u32,
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    Baremetal,
    GpuSlice,
    MigSlice { profile: Name },
    Container,
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
    NoGpus,
    TooManyGpus,
    NoNodes,
    TooManyNodes,
    ListTooLong,
}

impl Ask {
    /// One node, anywhere, with nothing to avoid.
    pub fn new(organization: OrganizationKey, sku: SkuShape, gpus_per_node: u32) -> Self {
        Self {
            organization,
            region: None,
            pools: Vec::new(),
            sku,
            gpus_per_node,
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

    /// Whether a fabric domain has to hold all of it.
    pub(crate) fn needs_one_domain(&self) -> bool {
        self.is_gang() && self.same_fabric == SameFabric::Required
    }

    pub fn check(&self) -> Result<(), Invalid> {
        let lists = [self.anti_affinity.len(), self.pools.len(), self.tags.len(), self.allowed_gpus.len()];
        match self {
            ask if ask.gpus_per_node == 0 && !ask.is_baremetal() => Err(Invalid::NoGpus),
            ask if ask.gpus_per_node > MAX_GPUS_PER_NODE => Err(Invalid::TooManyGpus),
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

    /// Whether slots of that class are what the SKU sells.
    pub fn admits(&self, class: &SlotClass) -> bool {
        let kind = match (&self.shape, &class.kind) {
            (Shape::Baremetal | Shape::GpuSlice | Shape::Container, SlotKind::Gpu) => true,
            (Shape::MigSlice { profile: wanted }, SlotKind::Mig { profile }) => wanted == profile,
            (Shape::Baremetal | Shape::GpuSlice | Shape::Container, SlotKind::Mig { .. })
            | (Shape::MigSlice { .. }, SlotKind::Gpu) => false,
        };
        let model = self.model.as_ref().is_none_or(|model| *model == class.model);
        kind && model && class.memory_bytes >= self.min_memory_bytes
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGpus => write!(f, "ask for at least one GPU"),
            Self::TooManyGpus => write!(f, "ask for at most {MAX_GPUS_PER_NODE} GPUs per node"),
            Self::NoNodes => write!(f, "ask for at least one node"),
            Self::TooManyNodes => write!(f, "ask for at most {MAX_NODES} nodes"),
            Self::ListTooLong => write!(f, "name at most {MAX_LIST} pools, tags, counts or nodes to avoid"),
        }
    }
}
