//! Naive first fit: the same rules, no preferences. The first nodes in order that do,
//! the first slots in order that do. Written apart from the planner, so that it can
//! also say whether a placement exists at all.

use planner::{
    Ask, Condition, Fleet, Health, HostResources, Node, Part, Placement, SameFabric, Shape, Slot, SlotClass, State,
};
use std::collections::BTreeSet;

pub fn first_fit(fleet: &Fleet, ask: &Ask) -> Option<Placement> {
    let is_baremetal = ask.sku.shape == Shape::Baremetal;
    if ask.nodes == 0 || (ask.needs.is_nothing() && !is_baremetal) {
        return None;
    }
    let regions: BTreeSet<_> = fleet.nodes().map(|node| node.region.clone()).collect();
    let mut classes: Vec<Option<SlotClass>> = Vec::new();
    if ask.slots_per_node() == 0 && !is_baremetal {
        classes.push(None);
    } else {
        for slot in fleet.nodes().flat_map(|node| &node.slots) {
            if !classes.iter().flatten().any(|class| class.holds(slot)) && ask.admits(&SlotClass::of(slot)) {
                classes.push(Some(SlotClass::of(slot)));
            }
        }
    }
    let domains: BTreeSet<_> = fleet.nodes().filter_map(|node| node.fabric_domain.clone()).collect();
    for region in &regions {
        for class in classes.iter().map(Option::as_ref) {
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

fn take<'a>(nodes: impl Iterator<Item = &'a Node>, ask: &Ask, class: Option<&SlotClass>) -> Option<Placement> {
    let parts: Vec<Part> = nodes.filter_map(|node| part(node, ask, class)).take(ask.nodes as usize).collect();
    (parts.len() == ask.nodes as usize).then_some(Placement { parts })
}

fn part(node: &Node, ask: &Ask, class: Option<&SlotClass>) -> Option<Part> {
    let is_baremetal = ask.sku.shape == Shape::Baremetal;
    let stands_well = node.state == State::Ready
        && node.health == Health::Ok
        && ask.region.as_ref().is_none_or(|region| *region == node.region)
        && (ask.pools.is_empty() || ask.pools.contains(&node.pool))
        && ask.tags.iter().all(|tag| node.tags.contains(tag))
        && !ask.anti_affinity.contains(&node.key)
        && (node.serves.is_none_or(|it| it == ask.organization) || (node.isolates_vms && !is_baremetal));
    if !stands_well || !has_host(node, ask) {
        return None;
    }
    let Some(class) = class else {
        return Some(Part { node: node.key, slots: Vec::new() });
    };
    let is_free = |slot: &&Slot| {
        class.holds(slot)
            && slot.condition == Condition::Clean
            && slot.held_by.is_none()
            && (!ask.colocate_fabric || slot.fabric.is_some())
    };
    let free: Vec<&Slot> = node.slots.iter().filter(is_free).collect();
    let size = node.slots.len();
    let asked = ask.slots_per_node() as usize;
    let wanted = if is_baremetal { size } else { asked };
    let is_other_size = is_baremetal && asked != 0 && asked != size;
    if is_other_size || wanted == 0 || free.len() < wanted {
        return None;
    }
    let slots: Vec<&Slot> = if ask.sku.numa_bound { local(node, &free, wanted)? } else { free };
    Some(Part { node: node.key, slots: slots.iter().take(wanted).map(|slot| slot.key).collect() })
}

/// Written out for each resource, apart from how the planner counts.
fn has_host(node: &Node, ask: &Ask) -> bool {
    let used = |amount: fn(&HostResources) -> u64| node.usage.values().map(amount).sum::<u64>();
    let (has, needs) = (&node.host, &ask.needs.host);
    let is_alone = node.usage.is_empty() || ask.sku.shape != Shape::Baremetal;
    is_alone
        && used(|it| it.cpus.into()) + u64::from(needs.cpus) <= has.cpus.into()
        && used(|it| it.memory_bytes) + needs.memory_bytes <= has.memory_bytes
        && used(|it| it.disk_bytes) + needs.disk_bytes <= has.disk_bytes
        && used(|it| it.ports.into()) + u64::from(needs.ports) <= has.ports.into()
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
