//! The racks that a request may take from, cut by signature and sorted by score.

use super::score::{Score, Tenancy};
use crate::ask::Ask;
use crate::groups::SlotClass;
use crate::index::{Index, Rack, RackPosition, Shelf, ShelfKey};
use crate::key::Name;
use std::collections::BTreeSet;

/// Nodes that are equally good for the request, as far as the index knows.
#[derive(Debug)]
pub struct Bin<'a> {
    pub score: Score,
    pub region: &'a Name,
    /// None: the request takes no slots.
    pub class: Option<&'a SlotClass>,
    pub places: &'a BTreeSet<RackPosition>,
}

/// The best bins first; among equals the index's order, which is fixed.
pub fn collect<'a>(index: &'a Index, ask: &Ask) -> Vec<Bin<'a>> {
    let mut bins = Vec::with_capacity(32);
    for (region, key, shelf) in index.shelves(ask.region.as_ref()) {
        if !admits(ask, key) {
            continue;
        }
        for (tenancy, rack) in racks(shelf, ask) {
            let scored = rack.iter().filter_map(|(signature, places)| {
                let score = Score::of(signature, tenancy, ask)?;
                Some(Bin { score, region, class: key.class.as_ref(), places })
            });
            bins.extend(scored);
        }
    }
    bins.sort_by_key(|bin| bin.score);
    bins
}

fn admits(ask: &Ask, shelf: &ShelfKey) -> bool {
    let is_class = shelf.class.as_ref().map_or(!ask.has_slots(), |class| ask.admits(class));
    is_class && (ask.pools.is_empty() || ask.pools.contains(&shelf.pool))
}

fn racks<'a>(shelf: &'a Shelf, ask: &Ask) -> impl Iterator<Item = (Tenancy, &'a Rack)> {
    let own = shelf.serving.get(&ask.organization).map(|rack| (Tenancy::Serving, rack));
    own.into_iter().chain([(Tenancy::Shared, &shelf.shared), (Tenancy::Clean, &shelf.clean)])
}
