//! Quotas: how many GPUs of a SKU an organization may hold at once. Who asks
//! for GPUs is held to them elsewhere; they are set and read here.

mod routes;
mod store;

pub use store::limit;

use crate::ComputeArea;
use kernel::lifecycle::ParentEnd;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<ComputeArea>) {
    registry.table("quotas", ParentEnd::Stays("settings stay for the record"));
    registry.retention(&["quotas"], Retention::Removed("when they are unset"));
}
