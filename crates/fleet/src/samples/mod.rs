//! Samples: what hosts measured. Written in batches at full rate, rolled up to
//! minutes and hours, forgotten by policy, and shown to who may see them.

mod keep;
mod routes;
mod store;
mod write;

pub use keep::{keep, run as run_keeper};
pub use write::{flush, run as run_writer};

use crate::FleetArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.retention(
        &["node_samples", "gpu_samples", "node_rollups", "gpu_rollups", "telemetry_late"],
        Retention::Removed("`run_keeper`, after what `telemetry.` policies say"),
    );
    registry.retention(&["telemetry_progress"], Retention::Forever("one row for each span"));
}
