//! SKUs: the shapes of capacity on offer. One that is off offer stays, because
//! allocations and prices refer to it.

mod routes;
mod store;

pub use store::{by_name, get, insert as add, lock};

use crate::FleetArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.retention(&["skus"], Retention::Forever("what was rented names it after it was retired"));
}
