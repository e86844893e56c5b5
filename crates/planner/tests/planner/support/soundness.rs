//! What every placement must hold, checked from the fleet alone.

use planner::{Ask, Fleet, Health, HostResource, Node, Part, Placement, SameFabric, Shape, Slot, SlotClass, State};
use std::collections::BTreeSet;

pub fn check(fleet: &Fleet, ask: &Ask, placement: &Placement) {
    assert_eq!(placement.parts.len(), ask.nodes as usize, "all of the gang or none");
    let nodes: Vec<&Node> = placement.parts.iter().map(|part| fleet.get(part.node).expect("known node")).collect();
    let distinct: BTreeSet<_> = nodes.iter().map(|node| node.key).collect();
    assert_eq!(distinct.len(), nodes.len(), "a node once");
    let mut taken = BTreeSet::new();
    let mut classes = BTreeSet::new();
    for (part, node) in placement.parts.iter().zip(&nodes) {
        check_node(node, ask);
        for slot in check_part(node, ask, part) {
            assert!(taken.insert(slot.key), "a slot once");
            classes.insert(SlotClass::of(slot));
        }
    }
    let takes_slots = ask.slots_per_node() > 0 || ask.sku.shape == Shape::Baremetal;
    assert_eq!(classes.len(), usize::from(takes_slots), "one kind and model");
    let regions: BTreeSet<_> = nodes.iter().map(|node| &node.region).collect();
    assert_eq!(regions.len(), 1, "one region");
    if ask.nodes > 1 && ask.same_fabric == SameFabric::Required {
        let domains: BTreeSet<_> = nodes.iter().map(|node| &node.fabric_domain).collect();
        assert!(domains.len() == 1 && nodes[0].fabric_domain.is_some(), "one fabric domain");
    }
}

fn check_node(node: &Node, ask: &Ask) {
    assert!(node.state == State::Ready && node.health == Health::Ok, "ready and healthy");
    assert!(ask.region.as_ref().is_none_or(|region| *region == node.region), "its region");
    assert!(ask.pools.is_empty() || ask.pools.contains(&node.pool), "its pool");
    assert!(ask.tags.iter().all(|tag| node.tags.contains(tag)), "its tags");
    assert!(!ask.anti_affinity.contains(&node.key), "not one to avoid");
    let is_alone = !node.isolates_vms || ask.sku.shape == Shape::Baremetal;
    assert!(!is_alone || node.serves.is_none_or(|it| it == ask.organization), "no other organization");
}

fn check_part<'a>(node: &'a Node, ask: &Ask, part: &Part) -> Vec<&'a Slot> {
    let find = |key| node.slots.iter().find(|slot| slot.key == key).expect("a slot of the node");
    let slots: Vec<&Slot> = part.slots.iter().map(|key| find(*key)).collect();
    assert!(slots.iter().all(|slot| slot.is_free()), "clean and free");
    assert!(slots.iter().all(|slot| ask.admits(&SlotClass::of(slot))), "what the SKU sells");
    if ask.sku.shape == Shape::Baremetal {
        assert_eq!(slots.len(), node.slots.len(), "the whole node");
        assert!(ask.needs.gpus == 0 || slots.len() == ask.needs.gpus as usize, "of that size");
        assert!(node.usage.is_empty(), "shared with nobody");
    } else {
        assert_eq!(slots.len(), ask.slots_per_node() as usize, "as many as wanted");
    }
    for resource in HostResource::ALL {
        let used = node.usage.values().map(|usage| usage.of(*resource)).fold(0, u64::saturating_add);
        let then = used.saturating_add(ask.needs.host.of(*resource));
        assert!(then <= node.host.of(*resource), "no more {resource} than the host has");
    }
    if ask.sku.numa_bound && slots.len() > 1 {
        let numas: BTreeSet<_> = slots.iter().map(|slot| slot.numa).collect();
        let has_topology = node.slots.iter().any(|slot| slot.numa.is_some());
        assert!(numas.len() == 1 && (!has_topology || slots[0].numa.is_some()), "on one NUMA node");
    }
    assert!(!ask.colocate_fabric || slots.iter().all(|slot| slot.fabric.is_some()), "beside fabric devices");
    slots
}
