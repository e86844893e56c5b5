//! Gangs: several nodes at once or none, in one region and of one class, in one
//! fabric domain where that is wanted and possible.

use crate::ask::{Ask, SameFabric};
use crate::fill;
use crate::fleet::Fleet;
use crate::groups::SlotClass;
use crate::index::RackPosition;
use crate::key::{Name, NodeKey};
use crate::plan::{Bin, Denial, Part, Placement, part};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The nodes that could hold a part, by fabric domain; each domain's best first.
type Domains = BTreeMap<Option<Name>, Vec<Candidate>>;

/// A region and a class; none without slots.
type TeamKey<'a> = (&'a Name, Option<&'a SlotClass>);

/// A node and how good it is: less is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    bin: usize,
    node: NodeKey,
}

pub fn plan(fleet: &Fleet, ask: &Ask, bins: &[Bin<'_>]) -> Result<Placement, Denial> {
    let wanted = ask.nodes as usize;
    let mut best: Option<(usize, Vec<Candidate>)> = None;
    let (mut most, mut most_in_domain) = (0, 0);
    for members in teams(bins) {
        let domains = candidates(fleet, ask, bins, &members);
        most = most.max(domains.values().map(Vec::len).sum());
        most_in_domain = most_in_domain.max(largest_domain(&domains));
        let Some((count, chosen)) = select(&domains, bins, ask) else {
            continue;
        };
        if best.as_ref().is_none_or(|(fewest, _)| count < *fewest) {
            best = Some((count, chosen));
        }
        if count <= 1 {
            break;
        }
    }
    let Some((_, chosen)) = best else {
        return Err(denial(most, most_in_domain, ask));
    };
    let parts = chosen.iter().filter_map(|it| part(fleet, ask, &bins[it.bin], it.node));
    let parts: Vec<Part> = parts.collect();
    debug_assert_eq!(parts.len(), wanted, "every candidate holds a part");
    if parts.len() == wanted { Ok(Placement { parts }) } else { Err(Denial::NoRoom) }
}

/// Whether counts of fitting nodes by domain are enough for the gang.
pub fn is_enough(by_domain: &BTreeMap<Option<Name>, u32>, ask: &Ask) -> bool {
    if ask.needs_one_domain() {
        return by_domain.iter().any(|(domain, count)| domain.is_some() && *count >= ask.nodes);
    }
    by_domain.values().sum::<u32>() >= ask.nodes
}

fn denial(most: usize, most_in_domain: usize, ask: &Ask) -> Denial {
    let count = |nodes| u32::try_from(nodes).unwrap_or(u32::MAX);
    match () {
        () if most == 0 => Denial::NoRoom,
        () if count(most) < ask.nodes => Denial::Gang { fitting: count(most), wanted: ask.nodes },
        () => Denial::SameFabric { fitting: count(most_in_domain), wanted: ask.nodes },
    }
}

/// The bins by region and class, since a gang mixes neither; the best team first.
fn teams(bins: &[Bin<'_>]) -> Vec<Vec<usize>> {
    let mut teams: Vec<(TeamKey<'_>, Vec<usize>)> = Vec::new();
    for (at, bin) in bins.iter().enumerate() {
        let key = (bin.region, bin.class);
        match teams.iter_mut().find(|(known, _)| *known == key) {
            Some((_, members)) => members.push(at),
            None => teams.push((key, vec![at])),
        }
    }
    teams.into_iter().map(|(_, members)| members).collect()
}

fn candidates(fleet: &Fleet, ask: &Ask, bins: &[Bin<'_>], members: &[usize]) -> Domains {
    // Without these, the index has already said all there is to say.
    let is_particular = ask.colocate_fabric
        || ask.is_baremetal()
        || !ask.needs.host.is_nothing()
        || !ask.anti_affinity.is_empty()
        || !ask.tags.is_empty();
    let takes_first = ask.same_fabric == SameFabric::Any;
    let mut domains = Domains::new();
    let mut found = 0;
    for bin in members {
        let fits = |place: &&RackPosition| !is_particular || part(fleet, ask, &bins[*bin], place.node).is_some();
        for run in bins[*bin].places.iter().filter(fits).collect::<Vec<_>>().chunk_by(|a, b| a.domain == b.domain) {
            let domain = domains.entry(run[0].domain.clone()).or_default();
            domain.extend(run.iter().map(|place| Candidate { bin: *bin, node: place.node }));
            found += run.len();
        }
        if takes_first && found >= ask.nodes as usize {
            break;
        }
    }
    domains
}

fn largest_domain(domains: &Domains) -> usize {
    domains.iter().filter(|(domain, _)| domain.is_some()).map(|(_, nodes)| nodes.len()).max().unwrap_or(0)
}

/// Which candidates, and over how many domains they lie.
fn select(domains: &Domains, bins: &[Bin<'_>], ask: &Ask) -> Option<(usize, Vec<Candidate>)> {
    let wanted = ask.nodes as usize;
    if ask.same_fabric == SameFabric::Any {
        let mut all: Vec<Candidate> = domains.values().flatten().copied().collect();
        all.sort_unstable();
        all.truncate(wanted);
        return (all.len() == wanted).then_some((0, all));
    }
    if let Some(nodes) = one_domain(domains, bins, wanted) {
        return Some((1, nodes.to_vec()));
    }
    if ask.same_fabric == SameFabric::Required {
        return None;
    }
    let mut named: Vec<&Vec<Candidate>> =
        domains.iter().filter(|(domain, _)| domain.is_some()).map(|(_, nodes)| nodes).collect();
    named.sort_by_key(|nodes| Reverse(nodes.len()));
    // Nodes of no domain are far from everybody: they come last.
    let alone = domains.get(&None).map_or(&[][..], Vec::as_slice);
    let sizes: Vec<usize> = named.iter().map(|nodes| nodes.len()).collect();
    let in_domains = sizes.iter().sum::<usize>().min(wanted);
    let missing = wanted - in_domains;
    let filling = fill::fewest(&sizes, in_domains)?;
    let spread = filling.len() + missing;
    let mut chosen: Vec<Candidate> =
        filling.into_iter().flat_map(|(domain, count)| named[domain].iter().take(count).copied()).collect();
    chosen.extend(alone.iter().take(missing));
    (chosen.len() == wanted).then_some((spread, chosen))
}

/// The nodes of the domain that holds the gang and opens the fewest fresh nodes for
/// it; among those the smallest, so that a larger one stays for a larger gang.
fn one_domain<'a>(domains: &'a Domains, bins: &[Bin<'_>], wanted: usize) -> Option<&'a [Candidate]> {
    let holding = domains.iter().filter(|(domain, nodes)| domain.is_some() && nodes.len() >= wanted);
    let fresh = |nodes: &[Candidate]| nodes.iter().filter(|it| bins[it.bin].score.opens_fresh).count();
    let best = holding.min_by_key(|(_, nodes)| (fresh(&nodes[..wanted]), nodes.len()));
    best.map(|(_, nodes)| &nodes[..wanted])
}
