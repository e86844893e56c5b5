//! Which slots of a node a request takes, and whether it may take any.

use crate::ask::Ask;
use crate::fill;
use crate::groups::{SlotClass, free_groups};
use crate::key::SlotKey;
use crate::node::{Node, Slot};
use std::cmp::Reverse;

/// Whether the node may serve the organization. Who gets the host itself must not find
/// another's traces there, so bare metal asks it of nodes with VM isolation too.
pub fn may_serve(node: &Node, ask: &Ask) -> bool {
    let shares = node.isolates_vms && !ask.is_baremetal();
    shares || node.serves.is_none_or(|organization| organization == ask.organization)
}

/// Whether the slot is one of those that the request could take when it is free.
pub fn suits(slot: &Slot, ask: &Ask) -> bool {
    !ask.colocate_fabric || slot.fabric.is_some()
}

/// Whether what is left of the host besides slots is enough. Bare metal takes it whole.
fn has_host(node: &Node, ask: &Ask) -> bool {
    if ask.is_baremetal() && !node.usage.is_empty() {
        return false;
    }
    ask.needs.host.is_nothing() || node.free_host().lacks(&ask.needs.host).is_none()
}

/// The slots for one part, in the node's order; none where it takes no slots. None: the
/// node does not do, by something that its signature does not show.
pub fn choose(node: &Node, ask: &Ask, class: Option<&SlotClass>) -> Option<Vec<SlotKey>> {
    let is_avoided = ask.anti_affinity.contains(&node.key);
    let has_tags = ask.tags.iter().all(|tag| node.tags.contains(tag));
    if is_avoided || !has_tags || !may_serve(node, ask) || !has_host(node, ask) {
        return None;
    }
    let Some(class) = class else {
        return Some(Vec::new());
    };
    let wanted = if ask.is_baremetal() { node.slots.len() } else { usize::try_from(ask.slots_per_node()).ok()? };
    let groups = free_groups(node, class, |slot| suits(slot, ask));
    let sizes: Vec<usize> = groups.iter().map(|group| group.slots.len()).collect();
    let filling = fill::fewest(&sizes, wanted)?;
    if ask.sku.numa_bound && filling.len() > 1 {
        return None;
    }
    let mut chosen: Vec<usize> = Vec::with_capacity(wanted);
    for (group, count) in filling {
        chosen.extend(beside_one_device(node, &groups[group].slots, count));
    }
    chosen.sort_unstable();
    Some(chosen.into_iter().map(|at| node.slots[at].key).collect())
}

/// `count` of these slots, on as few fabric devices as can be, devices that have few
/// free slots left first, so that a device is shared by few.
fn beside_one_device(node: &Node, slots: &[usize], count: usize) -> Vec<usize> {
    if count >= slots.len() {
        return slots.to_vec();
    }
    let mut devices: Vec<Vec<usize>> = Vec::new();
    for at in slots {
        let fabric = &node.slots[*at].fabric;
        match devices.iter_mut().find(|device| node.slots[device[0]].fabric == *fabric) {
            Some(device) => device.push(*at),
            None => devices.push(vec![*at]),
        }
    }
    devices.sort_by_key(|device| Reverse(device.len()));
    let sizes: Vec<usize> = devices.iter().map(Vec::len).collect();
    let filling = fill::fewest(&sizes, count).unwrap_or_default();
    filling.into_iter().flat_map(|(device, count)| devices[device].iter().take(count).copied()).collect()
}
