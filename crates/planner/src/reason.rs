//! Why a node does not do, in words that a person can act on.

use crate::ask::Invalid;
use crate::key::Name;
use crate::node::{Condition, Node, Slot, Unavailable};
use crate::resources::{HostResource, Resource};
use std::fmt;

/// The rules in the order in which a node is judged. A node fails at the first that
/// it breaks; the last rule at which any node failed decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The request makes no sense.
    Valid(Invalid),
    /// There is no node at all.
    AnyNode,
    Region,
    Pool,
    Tags,
    AntiAffinity,
    State,
    Health,
    Model,
    Attestation,
    Tenancy,
    Size,
    Free,
    Numa,
    FabricDevice,
    Host(HostResource),
    KeptFree,
    Gang,
    SameFabric,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    OtherRegion {
        region: Name,
    },
    OtherPool {
        pool: Name,
    },
    MissingTag {
        tag: Name,
    },
    Avoided,
    Unavailable(Unavailable),
    Unhealthy {
        detail: Name,
    },
    /// No slot of the kind, model and memory; for bare metal, not only such.
    OtherModel,
    ServesAnother,
    OtherSize {
        has: u32,
        wanted: u32,
    },
    /// It has less than that in all.
    TooSmall {
        resource: Resource,
        has: u64,
        wanted: u64,
    },
    /// Too few slots are free.
    NotFree {
        resource: Resource,
        wanted: u32,
        occupancy: Occupancy,
    },
    NumaSplit {
        largest: u32,
        wanted: u32,
    },
    NoFabricDevice {
        beside: u32,
        wanted: u32,
    },
    /// It has enough in all, of which others use too much.
    InUse {
        resource: HostResource,
        free: u64,
        has: u64,
        wanted: u64,
    },
    /// Its slots are free, but allocations without slots keep it from being taken whole.
    Shared {
        allocations: u32,
    },
    /// It has room, which is reserved for a request that has waited longer.
    KeptFree,
    /// It would do, but too few others would.
    GangShort {
        fitting: u32,
        wanted: u32,
    },
    /// It would do, but too few others of its fabric domain would.
    DomainShort {
        domain: Option<Name>,
        fitting: u32,
        wanted: u32,
    },
}

/// What has become of the matching slots of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    pub free: u32,
    pub held: u32,
    pub dirty: u32,
    pub quarantined: u32,
    pub missing: u32,
}

impl Reason {
    pub fn rule(&self) -> Rule {
        match self {
            Self::OtherRegion { .. } => Rule::Region,
            Self::OtherPool { .. } => Rule::Pool,
            Self::MissingTag { .. } => Rule::Tags,
            Self::Avoided => Rule::AntiAffinity,
            Self::Unavailable(Unavailable::Unattested) => Rule::Attestation,
            Self::Unavailable(_) => Rule::State,
            Self::Unhealthy { .. } => Rule::Health,
            Self::OtherModel => Rule::Model,
            Self::ServesAnother => Rule::Tenancy,
            Self::TooSmall { resource: Resource::Host(resource), .. } | Self::InUse { resource, .. } => {
                Rule::Host(*resource)
            }
            Self::OtherSize { .. } | Self::TooSmall { .. } => Rule::Size,
            Self::NotFree { .. } | Self::Shared { .. } => Rule::Free,
            Self::NumaSplit { .. } => Rule::Numa,
            Self::NoFabricDevice { .. } => Rule::FabricDevice,
            Self::KeptFree => Rule::KeptFree,
            Self::GangShort { .. } => Rule::Gang,
            Self::DomainShort { .. } => Rule::SameFabric,
        }
    }
}

impl Reason {
    /// What programs tell reasons by; the fields are its parameters.
    pub fn code(&self) -> &'static str {
        match self {
            Self::OtherRegion { .. } => "other_region",
            Self::OtherPool { .. } => "other_pool",
            Self::MissingTag { .. } => "missing_tag",
            Self::Avoided => "avoided",
            Self::Unavailable(_) => "unavailable",
            Self::Unhealthy { .. } => "unhealthy",
            Self::OtherModel => "other_model",
            Self::ServesAnother => "serves_another",
            Self::OtherSize { .. } => "other_size",
            Self::TooSmall { .. } => "too_small",
            Self::NotFree { .. } => "not_free",
            Self::NumaSplit { .. } => "numa_split",
            Self::NoFabricDevice { .. } => "no_fabric_device",
            Self::InUse { .. } => "in_use",
            Self::Shared { .. } => "shared",
            Self::KeptFree => "kept_free",
            Self::GangShort { .. } => "gang_short",
            Self::DomainShort { .. } => "domain_short",
        }
    }

    /// Of what the node has too little, where that is the reason.
    pub fn resource(&self) -> Option<Resource> {
        match self {
            Self::TooSmall { resource, .. } | Self::NotFree { resource, .. } => Some(resource.clone()),
            Self::InUse { resource, .. } => Some(Resource::Host(*resource)),
            _ => None,
        }
    }
}

