//! Each rule and each preference by itself.

use crate::support::{baremetal, fleet, node, slice};
use planner::{
    AllocationKey, Ask, Condition, Denial, Fleet, Health, Invalid, Node, NodeKey, OrganizationKey, Placement,
    Resources, SameFabric, Shape, SkuShape, SlotKind, State, Unavailable, plan,
};

const OTHER: OrganizationKey = OrganizationKey(2);

fn hold(mut node: Node, slots: &[usize]) -> Node {
    slots.iter().for_each(|at| node.slots[*at].held_by = Some(AllocationKey(9)));
    node
}

fn shared(mut node: Node) -> Node {
    node.isolates_vms = true;
    node
}

fn in_domain(mut node: Node, domain: &str) -> Node {
    node.fabric_domain = Some(domain.into());
    node
}

fn nodes(placement: &Placement) -> Vec<u128> {
    placement.parts.iter().map(|part| part.node.0).collect()
}

fn slots(placement: &Placement) -> Vec<u128> {
    placement.parts.iter().flat_map(|part| part.slots.iter().map(|slot| slot.0 % 1_000)).collect()
}

/// Where it goes, or why not.
fn place(fleet: &Fleet, ask: &Ask) -> Result<(Vec<u128>, Vec<u128>), Denial> {
    plan(fleet, ask).map(|placement| (nodes(&placement), slots(&placement)))
}

fn gang(count: u32, gpus: u32, same_fabric: SameFabric) -> Ask {
    Ask { nodes: count, same_fabric, ..slice(gpus) }
}

#[test]
fn only_clean_and_free_slots_are_chosen() {
    for condition in [Condition::Dirty, Condition::Quarantined, Condition::Missing] {
        let mut node = hold(node(1, 4), &[0]);
        node.slots[1].condition = condition;
        assert_eq!(place(&fleet([node.clone()]), &slice(2)), Ok((vec![1], vec![2, 3])));
        assert_eq!(place(&fleet([node]), &slice(3)), Err(Denial::NoRoom));
    }
}

#[test]
fn a_node_that_is_not_ready_or_not_healthy_takes_nothing() {
    let mut cordoned = node(1, 8);
    cordoned.state = State::Unavailable(Unavailable::Cordoned);
    let mut ill = node(2, 8);
    ill.health = Health::Bad("ecc".into());
    assert_eq!(place(&fleet([cordoned, ill]), &slice(1)), Err(Denial::NoRoom));
}

#[test]
fn region_pool_tags_and_anti_affinity_are_obeyed() {
    let mut south = node(2, 8);
    south.region = "south".into();
    let mut spare = node(3, 8);
    spare.pool = "spare".into();
    let mut fast = node(4, 8);
    fast.tags.insert("fast".into());
    let fleet = fleet([node(1, 8), south, spare, fast]);
    let table = [
        (Ask { region: Some("south".into()), ..slice(1) }, Some(2)),
        (Ask { pools: vec!["spare".into()], ..slice(1) }, Some(3)),
        (Ask { tags: vec!["fast".into()], ..slice(1) }, Some(4)),
        (Ask { anti_affinity: vec![NodeKey(1), NodeKey(2), NodeKey(3)], ..slice(1) }, Some(4)),
        (Ask { region: Some("west".into()), ..slice(1) }, None),
        (Ask { region: Some("south".into()), pools: vec!["spare".into()], ..slice(1) }, None),
    ];
    for (ask, expected) in table {
        assert_eq!(plan(&fleet, &ask).ok().map(|it| it.parts[0].node.0), expected, "{ask:?}");
    }
}

#[test]
fn a_part_is_of_the_model_and_never_mixes_models() {
    let mut mixed = node(1, 4);
    mixed.slots[0].model = "H100".into();
    let fleet = fleet([mixed]);
    assert_eq!(place(&fleet, &slice(4)), Err(Denial::NoRoom));
    let of = |model: &str, gpus| Ask { sku: SkuShape::new(Shape::GpuSlice).of_model(model), ..slice(gpus) };
    assert_eq!(place(&fleet, &of("H100", 1)), Ok((vec![1], vec![0])));
    assert_eq!(place(&fleet, &of("H200", 3)), Ok((vec![1], vec![1, 2, 3])));
    assert_eq!(place(&fleet, &of("B200", 1)), Err(Denial::NoRoom));
}

