//! Capacity: how many GPUs or whole nodes there are for a SKU in a region, and what
//! became of them. Numbers only: on which host they are, and who holds them, is for staff.

mod routes;
mod store;

use crate::FleetArea;
use platform::registry::Registry;

pub fn register(_: &mut Registry<FleetArea>) {}
