//! A stream of requests and releases, played by a planner against its own fleet.

use super::{Random, node};
use planner::{AllocationKey, Ask, Fleet, NodeKey, OrganizationKey, Placement, SameFabric, Shape, SkuShape};
use std::collections::BTreeMap;

pub enum Step {
    Place(Box<Ask>),
    /// The request made at that step gives back what it got.
    Release(usize),
}

/// Hosts of four or eight GPUs in fabric domains of eight, some with VM isolation. Large
/// against the largest request: where one gang is a tenth of a fleet, whether it came at
/// a good moment would decide the count, and not how well the rest was packed.
pub fn fleet(random: &mut Random) -> Fleet {
    let nodes = 64 + random.below(65);
    let shared = random.pick(&[0, 50, 100]);
    let small = random.pick(&[0, 0, 30]);
    let build = |key: u64| {
        let gpus = if random.percent(small) { 4 } else { 8 };
        let mut node = node(key.into(), gpus);
        node.isolates_vms = random.percent(shared);
        node.fabric_domain = Some(format!("domain-{}", key / 8).into());
        node
    };
    (0..nodes).map(build).collect()
}

/// Requests for somewhat less, or up to thrice, what the fleet has, with releases between.
pub fn steps(random: &mut Random, fleet: &Fleet) -> Vec<Step> {
    let gpus: usize = fleet.nodes().map(|node| node.slots.len()).sum();
    let demand = gpus as u64 * (80 + random.below(220)) / 100;
    let organizations = 2 + random.below(6);
    let releases = random.pick(&[0, 20, 40]);
    let (mut steps, mut asked) = (Vec::new(), 0);
    while asked < demand {
        if !steps.is_empty() && random.percent(releases) {
            steps.push(Step::Release(random.below(steps.len() as u64) as usize));
            continue;
        }
        let ask = ask(random, organizations);
        asked += u64::from(ask.slots_per_node()) * u64::from(ask.nodes);
        steps.push(Step::Place(Box::new(ask)));
    }
    steps
}

fn ask(random: &mut Random, organizations: u64) -> Ask {
    let organization = OrganizationKey(random.below(organizations).into());
    let (shape, gpus) = match random.below(10) {
        0 => (Shape::Baremetal, 8),
        _ => (Shape::GpuSlice, random.pick(&[1, 1, 1, 2, 2, 3, 4, 4, 8])),
    };
    let is_baremetal = shape == Shape::Baremetal;
    let mut ask = Ask::new(organization, SkuShape::new(shape), gpus);
    ask.sku.numa_bound = !is_baremetal && gpus <= 4 && random.percent(40);
    ask.nodes = if random.percent(10) { 2 + random.below(2) as u32 } else { 1 };
    ask.same_fabric = random.pick(&[SameFabric::Any, SameFabric::Preferred, SameFabric::Required]);
    ask
}

/// How many GPUs were placed over the whole stream.
pub fn play(fleet: &Fleet, steps: &[Step], decide: impl Fn(&Fleet, &Ask) -> Option<Placement>) -> u64 {
    let mut fleet = fleet.clone();
    let mut placements: BTreeMap<usize, Placement> = BTreeMap::new();
    let mut placed = 0;
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Place(ask) => {
                let Some(placement) = decide(&fleet, ask) else {
                    continue;
                };
                placed += placement.parts.iter().map(|part| part.slots.len() as u64).sum::<u64>();
                fleet.reserve(&placement, ask, AllocationKey(at as u128));
                placements.insert(at, placement);
            }
            Step::Release(of) => {
                let parts = placements.remove(of).map(|placement| placement.parts).unwrap_or_default();
                parts.iter().for_each(|part| release(&mut fleet, part.node, AllocationKey(*of as u128)));
            }
        }
    }
    placed
}

/// Gives the slots back clean, and sanitizes a node that is left empty.
pub fn release(fleet: &mut Fleet, node: NodeKey, allocation: AllocationKey) {
    fleet.update(node, |node| {
        node.release(allocation);
        if node.is_idle() {
            node.serves = None;
        }
    });
}
