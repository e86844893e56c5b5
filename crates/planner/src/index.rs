//! Usable nodes, on shelves by region, pool and class of free slots, there by whom
//! they may serve, and there by signature. A decision scores signatures, of which
//! there are few, instead of nodes. For requests without slots every node is on a shelf
//! of no class, too.
//!
//! What stands here follows from the nodes alone, not from the order of changes: an
//! index that was changed a thousand times equals one that is built anew.

use crate::groups::{SlotClass, classes, free_groups};
use crate::key::{Name, NodeKey, OrganizationKey};
use crate::node::Node;
use crate::resources::HostResources;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    regions: BTreeMap<Name, BTreeMap<ShelfKey, Shelf>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShelfKey {
    pub pool: Name,
    /// None: for requests without slots.
    pub class: Option<SlotClass>,
}

/// Nodes by whom they may serve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shelf {
    /// With VM isolation: anybody.
    pub shared: Rack,
    /// Without, and sanitized: whoever comes first.
    pub clean: Rack,
    /// Without, and in use: this organization until it is sanitized.
    pub serving: BTreeMap<OrganizationKey, Rack>,
}

pub type Rack = BTreeMap<Signature, BTreeSet<RackPosition>>;

/// What a node has to offer of one class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// Every slot of the node is free and of this class: it could be given out whole.
    pub is_whole: bool,
    /// Free slots by NUMA group, the largest first; without a class all of them.
    pub groups: Vec<u16>,
    /// How much of the host is free; of no interest where slots are what counts.
    pub room: FreeMagnitude,
}

/// The magnitude of what is free of a host: powers of two, so that there are few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FreeMagnitude {
    pub memory: u32,
    pub cpus: u32,
}

/// A node within a rack; those of one fabric domain stand together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RackPosition {
    pub domain: Option<Name>,
    pub node: NodeKey,
}

impl FreeMagnitude {
    /// A host with less room of either kind has too little of it.
    pub fn of(host: &HostResources) -> Self {
        Self { memory: u64::BITS - host.memory_bytes.leading_zeros(), cpus: u32::BITS - host.cpus.leading_zeros() }
    }
}

impl Signature {
    pub fn free(&self) -> usize {
        self.groups.iter().map(|size| usize::from(*size)).sum()
    }
}

impl Index {
    pub fn insert(&mut self, node: &Node) {
        for (class, signature) in offers(node) {
            let key = ShelfKey { pool: node.pool.clone(), class };
            let shelf = self.regions.entry(node.region.clone()).or_default().entry(key).or_default();
            let rack = match (node.isolates_vms, node.serves) {
                (true, _) => &mut shelf.shared,
                (false, None) => &mut shelf.clean,
                (false, Some(organization)) => shelf.serving.entry(organization).or_default(),
            };
            rack.entry(signature).or_default().insert(RackPosition::of(node));
        }
    }

    /// Takes out what `insert` put there for the same node; empty shelves go too.
    pub fn remove(&mut self, node: &Node) {
        let Some(shelves) = self.regions.get_mut(&node.region) else {
            return;
        };
        for (class, signature) in offers(node) {
            let key = ShelfKey { pool: node.pool.clone(), class };
            let Some(shelf) = shelves.get_mut(&key) else {
                continue;
            };
            shelf.remove(node, &signature);
            if shelf.is_empty() {
                shelves.remove(&key);
            }
        }
        if shelves.is_empty() {
            self.regions.remove(&node.region);
        }
    }

    /// The shelves of one region, or of all.
    pub fn shelves(&self, region: Option<&Name>) -> impl Iterator<Item = (&Name, &ShelfKey, &Shelf)> {
        let one = region.map(|name| self.regions.get_key_value(name));
        let all = region.is_none().then(|| self.regions.iter());
        let regions = one.flatten().into_iter().chain(all.into_iter().flatten());
        regions.flat_map(|(region, shelves)| shelves.iter().map(move |(key, shelf)| (region, key, shelf)))
    }
}

impl Shelf {
    fn remove(&mut self, node: &Node, signature: &Signature) {
        match (node.isolates_vms, node.serves) {
            (true, _) => take_out(&mut self.shared, node, signature),
            (false, None) => take_out(&mut self.clean, node, signature),
            (false, Some(organization)) => {
                if let Some(rack) = self.serving.get_mut(&organization) {
                    take_out(rack, node, signature);
                    if rack.is_empty() {
                        self.serving.remove(&organization);
                    }
                }
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.shared.is_empty() && self.clean.is_empty() && self.serving.is_empty()
    }
}

impl RackPosition {
    fn of(node: &Node) -> Self {
        Self { domain: node.fabric_domain.clone(), node: node.key }
    }
}

fn take_out(rack: &mut Rack, node: &Node, signature: &Signature) {
    if let Some(places) = rack.get_mut(signature) {
        places.remove(&RackPosition::of(node));
        if places.is_empty() {
            rack.remove(signature);
        }
    }
}

/// What the node offers, by class; nothing while it is not usable or kept free.
fn offers(node: &Node) -> impl Iterator<Item = (Option<SlotClass>, Signature)> {
    let is_open = node.is_usable() && node.kept_for.is_none();
    let found = if is_open { classes(node) } else { Vec::new() };
    let of_slots = found.into_iter().filter_map(|class| {
        let groups = free_groups(node, &class, |_| true);
        let groups: Vec<u16> = groups.iter().map(|group| count(group.slots.len())).collect();
        let signature = Signature { is_whole: false, groups, room: FreeMagnitude::default() };
        let free = signature.free();
        let is_whole = free == node.slots.len();
        (free > 0).then_some((Some(class), Signature { is_whole, ..signature }))
    });
    let of_host = is_open.then(|| (None, without_slots(node)));
    of_slots.chain(of_host)
}

fn without_slots(node: &Node) -> Signature {
    let free = node.slots.iter().filter(|slot| slot.is_free()).count();
    let groups = if free > 0 { vec![count(free)] } else { Vec::new() };
    Signature { is_whole: node.is_idle(), groups, room: FreeMagnitude::of(&node.free_host()) }
}

fn count(slots: usize) -> u16 {
    u16::try_from(slots).unwrap_or(u16::MAX)
}
