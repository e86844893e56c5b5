//! Regions: places that capacity is in. They are only ever added.

mod routes;
mod store;

pub use store::{by_name, insert as add};

use crate::FleetArea;
use platform::registry::Registry;

pub fn register(_: &mut Registry<FleetArea>) {}
