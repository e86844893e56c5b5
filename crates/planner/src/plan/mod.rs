//! The decision: the best allowed placement, or in a word why there is none.

mod bins;
mod score;
mod slots;

use crate::ask::{Ask, Invalid};
use crate::fleet::Fleet;
use crate::gang;
use crate::key::{NodeKey, SlotKey};
use std::fmt;

pub(crate) use bins::Bin;
pub(crate) use slots::{choose, may_serve, suits};

/// Where a request goes: one part per node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub node: NodeKey,
    /// In the order in which the node has them; none where the request takes none.
    pub slots: Vec<SlotKey>,
}

/// What can be said about a refusal without looking at every node; `explain` does that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// No fleet could hold it.
    Invalid(Invalid),
    /// No node has room for a part.
    NoRoom,
    /// Some nodes have room, fewer than the gang needs in one region.
    Gang { fitting: u32, wanted: u32 },
    /// Enough nodes have room, but not in one fabric domain.
    SameFabric { fitting: u32, wanted: u32 },
}

/// Decides where the request goes.
pub fn plan(fleet: &Fleet, ask: &Ask) -> Result<Placement, Denial> {
    ask.check().map_err(Denial::Invalid)?;
    let bins = bins::collect(fleet.index(), ask);
    if ask.is_gang() {
        return gang::plan(fleet, ask, &bins);
    }
    let places = bins.iter().flat_map(|bin| bin.places.iter().map(move |place| (bin, place.node)));
    for (bin, key) in places {
        if let Some(part) = part(fleet, ask, bin, key) {
            return Ok(Placement { parts: vec![part] });
        }
    }
    Err(Denial::NoRoom)
}

/// What the request would take of this node.
pub(crate) fn part(fleet: &Fleet, ask: &Ask, bin: &Bin<'_>, key: NodeKey) -> Option<Part> {
    let node = fleet.get(key)?;
    let slots = choose(node, ask, bin.class)?;
    Some(Part { node: key, slots })
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(invalid) => invalid.fmt(f),
            Self::NoRoom => write!(f, "no node has enough free capacity"),
            Self::Gang { fitting, wanted } => {
                write!(f, "{fitting} nodes have enough free capacity, and the gang needs {wanted}")
            }
            Self::SameFabric { fitting, wanted } => {
                write!(
                    f,
                    "at most {fitting} nodes of one fabric domain have enough free capacity, and the gang needs {wanted}"
                )
            }
        }
    }
}

impl std::error::Error for Denial {}
