//! What people read when a request does not run.

use crate::support::{baremetal, fleet, node, slice};
use planner::{
    AllocationKey, Ask, Audience, Change, Condition, Explanation, Fleet, Health, Node, NodeKey, OrganizationKey,
    SameFabric, Shape, SkuShape, State, Unavailable, explain,
};

fn explained(fleet: &Fleet, ask: &Ask) -> Explanation {
    *explain(fleet, ask).expect_err("it does not fit")
}

fn smallest(nodes: impl IntoIterator<Item = Node>, ask: &Ask) -> String {
    explained(&fleet(nodes), ask).smallest_change.to_string()
}

fn held(mut node: Node, slots: usize) -> Node {
    node.slots.iter_mut().take(slots).for_each(|slot| slot.held_by = Some(AllocationKey(9)));
    node
}

fn bound(gpus: u32) -> Ask {
    Ask { sku: SkuShape::new(Shape::GpuSlice).bound_to_numa(), ..slice(gpus) }
}

#[test]
fn every_rejected_node_has_a_reason_that_can_be_read() {
    let change = |key, with: fn(&mut Node)| {
        let mut node = node(key, 8);
        with(&mut node);
        node
    };
    let fleet = fleet([
        change(1, |node| node.region = "south".into()),
        change(2, |node| node.pool = "spare".into()),
        change(3, |node| node.tags.clear()),
        change(4, |node| node.tags.extend(["fast".into()])),
        change(5, |node| {
            node.tags.insert("fast".into());
            node.state = State::Unavailable(Unavailable::Draining);
        }),
        change(6, |node| {
            node.tags.insert("fast".into());
            node.health = Health::Bad("xid 79 on GPU 3".into());
        }),
        change(7, |node| {
            node.tags.insert("fast".into());
            node.slots.iter_mut().for_each(|slot| slot.model = "H100".into());
        }),
        change(8, |node| {
            node.tags.insert("fast".into());
            node.serves = Some(OrganizationKey(2));
        }),
    ]);
    let mut ask = slice(2);
    ask.region = Some("north".into());
    ask.pools = vec!["default".into()];
    ask.tags = vec!["fast".into()];
    ask.anti_affinity = vec![NodeKey(4)];
    ask.sku.model = Some("H200".into());
    let explanation = explained(&fleet, &ask);
    let texts: Vec<String> = explanation.rejected.iter().map(|it| format!("{} {}", it.name, it.reason)).collect();
    let expected = [
        "node-8 serves another organization until it is sanitized",
        "node-7 has other GPUs",
        "node-6 is unhealthy: xid 79 on GPU 3",
        "node-5 is draining",
        "node-4 is excluded by anti-affinity",
        "node-3 does not have the tag fast",
        "node-2 is in pool spare",
        "node-1 is in region south",
    ];
    assert_eq!(texts, expected);
    assert_eq!(explanation.rule.to_string(), "every suitable node serves another organization");
    assert_eq!(explanation.counts.len(), 8);
}

#[test]
fn reasons_of_room_say_how_much_there_is() {
    let mut partly = held(node(1, 8), 3);
    partly.slots[4].condition = Condition::Dirty;
    partly.slots[5].condition = Condition::Quarantined;
    partly.slots[6].condition = Condition::Missing;
    let reason = |node: Node, ask: &Ask| explained(&fleet([node]), ask).rejected[0].reason.to_string();
    let free = "2 of 4 requested GPUs free (3 in use, 1 waiting to be sanitized, 1 quarantined, 1 missing)";
    assert_eq!(reason(partly, &slice(4)), free);
    assert_eq!(reason(node(1, 4), &slice(8)), "has only 4 such GPUs; 8 requested");
    assert_eq!(reason(node(1, 4), &baremetal(8)), "has 4 GPUs; a whole node with 8 is requested");
    assert_eq!(reason(node(1, 8), &bound(5)), "has at most 4 free GPUs on one NUMA node; 5 requested");
    let mut bare = node(1, 2);
    bare.slots[0].fabric = None;
    let beside = "has 1 free GPUs near a fabric device; 2 requested";
    assert_eq!(reason(bare, &Ask { colocate_fabric: true, ..slice(2) }), beside);
}

#[test]
fn the_smallest_change_of_the_request_is_named() {
    assert_eq!(smallest([held(node(1, 8), 4)], &slice(8)), "request 4 GPUs instead of 8");
    assert_eq!(smallest([node(1, 8)], &bound(5)), "allow GPUs on several NUMA nodes");
    let mut south = node(2, 8);
    south.region = "south".into();
    let north = Ask { region: Some("north".into()), ..slice(8) };
    assert_eq!(smallest([held(node(1, 8), 4), south], &north), "use region south, which has capacity");
    let spare = Ask { pools: vec!["spare".into()], ..slice(1) };
    assert_eq!(smallest([node(1, 8)], &spare), "use pool default, which has capacity");
    assert_eq!(smallest([node(1, 8)], &Ask { tags: vec!["fast".into()], ..slice(1) }), "allow nodes without the tags");
    let avoiding = Ask { anti_affinity: vec![NodeKey(1)], ..slice(1) };
    assert_eq!(smallest([node(1, 8)], &avoiding), "allow nodes that are used by the same spread group");
    assert_eq!(smallest([node(1, 4)], &baremetal(8)), "request 4 GPUs instead of 8");
}