#[test]
fn memory_below_what_is_wanted_does_not_do() {
    let mut node = node(1, 2);
    node.slots[1].memory_bytes = 80;
    let mut ask = slice(1);
    ask.sku.min_memory_bytes = 80;
    assert_eq!(place(&fleet([node]), &ask), Ok((vec![1], vec![1])));
}

#[test]
fn shapes_take_the_slots_they_are_made_of() {
    let mut split = node(1, 4);
    split.slots.iter_mut().for_each(|slot| slot.kind = SlotKind::Mig { profile: "1g".into() });
    let fleet = fleet([split, node(2, 4)]);
    let of = |shape| Ask { sku: SkuShape::new(shape), ..slice(4) };
    let slices = |profile: &str| Ask { needs: Resources::mig(profile, 4), ..of(Shape::MigSlice) };
    assert_eq!(nodes(&plan(&fleet, &slices("1g")).unwrap()), [1]);
    assert_eq!(plan(&fleet, &slices("2g")), Err(Denial::NoRoom));
    for shape in [Shape::GpuSlice, Shape::Container, Shape::Baremetal] {
        assert_eq!(nodes(&plan(&fleet, &of(shape)).unwrap()), [2]);
    }
}

#[test]
fn a_node_without_vm_isolation_serves_one_organization_until_it_is_sanitized() {
    let mut theirs = node(1, 8);
    theirs.serves = Some(OTHER);
    assert_eq!(place(&fleet([theirs.clone()]), &slice(1)), Err(Denial::NoRoom));
    assert!(plan(&fleet([theirs.clone()]), &Ask { organization: OTHER, ..slice(1) }).is_ok());
    assert!(plan(&fleet([shared(theirs.clone())]), &slice(1)).is_ok());
    assert_eq!(place(&fleet([shared(theirs)]), &baremetal(8)), Err(Denial::NoRoom), "not as bare metal");
}

#[test]
fn reserving_binds_the_node_to_the_organization() {
    let mut fleet = fleet([node(1, 8), shared(node(2, 8))]);
    for key in [1, 2] {
        let ask = Ask { anti_affinity: vec![NodeKey(3 - key)], ..slice(2) };
        let placement = plan(&fleet, &ask).unwrap();
        fleet.reserve(&placement, &ask, AllocationKey(key));
    }
    let serves = |key| fleet.get(NodeKey(key)).unwrap().serves;
    assert_eq!((serves(1), serves(2)), (Some(OrganizationKey(1)), None));
    let held = fleet.nodes().flat_map(|node| &node.slots).filter(|slot| slot.held_by.is_some());
    assert_eq!(held.count(), 4);
}

#[test]
fn bare_metal_takes_a_whole_node_of_its_size() {
    let fleet = fleet([hold(shared(node(1, 8)), &[0]), node(2, 4), node(3, 8)]);
    assert_eq!(nodes(&plan(&fleet, &baremetal(8)).unwrap()), [3]);
    assert_eq!(nodes(&plan(&fleet, &baremetal(0)).unwrap()), [2], "any size: the smallest");
    assert_eq!(plan(&fleet, &baremetal(6)), Err(Denial::NoRoom));
}

#[test]
fn a_numa_bound_request_is_never_split() {
    let mut ask = slice(3);
    ask.sku.numa_bound = true;
    let split = hold(node(1, 8), &[0, 1, 4, 5]);
    assert_eq!(place(&fleet([split.clone()]), &ask), Err(Denial::NoRoom));
    ask.sku.numa_bound = false;
    assert_eq!(place(&fleet([split]), &ask), Ok((vec![1], vec![2, 3, 6])));
}

#[test]
fn an_unbound_request_prefers_one_numa_node() {
    let split = hold(shared(node(1, 8)), &[0, 1, 4, 5]);
    let local = hold(shared(node(2, 8)), &[0]);
    assert_eq!(place(&fleet([split, local]), &slice(4)), Ok((vec![2], vec![4, 5, 6, 7])));
}

#[test]
fn the_group_and_the_node_with_the_fewest_leftovers_are_chosen() {
    let loose = hold(shared(node(1, 8)), &[0]);
    let tight = hold(shared(node(2, 8)), &[0, 1, 4]);
    assert_eq!(place(&fleet([loose.clone(), tight]), &slice(2)), Ok((vec![2], vec![2, 3])));
    let tighter = hold(shared(node(3, 8)), &[0, 1, 4, 5, 6, 7]);
    assert_eq!(place(&fleet([loose, tighter]), &slice(2)), Ok((vec![3], vec![2, 3])));
}

