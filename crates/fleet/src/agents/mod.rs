//! Agents: which versions hosts can be given, and replacing them on nodes, a
//! few of a pool at a time. That a new agent works is proved by itself, on its
//! host; one that does not brings its predecessor back.

mod catalog;
mod choice;
pub mod lifecycle;
mod reconcile;
mod routes;
mod store;

pub use catalog::{AgentFile, Agents};
pub use reconcile::AgentUpdateReconciler;

use crate::FleetArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.lifecycle::<lifecycle::AgentUpdateLifecycle>();
    registry.reconciler(|area: &FleetArea| AgentUpdateReconciler {
        agents: area.agents.clone(),
        signer: area.signer.clone(),
        policies: area.policies.clone(),
    });
    registry.retention(&["agent_updates"], Retention::Forever("which agent ran where"));
}
