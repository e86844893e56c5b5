//! The snapshot: every node, kept together with the index over what is free. A change
//! of a node costs that node, never the fleet.

use crate::ask::Ask;
use crate::index::Index;
use crate::key::{AllocationKey, NodeKey};
use crate::node::Node;
use crate::plan::Placement;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fleet {
    nodes: BTreeMap<NodeKey, Node>,
    index: Index,
}

impl Fleet {
    /// Adds a node, or replaces what was known of it; answers what that was.
    pub fn upsert(&mut self, node: Node) -> Option<Node> {
        let old = self.remove(node.key);
        self.index.insert(&node);
        self.nodes.insert(node.key, node);
        old
    }

    pub fn remove(&mut self, key: NodeKey) -> Option<Node> {
        let node = self.nodes.remove(&key)?;
        self.index.remove(&node);
        Some(node)
    }

    /// Changes a node in place; false when it is not there. The key stays its own.
    pub fn update(&mut self, key: NodeKey, change: impl FnOnce(&mut Node)) -> bool {
        let Some(node) = self.nodes.get_mut(&key) else {
            return false;
        };
        self.index.remove(node);
        change(node);
        node.key = key;
        self.index.insert(node);
        true
    }

    pub fn get(&self, key: NodeKey) -> Option<&Node> {
        self.nodes.get(&key)
    }

    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Notes that the slots of a placement are held, what it uses of its hosts, and whom
    /// they serve now, so that the next decision sees it before the database is read again.
    pub fn reserve(&mut self, placement: &Placement, ask: &Ask, allocation: AllocationKey) {
        for part in &placement.parts {
            self.update(part.node, |node| {
                if !node.isolates_vms || ask.is_baremetal() {
                    node.serves = Some(ask.organization);
                }
                let taken = node.slots.iter_mut().filter(|slot| part.slots.contains(&slot.key));
                taken.for_each(|slot| slot.held_by = Some(allocation));
                let usage = if ask.is_baremetal() { node.host } else { ask.needs.host };
                if !usage.is_nothing() {
                    node.usage.insert(allocation, usage);
                }
            });
        }
    }

    /// Keeps nodes free for a request, or lifts that.
    pub fn keep(&mut self, nodes: &[NodeKey], kept_for: Option<AllocationKey>) {
        for node in nodes {
            self.update(*node, |node| node.kept_for = kept_for);
        }
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }
}

impl FromIterator<Node> for Fleet {
    fn from_iter<I: IntoIterator<Item = Node>>(nodes: I) -> Self {
        let mut fleet = Self::default();
        for node in nodes {
            fleet.upsert(node);
        }
        fleet
    }
}
