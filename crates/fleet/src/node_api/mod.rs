//! The node API: where hosts enroll, renew their certificates and poll, and what
//! gateways ask is let through to `gateway_api`, on a
//! listener of its own that knows them by certificate. One poll is heartbeat,
//! telemetry and the delivery of tasks; an idle one costs no look at the
//! database.

mod agents;
mod certificate_checks;
mod dispatcher;
mod enroll;
mod gateway_api;
mod intake;
mod listener;
mod poll;
mod polls;
mod pulse;
mod refusal;
mod renew;
mod requests;
mod samples;
mod tls;

pub use certificate_checks::{CertificateChecks, is_peer_revoked};
pub use gateway_api::GatewayApi;
pub use refusal::Refusal;
pub use requests::{Answer, json, parse};
pub use samples::{Measured, Samples};

use std::sync::Arc;

use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{FleetArea, gateways};
use intake::Intake;
use polls::Polls;
use pulse::Pulse;

use platform::registry::Registry;

pub fn register(registry: &mut Registry<FleetArea>) {
    registry.cache::<CertificateChecks>(&["node", "gateway"], |area| &area.certificate_checks);
}

/// What the requests of this process share.
pub struct NodeApi {
    area: Arc<FleetArea>,
    gateway_api: Arc<dyn GatewayApi>,
    polls: Polls,
    pulse: Pulse,
    intake: Intake,
}

/// Serves hosts until stopped, then answers those who wait.
pub async fn run(
    area: Arc<FleetArea>,
    gateway_api: Arc<dyn GatewayApi>,
    listener: TcpListener,
    stop: CancellationToken,
) {
    let (intake, parcels) = intake::open();
    let api = Arc::new(NodeApi { polls: Polls::default(), pulse: Pulse::default(), intake, gateway_api, area });
    let mut tasks = JoinSet::new();
    // Ends when the listener has: requests that finish still hand in reports.
    let finished = CancellationToken::new();
    tasks.spawn(intake::run(api.area.db.clone(), parcels, finished.clone()));
    tasks.spawn(crate::samples::run_writer(api.area.clone(), finished.clone()));
    tasks.spawn(pulse::run(api.clone(), finished.clone()));
    tasks.spawn(dispatcher::run(api.clone(), stop.clone()));
    tasks.spawn(certificate_checks::run(api.area.clone(), stop.clone()));
    // Hosts that are told of no gateway leave those that they have.
    api.area.gateways.learn(&api.area, &stop).await;
    tasks.spawn(gateways::watch(api.area.clone(), stop.clone()));
    match listener::serve(api, listener, stop).await {
        Ok(()) => (),
        Err(error) => tracing::error!(%error, "the node listener cannot run"),
    }
    finished.cancel();
    while tasks.join_next().await.is_some() {}
}
