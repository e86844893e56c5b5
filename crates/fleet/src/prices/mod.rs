//! Prices: what a unit of a SKU costs. Rows are only ever added; which one
//! applies at a time is decided by `in_force`.

mod routes;
mod store;

pub use routes::set_late;
pub use store::{PriceKey, currencies, in_force, insert as add, is_used};

use crate::FleetArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.retention(&["prices"], Retention::Forever("the record of money"));
}
