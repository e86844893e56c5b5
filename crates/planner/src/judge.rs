//! One node against one request, without the index: which classes of slots it could
//! give, or the first rule that it breaks. Slower than the index, and more talkative.

use crate::ask::Ask;
use crate::gang;
use crate::groups::{SlotClass, classes, free_groups};
use crate::key::Name;
use crate::node::{Health, Node, State, Unavailable};
use crate::plan::{may_serve, suits};
use crate::reason::{Occupancy, Reason};
use crate::resources::Resource;
use std::collections::BTreeMap;

const UNATTESTED: State = State::Unavailable(Unavailable::Unattested);

/// The classes of which a part fits, or why none does. A request without slots has one,
/// which is none.
pub fn judge(node: &Node, ask: &Ask) -> Result<Vec<Option<SlotClass>>, Reason> {
    check_place(node, ask)?;
    check_condition(node)?;
    let admitted = admitted(node, ask);
    if admitted.is_empty() {
        return Err(Reason::OtherModel);
    }
    if node.state == UNATTESTED {
        return Err(Reason::Unavailable(Unavailable::Unattested));
    }
    if !may_serve(node, ask) {
        return Err(Reason::ServesAnother);
    }
    let judged = admitted.into_iter().map(|class| check_room(node, ask, class.as_ref()).map(|()| class));
    let (fitting, broken): (Vec<_>, Vec<_>) = judged.partition(Result::is_ok);
    let closest = broken.into_iter().filter_map(Result::err).max_by_key(Reason::rule);
    match closest {
        Some(reason) if fitting.is_empty() => Err(reason),
        _ if node.kept_for.is_some() => Err(Reason::KeptFree),
        _ => Ok(fitting.into_iter().filter_map(Result::ok).collect()),
    }
}

/// The classes of the node that would do if they were free.
pub fn admitted(node: &Node, ask: &Ask) -> Vec<Option<SlotClass>> {
    if !ask.has_slots() {
        return vec![None];
    }
    classes(node).into_iter().filter(|class| ask.admits(class)).map(Some).collect()
}

/// How many nodes of one region could hold a part of one class, by fabric domain.
pub type Team = BTreeMap<Option<Name>, u32>;

/// Teams of nodes that fit; a gang takes one team.
#[derive(Clone, Debug, Default)]
pub struct Teams {
    teams: BTreeMap<(Name, Option<SlotClass>), Team>,
}

impl Teams {
    pub fn add(&mut self, node: &Node, fitting: Vec<Option<SlotClass>>) {
        for class in fitting {
            let team = self.teams.entry((node.region.clone(), class)).or_default();
            *team.entry(node.fabric_domain.clone()).or_default() += 1;
        }
    }

    /// The teams if one more node would do.
    pub fn with(&self, node: &Node, fitting: Vec<Option<SlotClass>>) -> Self {
        let mut more = self.clone();
        more.add(node, fitting);
        more
    }

    pub fn is_enough(&self, ask: &Ask) -> bool {
        self.teams.values().any(|team| gang::is_enough(team, ask))
    }

    /// The team of a node that does best in all; and in the node's own domain.
    pub fn largest(&self, node: &Node, fitting: &[Option<SlotClass>]) -> (u32, u32) {
        let own = fitting.iter().filter_map(|class| self.teams.get(&(node.region.clone(), class.clone())));
        own.fold((0, 0), |(all, domain), team| {
            let here = team.get(&node.fabric_domain).copied().unwrap_or(0);
            (all.max(team.values().sum()), domain.max(here))
        })
    }
}

/// Whether the request would run on these nodes.
pub fn would_run<'a>(nodes: impl Iterator<Item = &'a Node>, ask: &Ask) -> bool {
    let mut teams = Teams::default();
    for node in nodes {
        if let Ok(fitting) = judge(node, ask) {
            teams.add(node, fitting);
            if !ask.is_gang() {
                return true;
            }
        }
    }
    teams.is_enough(ask)
}

