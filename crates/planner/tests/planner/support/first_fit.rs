//! Naive first fit: the same rules, no preferences. The first nodes in order that do,
//! the first slots in order that do. Written apart from the planner, so that it can
//! also say whether a placement exists at all.

use planner::{Ask, Condition, Fleet, Health, Node, Part, Placement, SameFabric, Shape, Slot, SlotClass, State};
use std::collections::BTreeSet;

pub fn first_fit(fleet: &Fleet, ask: &Ask) -> Option<Placement> {
    if ask.nodes == 0 || (ask.gpus_per_node == 0 && ask.sku.shape != Shape::Baremetal) {
        return None;
    }
    let regions: BTreeSet<_> = fleet.nodes().map(|node| node.region.clone()).collect();
    let mut classes: Vec<SlotClass> = Vec::new();
    for slot in fleet.nodes().flat_map(|node| &node.slots) {
        if !classes.iter().any(|class| class.holds(slot)) {
            classes.push(SlotClass::of(slot));
        }
    }
    let domains: BTreeSet<_> = fleet.nodes().filter_map(|node| node.fabric_domain.clone()).collect();
    for region in &regions {
        for class in classes.iter().filter(|class| ask.sku.admits(class)) {
            let here = || fleet.nodes().filter(|node| node.region == *region);
            if ask.nodes > 1 && ask.same_fabric == SameFabric::Required {
                for domain in &domains {
                    let nodes = here().filter(|node| node.fabric_domain.as_ref() == Some(domain));
                    if let Some(placement) = take(nodes, ask, class) {
                        return Some(placement);
                    }
                }
            } else if let Some(placement) = take(here(), ask, class) {
                return Some(placement);
            }
        }
    }
    None
}

fn take<'a>(nodes: impl Iterator<Item = &'a Node>, ask: &Ask, class: &SlotClass) -> Option<Placement> {
    let parts: Vec<Part> = nodes.filter_map(|node| part(node, ask, class)).take(ask.nodes as usize).collect();
    (parts.len() == ask.nodes as usize).then_some(Placement { parts })
}

fn part(node: &Node, ask: &Ask, class: &SlotClass) -> Option<Part> {
    let is_baremetal = ask.sku.shape == Shape::Baremetal;
    let stands_well = node.state == State::Ready
        && node.health == Health::Ok
        && ask.region.as_ref().is_none_or(|region| *region == node.region)
        && (ask.pools.is_empty() || ask.pools.contains(&node.pool))
        && ask.tags.iter().all(|tag| node.tags.contains(tag))
        && !ask.anti_affinity.contains(&node.key)
        && (node.serves.is_none_or(|it| it == ask.organization) || (node.isolates_vms && !is_baremetal));
    if !stands_well {
        return None;
    }
    let is_free = |slot: &&Slot| {
        class.holds(slot)
            && slot.condition == Condition::Clean
            && slot.held_by.is_none()
            && (!ask.colocate_fabric || slot.fabric.is_some())
    };
    let free: Vec<&Slot> = node.slots.iter().filter(is_free).collect();
    let size = node.slots.len();
    let wanted = if is_baremetal { size } else { ask.gpus_per_node as usize };
    let is_other_size = is_baremetal && ask.gpus_per_node != 0 && ask.gpus_per_node as usize != size;
    if is_other_size || wanted == 0 || free.len() < wanted {
        return None;
    }
    let slots: Vec<&Slot> = if ask.sku.numa_bound { local(node, &free, wanted)? } else { free };
    Some(Part { node: node.key, slots: slots.iter().take(wanted).map(|slot| slot.key).collect() })
}

fn local<'a>(node: &Node, free: &[&'a Slot], wanted: usize) -> Option<Vec<&'a Slot>> {
    let has_topology = node.slots.iter().any(|slot| slot.numa.is_some());
    let alone = |slot: &Slot| has_topology && slot.numa.is_none();
    free.iter().find_map(|first| {
        let group: Vec<&Slot> = if alone(first) {
            vec![first]
        } else {
            free.iter().filter(|slot| !alone(slot) && slot.numa == first.numa).copied().collect()
        };
        (group.len() >= wanted).then_some(group)
    })
}
