//! Finds the changes that would do, by trying each: a changed request through `plan`,
//! a changed fleet by judging its nodes as they would be.

use super::change::Change;
use crate::ask::Ask;
use crate::fleet::Fleet;
use crate::groups::SlotClass;
use crate::judge::{Teams, judge, would_run};
use crate::key::Name;
use crate::node::{Condition, Health, Node, State, Unavailable};
use crate::plan::{Denial, may_serve, plan};
use crate::resources::HostResource;
use std::collections::BTreeSet;

// bound: each amount is tried with a decision over the whole fleet
const MAX_AMOUNTS: usize = 8;

/// Every change that alone would do, the smallest first: what comes by itself, what
/// costs the requester a preference, what costs more, and what operators can do.
pub fn changes(fleet: &Fleet, ask: &Ask, denial: Denial, teams: &Teams) -> Vec<Change> {
    let mut found: Vec<Change> = Vec::new();
    found.extend(wait_for_cleaning(fleet, ask));
    let works = |change: &Change| change.apply(ask).is_some_and(|changed| plan(fleet, &changed).is_ok());
    let dropped = [
        Change::AllowOtherDomains,
        Change::DropNumaBound,
        Change::DropFabricDevices,
        Change::DropAntiAffinity,
        Change::DropTags,
    ];
    found.extend(dropped.into_iter().filter(works));
    let mut pools = names(fleet, |node| &node.pool).into_iter().map(|pool| Change::OtherPool { pool });
    let mut regions = names(fleet, |node| &node.region).into_iter().map(|region| Change::OtherRegion { region });
    if !ask.pools.is_empty() {
        found.extend(pools.find(works));
    }
    if ask.region.is_some() {
        found.extend(regions.find(works));
    }
    found.extend(counts(fleet, ask).into_iter().find(works));
    found.extend(less_of_host(fleet, ask).into_iter().find(works));
    found.extend(fewer_nodes(ask, denial).filter(works));
    found.extend(attest(fleet, ask, denial));
    found.extend(make_ready(fleet, ask, teams));
    found.extend(sanitize(fleet, ask, teams));
    found.extend(repair(fleet, ask, teams));
    found.extend(wait_for_release(fleet, ask));
    found.extend(wait_for_turn(fleet, ask));
    found
}

/// What is left when nothing else would do.
pub fn more_nodes(ask: &Ask, denial: Denial) -> Change {
    Change::AddNodes { nodes: missing(ask, denial), needs: ask.needs.clone(), model: ask.sku.model.clone() }
}

/// How many nodes more it takes.
fn missing(ask: &Ask, denial: Denial) -> u32 {
    let fitting = match denial {
        Denial::Gang { fitting, .. } | Denial::SameFabric { fitting, .. } => fitting,
        Denial::NoRoom | Denial::Invalid(_) => 0,
    };
    ask.nodes.saturating_sub(fitting).max(1)
}

fn names(fleet: &Fleet, name: impl Fn(&Node) -> &Name) -> BTreeSet<Name> {
    fleet.nodes().map(|node| name(node).clone()).collect()
}

/// Other counts of GPUs, the least different first. Slices only shrink; a whole node
/// may as well be larger.
fn counts(fleet: &Fleet, ask: &Ask) -> Vec<Change> {
    let from = ask.slots_per_node();
    let sizes: BTreeSet<u32> = fleet.nodes().filter_map(|node| u32::try_from(node.slots.len()).ok()).collect();
    let largest = sizes.last().copied().unwrap_or(0).min(from);
    let mut counts: Vec<u32> = match (ask.is_baremetal(), ask.allowed_gpus.is_empty()) {
        (true, _) if from == 0 => Vec::new(),
        (true, true) => sizes.into_iter().collect(),
        (true, false) => ask.allowed_gpus.clone(),
        (false, true) => (1..=largest).collect(),
        (false, false) => ask.allowed_gpus.iter().copied().filter(|count| *count < from).collect(),
    };
    counts.retain(|count| *count > 0 && *count != from);
    counts.sort_by_key(|count| (count.abs_diff(from), *count));
    counts.into_iter().map(|to| Change::OtherGpus { from, to }).collect()
}

/// Less of one shared resource: what nodes have left of it, the most first.
fn less_of_host(fleet: &Fleet, ask: &Ask) -> Vec<Change> {
    let mut changes = Vec::new();
    for resource in HostResource::ALL.iter().copied() {
        let from = ask.needs.host.of(resource);
        let free = fleet.nodes().map(|node| node.free_host().of(resource));
        let fewer: BTreeSet<u64> = free.filter(|amount| *amount > 0 && *amount < from).collect();
        let most = fewer.into_iter().rev().take(MAX_AMOUNTS);
        changes.extend(most.map(|to| Change::LessOf { resource, from, to }));
    }
    changes
}

fn fewer_nodes(ask: &Ask, denial: Denial) -> impl Iterator<Item = Change> {
    let to = match denial {
        Denial::Gang { fitting, .. } => Some(fitting),
        // No domain at all: one node needs none.
        Denial::SameFabric { fitting, .. } => Some(fitting.max(1)),
        Denial::NoRoom | Denial::Invalid(_) => None,
    };
    to.map(|to| Change::FewerNodes { from: ask.nodes, to }).into_iter()
}

fn wait_for_cleaning(fleet: &Fleet, ask: &Ask) -> Option<Change> {
    let gpus = count(fleet, ask, |node, at| {
        let is_dirty = node.slots[at].condition == Condition::Dirty && node.slots[at].held_by.is_none();
        is_sanitizing(node) || (is_dirty && node.is_usable() && may_serve(node, ask))
    });
    let is_hoped_for = gpus > 0 || (!ask.has_slots() && fleet.nodes().any(is_sanitizing));
    let runs = is_hoped_for && runs_with(fleet, ask, clean);
    runs.then_some(Change::WaitForCleaning { gpus })
}

