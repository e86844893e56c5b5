//! Prices: what a unit of a SKU costs. Rows are only ever added; which one
//! applies at a time is decided by `in_force`.

mod routes;
mod store;

pub use routes::set_late;
pub use store::{PriceKey, currencies, in_force, insert as add, is_used};

use crate::FleetArea;
use platform::registry::Registry;

pub fn register(_: &mut Registry<FleetArea>) {}
