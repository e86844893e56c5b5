//! How good a node with a given signature is for a request; less is better.

use crate::ask::Ask;
use crate::fill;
use crate::index::{FreeMagnitude, Signature};

/// Whom the node may serve, seen from the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tenancy {
    /// The asking organization, and nobody else until it is sanitized.
    Serving,
    /// Anybody, at the same time.
    Shared,
    /// Nobody yet.
    Clean,
}

/// Compared field by field, from the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score {
    /// It would break into a node that could be given out whole, or to anybody. Worse
    /// than a split: who cannot bear a split binds the request.
    pub opens_fresh: bool,
    /// How much others would miss the node.
    missed: u8,
    /// Over how many NUMA nodes the part would spread.
    numa_nodes: u16,
    /// What stays in the NUMA group that is broken into.
    group_leftover: u16,
    /// What stays in the node.
    node_leftover: usize,
}

impl Score {
    /// None: a node like that cannot hold a part.
    pub fn of(signature: &Signature, tenancy: Tenancy, ask: &Ask) -> Option<Self> {
        if ask.is_baremetal() {
            return Self::whole(signature, tenancy, ask);
        }
        if !ask.has_slots() {
            return Self::without_slots(signature, tenancy, ask);
        }
        let wanted = usize::try_from(ask.slots_per_node()).ok()?;
        let (numa_nodes, group_leftover) = fill::cost(&signature.groups, wanted)?;
        if ask.sku.numa_bound && numa_nodes > 1 {
            return None;
        }
        // Capacity that is bound to the organization goes first: nobody else can use it.
        // What is shared goes last, because it is good for everybody who is yet to come.
        let (opens_fresh, missed) = match (tenancy, signature.is_whole) {
            (Tenancy::Serving, false) => (false, 0),
            (Tenancy::Serving, true) => (false, 1),
            (Tenancy::Shared, false) => (false, 2),
            (Tenancy::Clean, false) => (true, 3),
            (Tenancy::Clean, true) => (true, 4),
            (Tenancy::Shared, true) => (true, 5),
        };
        let node_leftover = signature.free() - wanted;
        // A small node that is used up whole is no split: its layout is what it is.
        let uses_up = signature.is_whole && node_leftover == 0;
        let numa_nodes = if uses_up { 1 } else { numa_nodes };
        Some(Self { opens_fresh, missed, numa_nodes, group_leftover, node_leftover })
    }

    /// Hosts without free slots come first, so that those with some stay for requests
    /// that need them; then those with the least room that may do.
    fn without_slots(signature: &Signature, tenancy: Tenancy, ask: &Ask) -> Option<Self> {
        let (room, needed) = (signature.room, FreeMagnitude::of(&ask.needs.host));
        if room.memory < needed.memory || room.cpus < needed.cpus {
            return None;
        }
        let has_slots = !signature.groups.is_empty();
        let missed = match tenancy {
            Tenancy::Serving => 0,
            Tenancy::Shared => 1,
            Tenancy::Clean => 2,
        };
        Some(Self {
            opens_fresh: has_slots && signature.is_whole,
            missed: if has_slots { missed + 3 } else { missed },
            numa_nodes: 0,
            group_leftover: signature.groups.first().copied().unwrap_or(0),
            node_leftover: usize::try_from(room.memory + room.cpus).ok()?,
        })
    }

    /// Bare metal has nothing left over; it takes what slices would miss least.
    fn whole(signature: &Signature, tenancy: Tenancy, ask: &Ask) -> Option<Self> {
        let numa_nodes = u16::try_from(signature.groups.len()).ok()?;
        let is_size = ask.needs.gpus == 0 || usize::try_from(ask.needs.gpus) == Ok(signature.free());
        if !signature.is_whole || !is_size || (ask.sku.numa_bound && numa_nodes > 1) {
            return None;
        }
        let missed = match tenancy {
            Tenancy::Serving => 0,
            Tenancy::Clean => 1,
            Tenancy::Shared => 2,
        };
        // Without a wanted size, the smallest node is the least to take away.
        Some(Self { opens_fresh: true, missed, numa_nodes: 0, group_leftover: 0, node_leftover: signature.free() })
    }
}
