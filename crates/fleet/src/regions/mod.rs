//! Regions: places that capacity is in. They are only ever added.

mod routes;
mod store;

pub use store::{by_name, insert as add};

use crate::FleetArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.retention(&["regions"], Retention::Forever("what was rented there names it"));
}
