//! The audit log as people read and prove it.

mod routes;
mod store;

use crate::Platform;
use crate::registry::Registry;
use kernel::machine::ParentEnd;

pub fn register(registry: &mut Registry<Platform>) {
    registry.table("audit", ParentEnd::Stays("evidence, for as long as `audit.keep_days` says"));
}
