//! Pools: groups of nodes of one region that come from one provider and are
//! cleaned in one way.

mod routes;
mod store;

pub use store::{InsertOutcome, get, insert as add, list};

use crate::FleetArea;
use platform::registry::Registry;

pub fn register(_: &mut Registry<FleetArea>) {}
