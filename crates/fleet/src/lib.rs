//! Hosts and what is sold of them: nodes, machines, pools, SKUs and prices, the
//! agents on hosts, their certificates, and the API that hosts and gateways call.

pub mod agents;
pub mod ca;
pub mod capacity;
pub mod enrollment_tokens;
pub mod gateways;
pub mod machines;
pub mod maintenance_windows;
pub mod node_api;
pub mod nodes;
pub mod pools;
pub mod prices;
pub mod providers;
pub mod regions;
pub mod samples;
pub mod skus;
pub mod tasks;

use std::{ops::Deref, sync::Arc};

use platform::{Platform, ports::metal::MetalConnector, registry::Registry};

/// What the handlers of the area can reach.
pub struct FleetArea {
    pub platform: Arc<Platform>,
    pub signer: tasks::TaskSigner,
    pub ca: ca::Ca,
    /// The agents that hosts can be given.
    pub agents: Arc<agents::Agents>,
    /// Whether the certificates of nodes that are connected here still work.
    pub certificate_checks: node_api::CertificateChecks,
    /// The gateways that hosts are told of.
    pub gateways: gateways::Live,
    /// Where browsers meet gateways.
    pub doors: gateways::Doors,
    /// What nodes that are connected here measured.
    pub samples: node_api::Samples,
    /// Opens the suppliers of bare machines.
    pub metal: Arc<dyn MetalConnector>,
}

impl Deref for FleetArea {
    type Target = Platform;

    fn deref(&self) -> &Platform {
        &self.platform
    }
}

/// Everything that the area's resources register.
pub fn registry() -> Registry<FleetArea> {
    let mut registry = Registry::default();
    agents::register(&mut registry);
    ca::register(&mut registry);
    capacity::register(&mut registry);
    enrollment_tokens::register(&mut registry);
    gateways::register(&mut registry);
    machines::register(&mut registry);
    maintenance_windows::register(&mut registry);
    node_api::register(&mut registry);
    nodes::register(&mut registry);
    pools::register(&mut registry);
    prices::register(&mut registry);
    providers::register(&mut registry);
    regions::register(&mut registry);
    samples::register(&mut registry);
    skus::register(&mut registry);
    tasks::register(&mut registry);
    registry
}
