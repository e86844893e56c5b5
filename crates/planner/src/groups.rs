//! The slots of one node sorted into what may be given out together: by class (kind,
//! model, memory) and by NUMA node.

use crate::key::Name;
use crate::node::{Node, Slot, SlotKind};
use crate::resources::Resource;

/// Slots that are the same to a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlotClass {
    pub kind: SlotKind,
    pub model: Name,
    pub memory_bytes: u64,
}

impl SlotClass {
    pub fn of(slot: &Slot) -> Self {
        Self { kind: slot.kind.clone(), model: slot.model.clone(), memory_bytes: slot.memory_bytes }
    }

    pub(crate) fn resource(&self) -> Resource {
        match &self.kind {
            SlotKind::Gpu => Resource::Gpus,
            SlotKind::Mig { profile } => Resource::MigSlices { profile: profile.clone() },
        }
    }

    pub fn holds(&self, slot: &Slot) -> bool {
        self.memory_bytes == slot.memory_bytes && self.kind == slot.kind && self.model == slot.model
    }
}

/// The classes of a node's slots, each once, in order.
pub fn classes(node: &Node) -> Vec<SlotClass> {
    let mut found: Vec<SlotClass> = Vec::with_capacity(1);
    for slot in &node.slots {
        if !found.iter().any(|class| class.holds(slot)) {
            found.push(SlotClass::of(slot));
        }
    }
    found.sort_unstable();
    found
}

/// Free slots of one NUMA node, by their position in the node.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    numa: Option<u32>,
    pub slots: Vec<usize>,
}

/// The free slots of a class that `wanted` likes, by NUMA node, the largest group
/// first. Where some slot's NUMA node is known, a slot whose NUMA node is not stands
/// alone: nobody can say what it is close to. Where none is known there is one group.
pub fn free_groups(node: &Node, class: &SlotClass, wanted: impl Fn(&Slot) -> bool) -> Vec<Group> {
    let has_topology = node.slots.iter().any(|slot| slot.numa.is_some());
    let mut groups: Vec<Group> = Vec::with_capacity(2);
    for (at, slot) in node.slots.iter().enumerate() {
        if !slot.is_free() || !class.holds(slot) || !wanted(slot) {
            continue;
        }
        let is_alone = has_topology && slot.numa.is_none();
        match groups.iter_mut().find(|group| !is_alone && group.numa == slot.numa) {
            Some(group) => group.slots.push(at),
            None => groups.push(Group { numa: slot.numa, slots: vec![at] }),
        }
    }
    groups.sort_by_key(|group| (std::cmp::Reverse(group.slots.len()), group.numa));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{NodeKey, SlotKey};

    fn node(numas: &[Option<u32>]) -> Node {
        let mut node = Node::new(NodeKey(1), "n", "r", "p");
        let slots = numas.iter().enumerate();
        node.slots = slots.map(|(at, numa)| Slot { numa: *numa, ..Slot::gpu(SlotKey(at as u128), "A") }).collect();
        node
    }

    fn positions(node: &Node) -> Vec<Vec<usize>> {
        free_groups(node, &classes(node)[0], |_| true).into_iter().map(|group| group.slots).collect()
    }

    #[test]
    fn groups_are_numa_nodes_and_the_largest_is_first() {
        assert_eq!(positions(&node(&[Some(0), Some(1), Some(1)])), [vec![1, 2], vec![0]]);
    }

    #[test]
    fn a_host_without_numa_nodes_is_one_group() {
        assert_eq!(positions(&node(&[None, None])), [vec![0, 1]]);
    }

    #[test]
    fn a_slot_of_unknown_numa_node_stands_alone_beside_known_ones() {
        assert_eq!(positions(&node(&[Some(0), None, None])), [vec![1], vec![2], vec![0]]);
    }

    #[test]
    fn classes_differ_by_model_and_memory() {
        let mut node = node(&[None, None, None]);
        node.slots[1].model = "B".into();
        node.slots[2].memory_bytes = 5;
        assert_eq!(classes(&node).len(), 3);
    }
}
