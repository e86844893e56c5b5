//! The node API: where hosts enroll, renew their certificates and poll, and what
//! gateways ask is let through to `gateway_api`, on a
//! listener of its own that knows them by certificate. One poll is heartbeat,
//! telemetry and the delivery of tasks; an idle one costs no look at the
//! database.

mod agents;
mod dispatcher;
mod enroll;
mod gateway_api;
mod intake;
mod listener;
mod poll;
mod pulse;
mod refusal;
mod renew;
mod requests;
mod samples;
mod sessions;
mod standings;
mod tls;

pub use gateway_api::GatewayApi;
pub use refusal::Refusal;
pub use requests::{Answer, json, parse};
pub use samples::{Measured, Samples};
pub use standings::{Standings, standing};

use std::sync::Arc;

use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{FleetArea, gateways};
use intake::Intake;
use pulse::Pulse;
use sessions::Sessions;

use platform::registry::Registry;

pub fn register(_: &mut Registry<FleetArea>) {}

/// What the requests of this process share.
pub struct NodeApi {
    app: Arc<FleetArea>,
    gateway_api: Arc<dyn GatewayApi>,
    sessions: Sessions,
    pulse: Pulse,
    intake: Intake,
}

/// Serves hosts until stopped, then answers those who wait.
pub async fn run(
    app: Arc<FleetArea>,
    gateway_api: Arc<dyn GatewayApi>,
    listener: TcpListener,
    stop: CancellationToken,
) {
    let (intake, parcels) = intake::open();
    let api = Arc::new(NodeApi { sessions: Sessions::default(), pulse: Pulse::default(), intake, gateway_api, app });
    let mut tasks = JoinSet::new();
    // Ends when the listener has: requests that finish still hand in reports.
    let finished = CancellationToken::new();
    tasks.spawn(intake::run(api.app.db.clone(), parcels, finished.clone()));
    tasks.spawn(crate::samples::run_writer(api.app.clone(), finished.clone()));
    tasks.spawn(pulse::run(api.clone(), finished.clone()));
    tasks.spawn(dispatcher::run(api.clone(), stop.clone()));
    tasks.spawn(standings::run(api.app.clone(), stop.clone()));
    // Hosts that are told of no gateway leave those that they have.
    api.app.gateways.learn(&api.app, &stop).await;
    tasks.spawn(gateways::watch(api.app.clone(), stop.clone()));
    match listener::serve(api, listener, stop).await {
        Ok(()) => (),
        Err(error) => tracing::error!(%error, "the node listener cannot run"),
    }
    finished.cancel();
    while tasks.join_next().await.is_some() {}
}