impl Occupancy {
    pub fn of(node: &Node, counts: impl Fn(&Slot) -> bool) -> Self {
        let mut found = Self::default();
        for slot in node.slots.iter().filter(|slot| counts(slot)) {
            // A slot that is held and broken does not come back when it is released.
            let count = match (slot.condition, slot.held_by) {
                (Condition::Missing, _) => &mut found.missing,
                (Condition::Quarantined, _) => &mut found.quarantined,
                (_, Some(_)) => &mut found.held,
                (Condition::Dirty, None) => &mut found.dirty,
                (Condition::Clean, None) => &mut found.free,
            };
            *count += 1;
        }
        found
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherRegion { region } => write!(f, "is in region {region}"),
            Self::OtherPool { pool } => write!(f, "is in pool {pool}"),
            Self::MissingTag { tag } => write!(f, "does not have the tag {tag}"),
            Self::Avoided => write!(f, "is excluded by anti-affinity"),
            Self::Unavailable(state) => write!(f, "is {state}"),
            Self::Unhealthy { detail } => write!(f, "is unhealthy: {detail}"),
            Self::OtherModel => write!(f, "has other GPUs"),
            Self::ServesAnother => write!(f, "serves another organization until it is sanitized"),
            Self::OtherSize { has, wanted } => write!(f, "has {has} GPUs; a whole node with {wanted} is requested"),
            Self::TooSmall { resource: resource @ Resource::Host(_), has, wanted } => {
                write!(f, "has only {}; {} requested", resource.amount(*has), resource.amount(*wanted))
            }
            Self::TooSmall { resource, has, wanted } => {
                write!(f, "has only {has} such {resource}; {wanted} requested")
            }
            Self::NotFree { resource, wanted, occupancy } => {
                write!(f, "{} of {wanted} requested {resource} free ({occupancy})", occupancy.free)
            }
            Self::InUse { resource, free, has, wanted } => {
                let [free, has, wanted] = [free, has, wanted].map(|amount| Resource::Host(*resource).amount(*amount));
                write!(f, "has {free} free of {has}; {wanted} requested")
            }
            Self::Shared { allocations } => write!(f, "is shared by {allocations} allocations without GPUs"),
            Self::NumaSplit { largest, wanted } => {
                write!(f, "has at most {largest} free GPUs on one NUMA node; {wanted} requested")
            }
            Self::NoFabricDevice { beside, wanted } => {
                write!(f, "has {beside} free GPUs near a fabric device; {wanted} requested")
            }
            Self::KeptFree => write!(f, "is reserved for a request that has waited longer"),
            Self::GangShort { fitting, wanted } => {
                write!(f, "has enough free capacity, but only {fitting} of {wanted} such nodes do")
            }
            Self::DomainShort { domain: Some(domain), fitting, wanted } => {
                write!(f, "has enough free capacity, but only {fitting} of {wanted} nodes of fabric domain {domain} do")
            }
            Self::DomainShort { domain: None, .. } => {
                write!(f, "has enough free capacity, but is not in a fabric domain")
            }
        }
    }
}

impl fmt::Display for Occupancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.held, "in use"),
            (self.dirty, "waiting to be sanitized"),
            (self.quarantined, "quarantined"),
            (self.missing, "missing"),
        ];
        let texts: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        f.write_str(&texts.join(", "))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Valid(invalid) => return invalid.fmt(f),
            Self::AnyNode => "there are no nodes",
            Self::Region => "no node is in the region",
            Self::Pool => "no node of the region is in the pool",
            Self::Tags => "no node has the tags",
            Self::AntiAffinity => "every suitable node is excluded by anti-affinity",
            Self::State => "no suitable node is ready",
            Self::Health => "no suitable node is healthy",
            Self::Model => "no node has such GPUs",
            Self::Attestation => "an operator must first attest that the suitable node was sanitized",
            Self::Tenancy => "every suitable node serves another organization",
            Self::Size => "no node has that size",
            Self::Free => "too few GPUs are free on one node",
            Self::Numa => "too few GPUs are free on one NUMA node",
            Self::FabricDevice => "too few free GPUs are near a fabric device",
            Self::Host(HostResource::Cpus) => "too few CPUs are free on one node",
            Self::Host(HostResource::Memory) => "too little memory is free on one node",
            Self::Host(HostResource::Disk) => "too little disk is free on one node",
            Self::Host(HostResource::Ports) => "too few ports are free on one node",
            Self::KeptFree => "free capacity is reserved for a request that has waited longer",
            Self::Gang => "too few nodes have enough free capacity at the same time",
            Self::SameFabric => "too few nodes of one fabric domain have enough free capacity",
        };
        f.write_str(text)
    }
}
