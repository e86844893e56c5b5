//! Maintenance windows: nodes that are out of service by plan. Affected
//! projects are told beforehand; at the start the nodes are emptied, at the end
//! those that were go back into service.

pub mod lifecycle;
mod reconcile;
mod routes;
mod store;

pub use reconcile::MaintenanceWindowReconciler;

use crate::FleetArea;
use kernel::machine::ParentEnd;
use platform::registry::Registry;

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.lifecycle::<lifecycle::Lifecycle>();
    registry.reconciler(|_| MaintenanceWindowReconciler);
    registry.table("maintenance_notices", ParentEnd::Stays("who was told of a maintenance window"));
}
