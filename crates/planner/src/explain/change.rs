//! A change that would let a refused request run: to the request, to the fleet, or
//! by waiting.

use crate::ask::{Ask, Invalid, SameFabric};
use crate::key::{Name, NodeKey};
use crate::node::Unavailable;
use crate::resources::{HostResource, Resource, Resources};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Mend the request.
    Correct(Invalid),
    WaitForCleaning {
        gpus: u32,
    },
    /// Let the one that waited longer have what is kept for it.
    WaitForTurn,
    AllowOtherDomains,
    DropNumaBound,
    DropFabricDevices,
    DropAntiAffinity,
    DropTags,
    OtherPool {
        pool: Name,
    },
    OtherRegion {
        region: Name,
    },
    OtherGpus {
        from: u32,
        to: u32,
    },
    FewerNodes {
        from: u32,
        to: u32,
    },
    /// Less of what allocations share of a host.
    LessOf {
        resource: HostResource,
        from: u64,
        to: u64,
    },
    /// Make a node ready again that an operator took out.
    MakeReady {
        node: NodeKey,
        name: Name,
        state: Unavailable,
    },
    Repair {
        node: NodeKey,
        name: Name,
    },
    Sanitize {
        node: NodeKey,
        name: Name,
    },
    /// Say that so many nodes were wiped, of which this is the first.
    Attest {
        nodes: u32,
        node: NodeKey,
        name: Name,
    },
    WaitForRelease {
        gpus: u32,
    },
    AddNodes {
        nodes: u32,
        /// Of each.
        needs: Resources,
        model: Option<Name>,
    },
}

/// Who can bring a change about. What is for operators names nodes, which is not
/// for customers to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    Requester,
    Operator,
    /// It comes by itself.
    Nobody,
}

impl Change {
    pub fn audience(&self) -> Audience {
        match self {
            Self::WaitForCleaning { .. } | Self::WaitForTurn | Self::WaitForRelease { .. } => Audience::Nobody,
            Self::MakeReady { .. }
            | Self::Repair { .. }
            | Self::Sanitize { .. }
            | Self::Attest { .. }
            | Self::AddNodes { .. } => Audience::Operator,
            Self::Correct(_)
            | Self::AllowOtherDomains
            | Self::DropNumaBound
            | Self::DropFabricDevices
            | Self::DropAntiAffinity
            | Self::DropTags
            | Self::OtherPool { .. }
            | Self::OtherRegion { .. }
            | Self::OtherGpus { .. }
            | Self::FewerNodes { .. }
            | Self::LessOf { .. } => Audience::Requester,
        }
    }

    /// The changed request; none when it is not the request that changes.
    pub fn apply(&self, ask: &Ask) -> Option<Ask> {
        let mut changed = ask.clone();
        match self {
            Self::AllowOtherDomains => changed.same_fabric = SameFabric::Preferred,
            Self::DropNumaBound => changed.sku.numa_bound = false,
            Self::DropFabricDevices => changed.colocate_fabric = false,
            Self::DropAntiAffinity => changed.anti_affinity.clear(),
            Self::DropTags => changed.tags.clear(),
            Self::OtherPool { pool } => changed.pools = vec![pool.clone()],
            Self::OtherRegion { region } => changed.region = Some(region.clone()),
            Self::OtherGpus { to, .. } => changed = changed.with_slots(*to),
            Self::LessOf { resource, to, .. } => changed.needs.host = changed.needs.host.with(*resource, *to),
            Self::FewerNodes { to, .. } => changed.nodes = *to,
            Self::Correct(_)
            | Self::WaitForCleaning { .. }
            | Self::WaitForTurn
            | Self::WaitForRelease { .. }
            | Self::MakeReady { .. }
            | Self::Repair { .. }
            | Self::Sanitize { .. }
            | Self::Attest { .. }
            | Self::AddNodes { .. } => return None,
        }
        (changed != *ask).then_some(changed)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Correct(invalid) => invalid.fmt(f),
            Self::WaitForCleaning { gpus: 0 } => write!(f, "wait: a node is being sanitized"),
            Self::WaitForCleaning { gpus } => write!(f, "wait: {gpus} GPUs are dirty and will be sanitized"),
            Self::WaitForTurn => write!(f, "wait: free capacity is reserved for a request that has waited longer"),
            Self::AllowOtherDomains => write!(f, "allow nodes in several fabric domains"),
            Self::DropNumaBound => write!(f, "allow GPUs on several NUMA nodes"),
            Self::DropFabricDevices => write!(f, "allow GPUs without a nearby fabric device"),
            Self::DropAntiAffinity => write!(f, "allow nodes that are used by the same spread group"),
            Self::DropTags => write!(f, "allow nodes without the tags"),
            Self::OtherPool { pool } => write!(f, "use pool {pool}, which has capacity"),
            Self::OtherRegion { region } => write!(f, "use region {region}, which has capacity"),
            Self::OtherGpus { from, to } => write!(f, "request {to} GPUs instead of {from}"),
            Self::FewerNodes { from, to } => write!(f, "request {to} nodes instead of {from}"),
            Self::LessOf { resource, from, to } => {
                let [from, to] = [from, to].map(|amount| Resource::Host(*resource).amount(*amount));
                write!(f, "request {to} instead of {from}")
            }
            Self::MakeReady { name, state: Unavailable::Cordoned, .. } => write!(f, "uncordon node {name}"),
            Self::MakeReady { name, state, .. } => write!(f, "make node {name} ready; it is {state}"),
            Self::Repair { name, .. } => write!(f, "repair node {name}"),
            Self::Sanitize { name, .. } => write!(f, "sanitize node {name}"),
            Self::Attest { nodes: 1, name, .. } => write!(f, "sanitize node {name} and attest it"),
            Self::Attest { nodes, name, .. } => write!(f, "sanitize and attest {nodes} nodes, starting with {name}"),
            Self::WaitForRelease { gpus: 0 } => write!(f, "wait: capacity in use may be released"),
            Self::WaitForRelease { gpus } => write!(f, "wait: {gpus} GPUs are in use and may be released"),
            Self::AddNodes { nodes, needs, model } => {
                let model = model.as_deref().map(|model| format!("{model} ")).unwrap_or_default();
                let rest = Resources { gpus: 0, ..needs.clone() };
                match (needs.gpus, rest.is_nothing()) {
                    (0, true) => write!(f, "add {nodes} nodes with {model}GPUs"),
                    (0, false) => write!(f, "add {nodes} nodes with {rest} each"),
                    (gpus, true) => write!(f, "add {nodes} nodes with {gpus} {model}GPUs each"),
                    (gpus, false) => write!(f, "add {nodes} nodes with {gpus} {model}GPUs, {rest} each"),
                }
            }
        }
    }
}