#[test]
fn nodes_that_serve_the_organization_come_first_and_whole_ones_last() {
    let mut ours = hold(node(5, 8), &[0]);
    ours.serves = Some(OrganizationKey(1));
    let mut order = vec![shared(node(1, 8)), node(2, 8), hold(node(3, 8), &[0]), hold(shared(node(4, 8)), &[0]), ours];
    for expected in [5, 4, 3, 2, 1] {
        assert_eq!(nodes(&plan(&fleet(order.clone()), &slice(2)).unwrap()), [expected]);
        order.pop();
    }
}

#[test]
fn fabric_devices_are_reserved_whole_and_only_on_request() {
    let ask = Ask { colocate_fabric: true, ..slice(2) };
    assert_eq!(place(&fleet([hold(node(1, 4), &[0])]), &ask), Ok((vec![1], vec![2, 3])));
    let one = Ask { needs: 1.into(), ..ask.clone() };
    let mut flat = hold(node(1, 4), &[0]);
    flat.slots.iter_mut().for_each(|slot| slot.numa = None);
    assert_eq!(place(&fleet([flat]), &one), Ok((vec![1], vec![1])), "the device that is broken into");
    let mut bare = node(2, 4);
    bare.slots[1..].iter_mut().for_each(|slot| slot.fabric = None);
    assert_eq!(place(&fleet([bare.clone()]), &ask), Err(Denial::NoRoom));
    assert!(plan(&fleet([bare]), &slice(2)).is_ok());
}

#[test]
fn a_gang_takes_all_its_nodes_or_none() {
    let fleet = fleet([node(1, 8), node(2, 8), node(3, 4)]);
    assert_eq!(nodes(&plan(&fleet, &gang(2, 8, SameFabric::Any)).unwrap()), [1, 2]);
    assert_eq!(place(&fleet, &gang(3, 8, SameFabric::Any)), Err(Denial::Gang { fitting: 2, wanted: 3 }));
    assert_eq!(place(&fleet, &gang(2, 9, SameFabric::Any)), Err(Denial::NoRoom));
}

#[test]
fn a_gang_stays_in_one_region() {
    let mut south = node(2, 8);
    south.region = "south".into();
    let denial = Denial::Gang { fitting: 1, wanted: 2 };
    assert_eq!(place(&fleet([node(1, 8), south]), &gang(2, 8, SameFabric::Any)), Err(denial));
}

#[test]
fn a_gang_lies_in_the_smallest_domain_that_fits_it() {
    let large = (1..=3).map(|key| in_domain(node(key, 8), "a"));
    let small = (4..=5).map(|key| in_domain(node(key, 8), "b"));
    let fleet = fleet(large.chain(small).chain([node(6, 8)]));
    for same_fabric in [SameFabric::Preferred, SameFabric::Required] {
        assert_eq!(nodes(&plan(&fleet, &gang(2, 8, same_fabric)).unwrap()), [4, 5]);
        assert_eq!(nodes(&plan(&fleet, &gang(3, 8, same_fabric)).unwrap()), [1, 2, 3]);
    }
    let denial = Denial::SameFabric { fitting: 3, wanted: 4 };
    assert_eq!(place(&fleet, &gang(4, 8, SameFabric::Required)), Err(denial));
    assert_eq!(nodes(&plan(&fleet, &gang(4, 8, SameFabric::Preferred)).unwrap()), [1, 2, 3, 4]);
    assert_eq!(nodes(&plan(&fleet, &gang(6, 8, SameFabric::Preferred)).unwrap()), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_request_that_makes_no_sense_is_refused_at_once() {
    let table = [
        (slice(0), Invalid::NothingNeeded),
        (Ask { needs: Resources { gpus: 1, ..Resources::mig("1g", 1) }, ..slice(1) }, Invalid::MixedSlots),
        (Ask { needs: Resources::mig("1g", 1), ..baremetal(0) }, Invalid::MixedSlots),
        (slice(2_000), Invalid::TooManyGpus),
        (gang(0, 1, SameFabric::Any), Invalid::NoNodes),
        (gang(5_000, 1, SameFabric::Any), Invalid::TooManyNodes),
        (Ask { anti_affinity: vec![NodeKey(1); 2_000], ..slice(1) }, Invalid::ListTooLong),
    ];
    for (ask, invalid) in table {
        assert_eq!(plan(&fleet([node(1, 8)]), &ask), Err(Denial::Invalid(invalid)));
    }
}
