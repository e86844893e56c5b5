//! What is kept free for a request that waited too long, and which could never run.

use crate::support::{any_ask, any_fleet, baremetal, fleet, node, slice};
use planner::{
    AllocationKey, Change, Condition, Fleet, Health, Node, NodeKey, OrganizationKey, Rule, SameFabric, State,
    Unavailable, could_run, explain, plan, soonest,
};

const OWN: AllocationKey = AllocationKey(77);

/// The first slots of the node are held, each by one of these.
fn held_by(mut node: Node, holders: &[u128]) -> Node {
    for (slot, holder) in node.slots.iter_mut().zip(holders) {
        (slot.held_by, slot.condition) = (Some(AllocationKey(*holder)), Condition::Dirty);
    }
    node
}

fn first(fleet: &Fleet, ask: &planner::Ask) -> Option<Vec<u128>> {
    // Holders from 100 on have a lease that ends at their number.
    let ends = |holder: AllocationKey| (holder.0 >= 100).then_some(holder.0 as i64);
    soonest(fleet, ask, OWN, &ends).map(|nodes| nodes.iter().map(|it| it.0).collect())
}

#[test]
fn a_request_could_run_when_the_nodes_in_service_would_hold_it_empty() {
    let full = || held_by(node(1, 8), &[1; 8]);
    assert!(could_run(&fleet([full()]), &slice(8)));
    assert!(could_run(&fleet([full()]), &baremetal(8)));
    assert!(!could_run(&fleet([full()]), &slice(9)));
    assert!(!could_run(&fleet([full()]), &baremetal(4)));
    assert!(!could_run(&Fleet::default(), &slice(1)));
    let bound = planner::Ask { sku: slice(1).sku.bound_to_numa(), ..slice(5) };
    assert!(!could_run(&fleet([full()]), &bound), "no NUMA node has five");
    let gang = planner::Ask { nodes: 2, ..slice(8) };
    assert!(!could_run(&fleet([full()]), &gang));
    assert!(could_run(&fleet([full(), held_by(node(2, 8), &[2])]), &gang));
    let apart = planner::Ask { anti_affinity: vec![NodeKey(1)], ..slice(1) };
    assert!(could_run(&fleet([full()]), &apart), "on an empty fleet there is nothing to keep away from");
    let other = Node { serves: Some(OrganizationKey(2)), ..full() };
    assert!(could_run(&fleet([other]), &slice(8)), "it is wiped when it is empty");
    let sanitizing = Node { state: State::Unavailable(Unavailable::Sanitizing), ..full() };
    assert!(could_run(&fleet([sanitizing]), &slice(8)), "it comes back by itself");
    let unattested = Node { state: State::Unavailable(Unavailable::Unattested), ..full() };
    assert!(could_run(&fleet([unattested]), &slice(8)), "a person brings it back as a matter of course");
    let cordoned = Node { state: State::Unavailable(Unavailable::Cordoned), ..full() };
    let unwell = Node { health: Health::Bad("xid 79".into()), ..node(2, 8) };
    assert!(!could_run(&fleet([cordoned, unwell]), &slice(1)), "only a person can bring these back");
}

#[test]
fn request_that_fits_now_could_run_on_an_empty_fleet() {
    let mut random = crate::support::Random(11);
    let mut fitting = 0;
    for _ in 0..20_000 {
        let (fleet, ask) = (any_fleet(&mut random, 6), any_ask(&mut random));
        if plan(&fleet, &ask).is_ok() {
            fitting += 1;
            assert!(could_run(&fleet, &ask), "{ask:?} in {fleet:?}");
            let nodes = soonest(&fleet, &planner::Ask { anti_affinity: vec![], ..ask.clone() }, OWN, &|_| None);
            assert_eq!(nodes.map(|it| it.len()), Some(ask.nodes as usize), "{ask:?}");
        }
    }
    println!("{fitting} of 20000 random requests fit; each could run on the emptied fleet");
    assert!(fitting > 2_000);
}

