//! What holds for every fleet and every request.

use crate::support::first_fit::first_fit;
use crate::support::{Random, any_ask, any_fleet, any_node, slice, soundness};
use planner::{AllocationKey, Ask, Audience, Denial, Fleet, HostResources, NodeKey, Resources, Rule, explain, plan};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// As a controller of a cluster needs.
const HOST_ONLY: Resources = Resources {
    gpus: 0,
    mig: BTreeMap::new(),
    host: HostResources { cpus: 2, memory_bytes: 4 << 30, disk_bytes: 1 << 40, ports: 1 },
};

/// A seed, and how many nodes: failures shrink to few.
fn world() -> impl Strategy<Value = (u64, usize)> {
    (any::<u64>(), 0..14usize)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_placement_breaks_no_rule_and_is_found_whenever_there_is_one((seed, nodes) in world()) {
        let mut random = Random(seed);
        let fleet = any_fleet(&mut random, nodes);
        let ask = any_ask(&mut random);
        let planned = plan(&fleet, &ask);
        if let Ok(placement) = &planned {
            soundness::check(&fleet, &ask, placement);
        }
        prop_assert_eq!(planned.is_ok(), first_fit(&fleet, &ask).is_some(), "{:?}", ask);
    }

    #[test]
    fn a_stream_never_takes_a_slot_twice_nor_more_than_a_host_has((seed, nodes) in world()) {
        let mut random = Random(seed);
        let mut fleet = any_fleet(&mut random, nodes);
        for turn in 0..40 {
            let ask = any_ask(&mut random);
            if let Ok(placement) = plan(&fleet, &ask) {
                soundness::check(&fleet, &ask, &placement);
                fleet.reserve(&placement, &ask, AllocationKey(1_000 + turn));
            }
        }
        for node in fleet.nodes() {
            let (has, used) = (node.capacity(), node.used());
            prop_assert!(used.gpus <= has.gpus, "{}", node.name);
            prop_assert!(used.mig.iter().all(|(profile, count)| *count <= has.mig[profile]), "{}", node.name);
            prop_assert_eq!(has.host.lacks(&used.host), None, "{}", node.name);
        }
    }

    #[test]
    fn reservation_and_release_leave_the_fleet_as_it_was((seed, nodes) in world()) {
        let mut random = Random(seed);
        let mut fleet = any_fleet(&mut random, nodes);
        let before = fleet.clone();
        let ask = any_ask(&mut random);
        if let Ok(placement) = plan(&fleet, &ask) {
            fleet.reserve(&placement, &ask, AllocationKey(1_000));
            let reserved = placement.parts.iter().map(|part| fleet.get(part.node).unwrap().free_host());
            let left = placement.parts.iter().map(|part| before.get(part.node).unwrap().free_host());
            let takes = ask.needs.host;
            prop_assert!(reserved.zip(left).all(|(now, then)| then.without(&takes).lacks(&now).is_none()));
            for part in &placement.parts {
                let serves = before.get(part.node).unwrap().serves;
                fleet.update(part.node, |node| {
                    node.release(AllocationKey(1_000));
                    node.serves = serves;
                });
            }
        }
        prop_assert!(fleet == before);
    }

    #[test]
    fn request_without_gpus_is_placed_wherever_a_host_has_room((seed, nodes) in world()) {
        let mut random = Random(seed);
        let mut fleet = any_fleet(&mut random, nodes);
        let ask = Ask { needs: HOST_ONLY, nodes: 1 + random.below(3) as u32, ..slice(1) };
        for turn in 0..30 {
            let planned = plan(&fleet, &ask);
            prop_assert_eq!(planned.is_ok(), first_fit(&fleet, &ask).is_some());
            let Ok(placement) = planned else { break };
            prop_assert_eq!(placement.parts.len(), ask.nodes as usize, "all of the gang or none");
            prop_assert!(placement.parts.iter().all(|part| part.slots.is_empty()));
            soundness::check(&fleet, &ask, &placement);
            fleet.reserve(&placement, &ask, AllocationKey(1_000 + turn));
        }
    }

    #[test]
    fn the_same_fleet_decides_the_same_however_it_came_about((seed, nodes) in world()) {
        let mut random = Random(seed);
        let fleet = any_fleet(&mut random, nodes);
        let mut reversed: Vec<_> = fleet.nodes().cloned().collect();
        reversed.reverse();
        let reversed: Fleet = reversed.into_iter().collect();
        for _ in 0..10 {
            let ask = any_ask(&mut random);
            prop_assert_eq!(plan(&fleet, &ask), plan(&reversed, &ask));
        }
    }

    #[test]
    fn a_fleet_that_changed_equals_one_that_is_built_again((seed, nodes) in world()) {
        let mut random = Random(seed);
        let mut fleet = any_fleet(&mut random, nodes);
        for turn in 0..60u128 {
            let key = random.below(nodes as u64 + 2).into();
            match random.below(4) {
                0 => drop(fleet.remove(NodeKey(key))),
                1 => drop(fleet.upsert(any_node(&mut random, key))),
                2 => {
                    let changed = any_node(&mut random, key);
                    fleet.update(NodeKey(key), |node| *node = changed);
                }
                _ => {
                    let ask = any_ask(&mut random);
                    if let Ok(placement) = plan(&fleet, &ask) {
                        fleet.reserve(&placement, &ask, AllocationKey(turn));
                    }
                }
            }
            let rebuilt: Fleet = fleet.nodes().cloned().collect();
            prop_assert!(fleet == rebuilt, "after turn {}", turn);
        }
    }

    #[test]
    fn an_explanation_names_every_node_and_a_change_that_works((seed, nodes) in world()) {
        let mut random = Random(seed);
        let fleet = any_fleet(&mut random, nodes);
        let ask = any_ask(&mut random);
        let explained = explain(&fleet, &ask);
        prop_assert_eq!(explained.is_ok(), plan(&fleet, &ask).is_ok());
        let Err(explanation) = explained else {
            return Ok(());
        };
        let is_nonsense = matches!(plan(&fleet, &ask), Err(Denial::Invalid(_)));
        prop_assert_eq!(is_nonsense, matches!(explanation.rule, Rule::Valid(_)));
        if !is_nonsense {
            prop_assert!(ask.nodes > 1 || explanation.rule < Rule::Gang, "judged by itself, a node fits");
            prop_assert_eq!(explanation.counts.values().sum::<u32>() as usize, nodes);
            prop_assert_eq!(explanation.rejected.len(), nodes);
        }
        let changes = std::iter::once(&explanation.smallest_change).chain(&explanation.other_changes);
        for change in changes {
            let changed = change.apply(&ask);
            prop_assert!(is_nonsense || changed.is_some() == (change.audience() == Audience::Requester));
            prop_assert!(changed.is_none_or(|changed| plan(&fleet, &changed).is_ok()), "{}", change);
        }
    }
}
