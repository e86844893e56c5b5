//! Maintenance windows: nodes that are out of service by plan. Affected
//! projects are told beforehand; at the start the nodes are emptied, at the end
//! those that were go back into service.

pub mod lifecycle;
mod reconcile;
mod routes;
mod store;

pub use reconcile::MaintenanceWindowReconciler;

use crate::FleetArea;
use kernel::lifecycle::ParentEnd;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.lifecycle::<lifecycle::MaintenanceWindowLifecycle>();
    registry.reconciler(|_| MaintenanceWindowReconciler);
    registry.table("maintenance_notices", ParentEnd::Stays("the record of who was notified of a maintenance window"));
    registry.retention(
        &["maintenance_windows", "maintenance_nodes", "maintenance_notices"],
        Retention::Forever("the record of interruptions and of who was told"),
    );
}