fn check_place(node: &Node, ask: &Ask) -> Result<(), Reason> {
    if ask.region.as_ref().is_some_and(|region| *region != node.region) {
        return Err(Reason::OtherRegion { region: node.region.clone() });
    }
    if !ask.pools.is_empty() && !ask.pools.contains(&node.pool) {
        return Err(Reason::OtherPool { pool: node.pool.clone() });
    }
    if let Some(tag) = ask.tags.iter().find(|tag| !node.tags.contains(*tag)) {
        return Err(Reason::MissingTag { tag: tag.clone() });
    }
    if ask.anti_affinity.contains(&node.key) { Err(Reason::Avoided) } else { Ok(()) }
}

fn check_condition(node: &Node) -> Result<(), Reason> {
    match (&node.state, &node.health) {
        // Nobody hears of it until it was installed anew. It is judged further, so that
        // nobody is asked to attest a node that would not do.
        (&UNATTESTED, _) => Ok(()),
        (State::Unavailable(state), _) => Err(Reason::Unavailable(*state)),
        (State::Ready, Health::Bad(detail)) => Err(Reason::Unhealthy { detail: detail.clone() }),
        (State::Ready, Health::Ok) => Ok(()),
    }
}

fn check_room(node: &Node, ask: &Ask, class: Option<&SlotClass>) -> Result<(), Reason> {
    if let Some(class) = class {
        check_slots(node, ask, class)?;
    }
    check_host(node, ask)
}

fn check_slots(node: &Node, ask: &Ask, class: &SlotClass) -> Result<(), Reason> {
    let resource = || class.resource();
    let has = count(node.slots.iter().filter(|slot| class.holds(slot)));
    let wanted = if ask.is_baremetal() { check_whole(node, ask, has)? } else { ask.slots_per_node() };
    if has < wanted {
        return Err(Reason::TooSmall { resource: resource(), has: has.into(), wanted: wanted.into() });
    }
    let occupancy = Occupancy::of(node, |slot| class.holds(slot));
    if occupancy.free < wanted {
        return Err(Reason::NotFree { resource: resource(), wanted, occupancy });
    }
    let largest = most(node, ask, class, false);
    if largest < wanted {
        return Err(Reason::NumaSplit { largest, wanted });
    }
    let beside = most(node, ask, class, true);
    if beside < wanted { Err(Reason::NoFabricDevice { beside, wanted }) } else { Ok(()) }
}

/// Whether what allocations share of the host is enough, as a whole and now.
fn check_host(node: &Node, ask: &Ask) -> Result<(), Reason> {
    let needs = &ask.needs.host;
    if let Some(short) = node.host.lacks(needs) {
        let (has, wanted) = (node.host.of(short), needs.of(short));
        return Err(Reason::TooSmall { resource: Resource::Host(short), has, wanted });
    }
    if ask.is_baremetal() && !node.usage.is_empty() {
        return Err(Reason::Shared { allocations: count(node.usage.iter()) });
    }
    let free = node.free_host();
    match free.lacks(needs) {
        Some(resource) => Err(Reason::InUse {
            resource,
            free: free.of(resource),
            has: node.host.of(resource),
            wanted: needs.of(resource),
        }),
        None => Ok(()),
    }
}

/// Bare metal wants nothing but such slots, of the size asked for.
fn check_whole(node: &Node, ask: &Ask, has: u32) -> Result<u32, Reason> {
    let all = count(node.slots.iter());
    if has != all {
        return Err(Reason::OtherModel);
    }
    let wanted = if ask.needs.gpus == 0 { all } else { ask.needs.gpus };
    if wanted == all { Ok(all) } else { Err(Reason::OtherSize { has, wanted }) }
}

/// The most free slots that a part could take: of one NUMA node where it is bound.
fn most(node: &Node, ask: &Ask, class: &SlotClass, minds_fabric: bool) -> u32 {
    let groups = free_groups(node, class, |slot| !minds_fabric || suits(slot, ask));
    let mut sizes = groups.iter().map(|group| count(group.slots.iter()));
    if ask.sku.numa_bound { sizes.max().unwrap_or(0) } else { sizes.by_ref().sum() }
}

fn count<T>(things: impl Iterator<Item = T>) -> u32 {
    u32::try_from(things.count()).unwrap_or(u32::MAX)
}