#[test]
fn room_is_reserved_where_leases_end_first_and_else_where_least_is_in_the_way() {
    let leased = held_by(node(1, 4), &[1, 500, 600, 700]);
    let sooner = held_by(node(2, 4), &[1, 300, 400, 900]);
    let unknown = held_by(node(3, 4), &[1, 2]);
    let fleet_of = |nodes: &[&Node]| fleet(nodes.iter().map(|it| (*it).clone()));
    assert_eq!(first(&fleet_of(&[&leased, &sooner]), &slice(2)), Some(vec![2]));
    assert_eq!(first(&fleet_of(&[&leased, &sooner]), &slice(3)), Some(vec![1]), "by the last that it needs");
    let unattested = Node { state: State::Unavailable(Unavailable::Unattested), ..node(7, 4) };
    assert_eq!(first(&fleet_of(&[&unattested, &leased]), &slice(2)), Some(vec![1]), "no person is waited for");
    assert_eq!(first(&fleet_of(&[&unattested]), &slice(2)), Some(vec![7]), "unless there is nothing else");
    let full = held_by(node(4, 4), &[1, 2, 3, 4]);
    assert_eq!(first(&fleet_of(&[&full, &unknown]), &slice(4)), Some(vec![3]), "two in the way before four");
    assert_eq!(first(&fleet_of(&[&full, &unknown]), &slice(8)), None);
    let strange = Node { serves: Some(OrganizationKey(2)), ..held_by(node(5, 4), &[1]) };
    let own = held_by(node(6, 4), &[1, 2]);
    assert_eq!(first(&fleet_of(&[&strange, &own]), &slice(2)), Some(vec![6]), "the other has to be emptied first");
}

#[test]
fn a_gang_is_reserved_room_in_one_region_and_in_one_domain_where_it_must() {
    let of = |key, region: &str, domain: &str, holders: &[u128]| Node {
        region: region.into(),
        fabric_domain: Some(domain.into()),
        ..held_by(node(key, 2), holders)
    };
    let fleet = fleet([
        of(1, "north", "a", &[1]),
        of(2, "north", "b", &[1]),
        of(3, "north", "b", &[1, 2]),
        of(4, "south", "a", &[]),
    ]);
    let gang = planner::Ask { nodes: 2, ..slice(2) };
    assert_eq!(first(&fleet, &gang), Some(vec![1, 2]));
    let close = planner::Ask { same_fabric: SameFabric::Required, ..gang };
    assert_eq!(first(&fleet, &close), Some(vec![2, 3]));
}

#[test]
fn a_reserved_node_accepts_nothing_else_and_says_so() {
    let mut fleet = fleet([held_by(node(1, 4), &[1, 2])]);
    fleet.keep(&[NodeKey(1)], Some(OWN));
    assert!(plan(&fleet, &slice(1)).is_err());
    let why = explain(&fleet, &slice(1)).unwrap_err();
    assert_eq!((why.rule, &why.smallest_change), (Rule::KeptFree, &Change::WaitForTurn));
    let why = explain(&fleet, &slice(4)).unwrap_err();
    assert_eq!(why.rule, Rule::Free, "what has no room anyway is told that");
    assert_eq!(soonest(&fleet, &slice(4), AllocationKey(1), &|_| None), None, "it is kept for another");
    assert_eq!(first(&fleet, &slice(4)), Some(vec![1]));
    fleet.keep(&[NodeKey(1)], None);
    assert!(plan(&fleet, &slice(1)).is_ok());
}

#[test]
fn a_place_that_was_chosen_before_is_chosen_again_unless_another_is_better() {
    let mut fleet = fleet([held_by(node(1, 4), &[1, 2]), held_by(node(2, 4), &[1, 2])]);
    fleet.keep(&[NodeKey(2)], Some(OWN));
    assert_eq!(first(&fleet, &slice(4)), Some(vec![2]));
    fleet.update(NodeKey(1), |node| (node.slots[0].held_by, node.slots[0].condition) = (None, Condition::Clean));
    assert_eq!(first(&fleet, &slice(4)), Some(vec![1]), "one less is in the way");
}
