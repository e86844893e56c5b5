//! Pools: groups of nodes of one region that come from one provider and are
//! cleaned in one way.

mod routes;
mod store;

pub use store::{InsertOutcome, get, insert as add, list};

use crate::FleetArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.retention(&["pools"], Retention::Forever("what was rented there names it"));
}
