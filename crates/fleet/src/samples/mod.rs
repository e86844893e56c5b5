//! Samples: what hosts measured. Written in batches at full rate, rolled up to
//! minutes and hours, forgotten by policy, and shown to who may see them.

mod keep;
mod routes;
mod store;
mod write;

pub use keep::{keep, run as run_keeper};
pub use write::{flush, run as run_writer};

use crate::FleetArea;
use platform::registry::Registry;

pub fn register(_: &mut Registry<FleetArea>) {}
