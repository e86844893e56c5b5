//! What could be once others have left: whether a request would fit an empty fleet,
//! and where it would fit soonest. Looks at every node, so it runs when a request was
//! refused, never on the way of one that fits.

use crate::ask::Ask;
use crate::fleet::Fleet;
use crate::groups::SlotClass;
use crate::judge::admitted;
use crate::key::{AllocationKey, Name, NodeKey};
use crate::node::{Condition, Health, Node, Slot, State, Unavailable};
use crate::plan::{may_serve, suits};
use crate::resources::HostResources;
use std::collections::BTreeMap;

/// When what holds a slot ends, in whatever unit the caller counts; none: nobody knows.
pub type Ends<'a> = &'a dyn Fn(AllocationKey) -> Option<i64>;

/// How long a node makes a request wait: less is sooner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wait {
    /// When the last of those in the way ends; later than all when nobody knows.
    until: i64,
    /// How many slots have to be left.
    slots: u32,
    /// A place that was chosen before is kept unless another is better.
    is_new: bool,
    node: NodeKey,
}

/// Nodes that a gang may take together: of one region and class, and of one fabric
/// domain where that is required.
type Team = (Name, Option<SlotClass>, Option<Name>);

/// Whether it would run if nothing else were on the nodes in service. What it has to
/// keep away from would not be there either.
pub fn could_run(fleet: &Fleet, ask: &Ask) -> bool {
    let mut teams: BTreeMap<Team, u32> = BTreeMap::new();
    fleet.nodes().any(|node| {
        waits(node, ask, &|_| None).any(|(class, _)| {
            let Some(team) = team(node, class, ask) else { return false };
            let members = teams.entry(team).or_default();
            *members += 1;
            *members >= ask.nodes
        })
    })
}

/// The nodes where it would fit soonest if nothing new were placed there; none when
/// they would not do even empty, or are kept for others.
pub fn soonest(fleet: &Fleet, ask: &Ask, own: AllocationKey, ends: Ends<'_>) -> Option<Vec<NodeKey>> {
    let mut teams: BTreeMap<Team, Vec<Wait>> = BTreeMap::new();
    let is_ours = |node: &&Node| node.kept_for.is_none_or(|it| it == own);
    for node in fleet.nodes().filter(is_ours).filter(|node| !ask.anti_affinity.contains(&node.key)) {
        for (class, mut wait) in waits(node, ask, ends) {
            wait.is_new = node.kept_for.is_none();
            if let Some(team) = team(node, class, ask) {
                teams.entry(team).or_default().push(wait);
            }
        }
    }
    let wanted = ask.nodes as usize;
    let enough = teams.into_values().filter(|team| wanted > 0 && team.len() >= wanted);
    let best = enough.map(|mut team| {
        team.sort_unstable();
        team.truncate(wanted);
        team
    });
    // A gang runs when the last of its nodes has room.
    let best = best.min_by_key(|team| team.last().copied())?;
    Some(best.into_iter().map(|wait| wait.node).collect())
}

fn team(node: &Node, class: Option<SlotClass>, ask: &Ask) -> Option<Team> {
    let domain = if ask.needs_one_domain() { Some(node.fabric_domain.clone()?) } else { None };
    Some((node.region.clone(), class, domain))
}

/// For each class of slots that would do, how long the node makes it wait.
fn waits(node: &Node, ask: &Ask, ends: Ends<'_>) -> impl Iterator<Item = (Option<SlotClass>, Wait)> {
    let found = if is_in_service(node) && is_in_place(node, ask) { admitted(node, ask) } else { Vec::new() };
    found.into_iter().filter_map(move |class| {
        let (mut until, slots) = wait(node, ask, class.as_ref(), ends)?;
        if node.state == State::Unavailable(Unavailable::Unattested) {
            // Nobody knows when a person comes.
            until = i64::MAX;
        }
        Some((class, Wait { until, slots, is_new: false, node: node.key }))
    })
}

/// Ready, or about to be as a matter of course: by itself, or when a person attests that
/// it was wiped.
fn is_in_service(node: &Node) -> bool {
    match node.state {
        State::Ready => node.health == Health::Ok,
        State::Unavailable(state) => {
            matches!(state, Unavailable::Sanitizing | Unavailable::Unattested)
        }
    }
}

