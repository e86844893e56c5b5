//! Machines: bare hosts of a MAAS server on their way to being nodes and back.
//!
//! What is to happen is written before MAAS is asked for it, and MAAS is looked
//! at before it is asked, so every step can be repeated after a crash without a
//! second machine being taken or one being lost. `docs/guides/maas.md` draws it.

mod decide;
pub mod lifecycle;
mod power;
mod reconcile;
mod routes;
mod store;
mod supply;
mod user_data;

pub use reconcile::{MachineError, MachineReconciler};
pub use store::{TOKENS, count_failed, enrolled_with, serving};
pub use supply::{Listed, retire_all, take_in, want};

use crate::FleetArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.lifecycle::<lifecycle::MachineLifecycle>();
    registry.reconciler(|area: &FleetArea| MachineReconciler {
        connector: area.metal.clone(),
        keyring: area.keyring.clone(),
        policies: area.policies.clone(),
        ca: area.ca.clone(),
        node_url: area.config.node.url.clone(),
    });
    registry.gauge("gpuaas_machines_failed", |tx| Box::pin(count_failed(tx)));
    registry.secret(&TOKENS);
    registry.retention(&["machines"], Retention::Forever("the record of what was acquired from a provider"));
}