#[test]
fn only_counts_that_are_sold_are_advised() {
    let ask = Ask { allowed_gpus: vec![1, 2, 4, 8], ..slice(8) };
    assert_eq!(smallest([held(node(1, 8), 1)], &ask), "request 4 GPUs instead of 8");
}

#[test]
fn explanation_of_a_gang_names_what_it_lacks() {
    let gang = |nodes, same_fabric| Ask { nodes, same_fabric, ..slice(8) };
    let two = [node(1, 8), node(2, 8)];
    assert_eq!(smallest(two.clone(), &gang(3, SameFabric::Any)), "request 2 nodes instead of 3");
    let apart = two.map(|mut node| {
        node.fabric_domain = Some(node.name.clone());
        node
    });
    let explanation = explained(&fleet(apart), &gang(2, SameFabric::Required));
    assert_eq!(explanation.smallest_change, Change::AllowOtherDomains);
    assert_eq!(explanation.other_changes, [Change::FewerNodes { from: 2, to: 1 }]);
    let reason = explanation.rejected[0].reason.to_string();
    assert_eq!(reason, "has enough free capacity, but only 1 of 2 nodes of fabric domain node-1 do");
}

#[test]
fn waiting_is_advised_when_cleaning_or_release_would_do() {
    let mut dirty = node(1, 8);
    dirty.slots[2..].iter_mut().for_each(|slot| slot.condition = Condition::Dirty);
    assert_eq!(smallest([dirty], &slice(8)), "wait: 6 GPUs are dirty and will be sanitized");
    assert_eq!(smallest([held(node(1, 8), 8)], &slice(1)), "wait: 8 GPUs are in use and may be released");
}

#[test]
fn changes_that_operators_can_make_are_named_and_marked_as_theirs() {
    let mut cordoned = node(1, 8);
    cordoned.state = State::Unavailable(Unavailable::Cordoned);
    let mut ill = node(1, 8);
    ill.health = Health::Bad("disk".into());
    let mut theirs = node(1, 8);
    theirs.serves = Some(OrganizationKey(2));
    let mut unattested = node(1, 8);
    (unattested.state, unattested.serves) = (State::Unavailable(Unavailable::Unattested), Some(OrganizationKey(2)));
    unattested.health = Health::Bad("shut out".into());
    unattested.slots.iter_mut().for_each(|slot| slot.condition = Condition::Dirty);
    let table = [
        (unattested.clone(), "sanitize node node-1 and attest it"),
        (unattested, "add 1 nodes with 8 B200 GPUs each"),
        (cordoned, "uncordon node node-1"),
        (ill, "repair node node-1"),
        (theirs, "sanitize node node-1"),
        (node(1, 4), "add 1 nodes with 8 B200 GPUs each"),
    ];
    for (node, expected) in table {
        let mut ask = slice(8);
        ask.sku.model = expected.contains("B200").then(|| "B200".into());
        let change = explained(&fleet([node]), &ask).smallest_change;
        assert_eq!((change.to_string().as_str(), change.audience()), (expected, Audience::Operator));
    }
}

#[test]
fn explanation_names_an_attestation_that_a_person_must_give() {
    let unattested = |key| {
        let mut node = node(key, 8);
        node.state = State::Unavailable(Unavailable::Unattested);
        node
    };
    let explanation = explained(&fleet([unattested(1)]), &slice(8));
    let rule = "an operator must first attest that the suitable node was sanitized";
    assert_eq!(explanation.rule.to_string(), rule);
    let reason = explanation.rejected[0].reason.to_string();
    assert_eq!(reason, "is waiting for an operator to attest that it was sanitized");
    let gang = Ask { nodes: 2, ..slice(8) };
    let two = smallest([unattested(1), unattested(2)], &gang);
    assert_eq!(two, "sanitize and attest 2 nodes, starting with node-1");
    let other = Ask { sku: slice(8).sku.of_model("B200"), ..slice(8) };
    assert_eq!(explained(&fleet([unattested(1)]), &other).rule.to_string(), "no node has such GPUs");
}

#[test]
fn the_list_is_bounded_and_the_rest_is_counted() {
    let explanation = explained(&fleet((1..=120).map(|key| held(node(key, 8), 8))), &slice(1));
    assert_eq!(explanation.rejected.len(), 50);
    assert_eq!(explanation.counts.values().sum::<u32>(), 120);
    let text = explanation.to_string();
    assert!(
        text.starts_with("too few GPUs are free on one node\n  node-1 0 of 1 requested GPUs free (8 in use)\n"),
        "{text}"
    );
    assert!(text.ends_with("\n  and 70 more nodes\nto fix this: wait: 960 GPUs are in use and may be released"));
}

#[test]
fn request_that_fits_by_now_is_placed_and_an_empty_fleet_is_named() {
    assert!(explain(&fleet([node(1, 8)]), &slice(1)).is_ok());
    let explanation = explained(&fleet([]), &slice(1));
    assert_eq!(explanation.rule.to_string(), "there are no nodes");
    assert_eq!(
        explained(&fleet([]), &slice(0)).to_string(),
        "request at least one GPU, CPU, port, or some memory or disk\nto fix this: request at least one GPU, CPU, port, or some memory or disk"
    );
}
