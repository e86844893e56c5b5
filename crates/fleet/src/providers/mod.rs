//! Providers: the MAAS servers that supply bare machines to pools. Which of
//! their machines are used, and how each is handed over, is for `machines`.

pub mod lifecycle;
mod reconcile;
mod routes;
mod store;

pub use reconcile::ProviderReconciler;
pub use store::{API_KEYS, Supply, supply};

use crate::FleetArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.lifecycle::<lifecycle::ProviderLifecycle>();
    registry.reconciler(|area: &FleetArea| ProviderReconciler {
        connector: area.metal.clone(),
        keyring: area.keyring.clone(),
        policies: area.policies.clone(),
    });
    registry.secret(&API_KEYS);
    registry.retention(&["providers"], Retention::Forever("machines name it after it was removed"));
}