fn wait_for_release(fleet: &Fleet, ask: &Ask) -> Option<Change> {
    let gpus = count(fleet, ask, |node, at| node.slots[at].held_by.is_some() && node.is_usable());
    let is_hoped_for = gpus > 0
        || fleet.nodes().any(|node| node.is_usable() && !node.usage.is_empty())
        || (!ask.has_slots() && fleet.nodes().any(|node| node.is_usable() && !node.is_idle()));
    let runs = is_hoped_for
        && runs_with(fleet, ask, |node| {
            clean(node);
            node.usage.clear();
            for slot in &mut node.slots {
                slot.held_by = None;
                slot.condition = if slot.condition == Condition::Dirty { Condition::Clean } else { slot.condition };
            }
            node.serves = None;
        });
    runs.then_some(Change::WaitForRelease { gpus })
}

fn wait_for_turn(fleet: &Fleet, ask: &Ask) -> Option<Change> {
    let is_kept = fleet.nodes().any(|node| node.kept_for.is_some());
    let runs = is_kept && runs_with(fleet, ask, |node| node.kept_for = None);
    runs.then_some(Change::WaitForTurn)
}

fn make_ready(fleet: &Fleet, ask: &Ask, teams: &Teams) -> Option<Change> {
    let node = one_node(fleet, ask, teams, |node| match node.state {
        State::Unavailable(Unavailable::Cordoned | Unavailable::Draining | Unavailable::Maintenance) => {
            node.state = State::Ready;
            true
        }
        _ => false,
    })?;
    let State::Unavailable(state) = node.state else {
        return None;
    };
    Some(Change::MakeReady { node: node.key, name: node.name.clone(), state })
}

fn attest(fleet: &Fleet, ask: &Ask, denial: Denial) -> Option<Change> {
    let wipe = |node: &mut Node| {
        if node.state == State::Unavailable(Unavailable::Unattested) {
            wiped(node);
            node.health = Health::Ok;
        }
    };
    let would_do = |node: &&Node| {
        let mut changed = (*node).clone();
        wipe(&mut changed);
        changed != **node && judge(&changed, ask).is_ok()
    };
    let first = fleet.nodes().find(would_do)?;
    let runs = runs_with(fleet, ask, wipe);
    runs.then(|| Change::Attest { nodes: missing(ask, denial), node: first.key, name: first.name.clone() })
}

fn sanitize(fleet: &Fleet, ask: &Ask, teams: &Teams) -> Option<Change> {
    let node = one_node(fleet, ask, teams, |node| {
        let is_idle = node.is_idle();
        clean_slots(node);
        node.serves.take().is_some() && is_idle
    })?;
    Some(Change::Sanitize { node: node.key, name: node.name.clone() })
}

fn repair(fleet: &Fleet, ask: &Ask, teams: &Teams) -> Option<Change> {
    let node = one_node(fleet, ask, teams, |node| {
        node.health = Health::Ok;
        if node.state == State::Unavailable(Unavailable::Failed) {
            node.state = State::Ready;
        }
        let broken = |condition| matches!(condition, Condition::Quarantined | Condition::Missing);
        node.slots.iter_mut().filter(|slot| broken(slot.condition)).for_each(|slot| slot.condition = Condition::Clean);
        true
    })?;
    Some(Change::Repair { node: node.key, name: node.name.clone() })
}

/// What happens by itself: dirty slots are cleaned and nodes in sanitizing come back.
fn clean(node: &mut Node) {
    if is_sanitizing(node) {
        wiped(node);
    }
    clean_slots(node);
}

fn wiped(node: &mut Node) {
    node.state = State::Ready;
    node.serves = None;
    clean_slots(node);
}

fn clean_slots(node: &mut Node) {
    for slot in node.slots.iter_mut().filter(|slot| slot.condition == Condition::Dirty) {
        slot.condition = Condition::Clean;
    }
}

fn is_sanitizing(node: &Node) -> bool {
    node.state == State::Unavailable(Unavailable::Sanitizing)
}

/// Matching slots in places where the request may go, of which `is` holds.
fn count(fleet: &Fleet, ask: &Ask, is: impl Fn(&Node, usize) -> bool) -> u32 {
    let nodes = fleet.nodes().filter(|node| ask.region.as_ref().is_none_or(|region| *region == node.region));
    let counts = nodes.map(|node| {
        let admits = |at: &usize| ask.admits(&SlotClass::of(&node.slots[*at]));
        (0..node.slots.len()).filter(|at| is(node, *at)).filter(admits).count()
    });
    u32::try_from(counts.sum::<usize>()).unwrap_or(u32::MAX)
}

/// Whether it would run if all nodes were changed so.
fn runs_with(fleet: &Fleet, ask: &Ask, change: impl Fn(&mut Node)) -> bool {
    let mut changed: Vec<Node> = Vec::with_capacity(fleet.len());
    for node in fleet.nodes() {
        let mut node = node.clone();
        change(&mut node);
        changed.push(node);
    }
    would_run(changed.iter(), ask)
}

/// The first node of which the change alone would let it run.
fn one_node<'a>(fleet: &'a Fleet, ask: &Ask, teams: &Teams, change: impl Fn(&mut Node) -> bool) -> Option<&'a Node> {
    fleet.nodes().find(|node| {
        if judge(node, ask).is_ok() {
            return false;
        }
        let mut changed = (*node).clone();
        change(&mut changed) && judge(&changed, ask).is_ok_and(|fitting| teams.with(&changed, fitting).is_enough(ask))
    })
}