fn is_in_place(node: &Node, ask: &Ask) -> bool {
    ask.region.as_ref().is_none_or(|region| *region == node.region)
        && (ask.pools.is_empty() || ask.pools.contains(&node.pool))
        && ask.tags.iter().all(|tag| node.tags.contains(tag))
}

/// When enough slots of the class and enough of the host are left, and how many have to
/// be; none when the node would not do even empty.
fn wait(node: &Node, ask: &Ask, class: Option<&SlotClass>, ends: Ends<'_>) -> Option<(i64, u32)> {
    let slots = class.map_or(Some((i64::MIN, 0)), |class| wait_for_slots(node, ask, class, ends))?;
    let host = wait_for_host(node, ask, ends)?;
    if may_serve(node, ask) {
        return Some((slots.0.max(host.0), slots.1.saturating_add(host.1)));
    }
    // A node that serves somebody else is wiped before, and for that everybody has to leave.
    let holders = node.slots.iter().map(|slot| slot.held_by).chain(node.usage.keys().map(|user| Some(*user)));
    let holders = holders.map(|holder| holder.map(|holder| ends(holder).unwrap_or(i64::MAX)));
    Some(taken(holders, usize::MAX))
}

fn wait_for_slots(node: &Node, ask: &Ask, class: &SlotClass, ends: Ends<'_>) -> Option<(i64, u32)> {
    let asked = ask.slots_per_node();
    let wanted = if ask.is_baremetal() { node.slots.len() } else { usize::try_from(asked).ok()? };
    let is_other_size = asked != 0 && u32::try_from(wanted) != Ok(asked);
    if wanted == 0 || (ask.is_baremetal() && is_other_size) {
        return None;
    }
    let until = |slot: &Slot| slot.held_by.map(|holder| ends(holder).unwrap_or(i64::MAX));
    let own = groups(node, ask, class).into_iter().filter(|group| group.len() >= wanted);
    own.map(|group| taken(group.into_iter().map(until), wanted)).min()
}

/// When those who use the host leave enough of it, the soonest first. Bare metal waits
/// for all of them.
fn wait_for_host(node: &Node, ask: &Ask, ends: Ends<'_>) -> Option<(i64, u32)> {
    let needs = &ask.needs.host;
    if node.host.lacks(needs).is_some() {
        return None;
    }
    let mut users: Vec<(i64, AllocationKey)> =
        node.usage.keys().map(|user| (ends(*user).unwrap_or(i64::MAX), *user)).collect();
    users.sort_unstable();
    let mut stays = node.usage.clone();
    let (mut until, mut left) = (i64::MIN, 0);
    for (end, user) in users {
        let used = stays.values().fold(HostResources::default(), |sum, usage| sum.and(usage));
        let is_enough = !ask.is_baremetal() && node.host.without(&used).lacks(needs).is_none();
        if is_enough {
            break;
        }
        stays.remove(&user);
        (until, left) = (end, left + 1);
    }
    Some((until, left))
}

/// Of these slots, the `wanted` that are left first: when the last is, and how many are held.
fn taken(slots: impl Iterator<Item = Option<i64>>, wanted: usize) -> (i64, u32) {
    // A slot that nobody holds sorts first.
    let mut ends: Vec<Option<i64>> = slots.collect();
    ends.sort_unstable();
    ends.truncate(wanted);
    let held = ends.iter().flatten().count();
    (ends.last().copied().flatten().unwrap_or(i64::MIN), u32::try_from(held).unwrap_or(u32::MAX))
}

/// The slots that could be given out together if they were free: those of one NUMA
/// node where the request is bound to one.
fn groups<'a>(node: &'a Node, ask: &Ask, class: &SlotClass) -> Vec<Vec<&'a Slot>> {
    let works = |slot: &&Slot| matches!(slot.condition, Condition::Clean | Condition::Dirty);
    let usable = node.slots.iter().filter(|slot| class.holds(slot) && suits(slot, ask)).filter(works);
    let has_topology = node.slots.iter().any(|slot| slot.numa.is_some());
    if !ask.sku.numa_bound || !has_topology {
        return vec![usable.collect()];
    }
    let mut groups: BTreeMap<u32, Vec<&Slot>> = BTreeMap::new();
    let mut alone = Vec::new();
    for slot in usable {
        match slot.numa {
            Some(numa) => groups.entry(numa).or_default().push(slot),
            None => alone.push(vec![slot]),
        }
    }
    groups.into_values().chain(alone).collect()
}
