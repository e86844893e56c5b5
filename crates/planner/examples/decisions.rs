//! Measures decisions over a fleet of 10,000 nodes of eight slots: a stream of requests
//! and releases at about four fifths of the capacity; and, as it then is, the search for
//! nodes to keep free. Prints one JSON object.
//!
//! ```sh
//! cargo run --release -p planner --example decisions
//! ```

use planner::{
    AllocationKey, Ask, Fleet, Node, NodeKey, OrganizationKey, Placement, SameFabric, Shape, SkuShape, Slot, SlotKey,
    could_run, explain, plan, soonest,
};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

const NODES: u128 = 10_000;
const SLOTS: u128 = 8;
const WARM_UP: usize = 20_000;
const DECISIONS: usize = 100_000;
const EXPLANATIONS: usize = 20;
const SEARCHES: usize = 2_000;
/// Where the stream starts to release as fast as it places.
const FULL: usize = (NODES * SLOTS * 8 / 10) as usize;

/// What is placed, oldest first, and how many slots it holds.
#[derive(Default)]
struct HeldPlacements {
    placements: VecDeque<(AllocationKey, Placement)>,
    slots: usize,
}

fn main() {
    let mut fleet: Fleet = (0..NODES).map(node).collect();
    let mut random = 7;
    let mut held = HeldPlacements::default();
    let mut times = Vec::with_capacity(DECISIONS);
    let (mut began, mut placed) = (Instant::now(), 0);
    for turn in 0..WARM_UP + DECISIONS {
        if turn == WARM_UP {
            (began, placed) = (Instant::now(), 0);
        }
        let ask = ask(&mut random);
        let start = Instant::now();
        let decision = plan(&fleet, &ask);
        if turn >= WARM_UP {
            times.push(start.elapsed());
        }
        if let Ok(placement) = decision {
            placed += 1;
            take(&mut fleet, &mut held, placement, &ask, AllocationKey(turn as u128));
        }
        while held.slots > FULL {
            give_back(&mut fleet, &mut held);
        }
    }
    let took = began.elapsed();
    let searches = searches(&fleet, &mut random);
    report(took, times, searches, placed, explanation_ms(&fleet));
}

/// Three in four hosts are without VM isolation; 32 share a fabric domain.
fn node(key: u128) -> Node {
    let region = ["north", "south", "east", "west"][(key % 4) as usize];
    let mut node =
        Node::new(NodeKey(key), format!("node-{key}"), region, ["default", "spare"][usize::from(key % 40 < 4)]);
    node.fabric_domain = Some(format!("{region}-{}", key / 128).into());
    node.isolates_vms = key.is_multiple_of(3);
    let model = if key.is_multiple_of(5) { "H100" } else { "H200" };
    let slot = |at| Slot {
        fabric: Some(format!("nic-{}", at / 2).into()),
        ..Slot::gpu(SlotKey(key * SLOTS + at), model).on_numa((at / 4) as u32)
    };
    node.slots = (0..SLOTS).map(slot).collect();
    node
}

fn ask(random: &mut u64) -> Ask {
    let organization = OrganizationKey((next(random) % 200).into());
    let is_baremetal = next(random) % 100 < 5;
    let shape = if is_baremetal { Shape::Baremetal } else { Shape::GpuSlice };
    let gpus = if is_baremetal { 8 } else { [1, 1, 1, 2, 2, 4, 4, 8][(next(random) % 8) as usize] };
    let model = if next(random) % 100 < 20 { "H100" } else { "H200" };
    let mut ask = Ask::new(organization, SkuShape::new(shape).of_model(model), gpus);
    ask.sku.numa_bound = !is_baremetal && gpus <= 4 && next(random) % 100 < 40;
    ask.colocate_fabric = next(random) % 100 < 10;
    if next(random) % 100 < 80 {
        ask.region = Some(["north", "south", "east", "west"][(next(random) % 4) as usize].into());
    }
    if next(random) % 100 < 5 {
        ask.nodes = 2 + (next(random) % 7) as u32;
        ask.same_fabric = [SameFabric::Preferred, SameFabric::Required][(next(random) % 2) as usize];
    }
    ask
}

fn take(fleet: &mut Fleet, held: &mut HeldPlacements, placement: Placement, ask: &Ask, key: AllocationKey) {
    fleet.reserve(&placement, ask, key);
    held.slots += size(&placement);
    held.placements.push_back((key, placement));
}

/// The oldest gives its slots back clean; a node that is left empty is sanitized.
fn give_back(fleet: &mut Fleet, held: &mut HeldPlacements) {
    let Some((key, placement)) = held.placements.pop_front() else {
        return;
    };
    held.slots -= size(&placement);
    for part in &placement.parts {
        fleet.update(part.node, |node| {
            node.release(key);
            if node.is_idle() {
                node.serves = None;
            }
        });
    }
}

fn size(placement: &Placement) -> usize {
    placement.parts.iter().map(|part| part.slots.len()).sum()
}

/// How long it takes to find out whether a request could run at all and which nodes to
/// keep free for it, as when it waited longest. Half of what is held has a lease.
fn searches(fleet: &Fleet, random: &mut u64) -> Vec<Duration> {
    let ends = |holder: AllocationKey| holder.0.is_multiple_of(2).then_some((holder.0 % 10_007) as i64);
    let own = AllocationKey(u128::MAX);
    let search = |_| {
        let ask = ask(random);
        let start = Instant::now();
        let found = could_run(fleet, &ask).then(|| soonest(fleet, &ask, own, &ends));
        std::hint::black_box(found);
        start.elapsed()
    };
    (0..SEARCHES).map(search).collect()
}

/// How long the long answer takes, at worst, for something that no node has.
fn explanation_ms(fleet: &Fleet) -> f64 {
    let mut gang = Ask::new(OrganizationKey(1), SkuShape::new(Shape::GpuSlice).of_model("H200"), 9);
    gang.nodes = 4;
    let slowest = (0..EXPLANATIONS).map(|_| {
        let start = Instant::now();
        assert!(explain(fleet, &gang).is_err(), "no node has nine");
        start.elapsed()
    });
    slowest.max().unwrap_or_default().as_secs_f64() * 1_000.0
}

fn report(took: Duration, mut times: Vec<Duration>, mut searches: Vec<Duration>, placed: usize, explanation_ms: f64) {
    times.sort_unstable();
    searches.sort_unstable();
    let of = |sorted: &[Duration], share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
    let at = |share: f64| of(&times, share);
    let (deciding, searching): (Duration, Duration) = (times.iter().sum(), searches.iter().sum());
    println!(
        "{{\"decisions_per_second\": {:.0}, \"with_changes_per_second\": {:.0}, \"p50_us\": {:.1}, \"p99_us\": {:.1}, \
         \"p999_us\": {:.1}, \"max_us\": {:.1}, \"placed\": {placed}, \"decisions\": {}, \"explain_ms\": {explanation_ms:.1}, \
         \"searches_per_second\": {:.0}, \"search_p50_us\": {:.1}, \"search_p999_us\": {:.1}, \"searches\": {}, \
         \"nodes\": {NODES}, \"slots\": {}}}",
        times.len() as f64 / deciding.as_secs_f64(),
        times.len() as f64 / took.as_secs_f64(),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
        times.len(),
        searches.len() as f64 / searching.as_secs_f64(),
        of(&searches, 0.5),
        of(&searches, 0.999),
        searches.len(),
        NODES * SLOTS,
    );
}

/// Splitmix64, so that every run decides the same.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
