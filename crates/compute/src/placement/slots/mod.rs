//! Who holds which slot. A slot is dirty from the moment it is held: whatever
//! happens later, it is not given out again before somebody cleaned it.

mod store;

pub use store::{
    Reservation, abandon, abandon_on_lost_nodes, clean, held, held_by, idle_elsewhere, let_go_of_node, quarantine,
    quarantine_on_node, reserve, vacated,
};

use contract::{
    id::{NodeId, SlotId},
    pools::Isolation,
};

/// A held slot as its holder needs to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldSlot {
    pub node: NodeId,
    pub slot: SlotId,
    pub gpu_uuid: String,
    pub pci: String,
    /// How its node is cleaned.
    pub isolation: Isolation,
}
