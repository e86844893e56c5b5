//! The roles of `gpuaasd`: what a process does besides being there. Any number
//! of processes may run any of them against one database.

use std::{sync::Arc, time::Duration};

use access::gateway_api::GatewayService;
use fleet::{node_api, samples};

use kernel::{
    bus::{self, Bus, Consumer, LiveSettings, embedded::Embedded, readers},
    gauges, seals,
    work::{self, Workers},
};
use platform::{dead_letters::DeadLetterReconciler, http, policies::settings};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    adapters::nats::{self, Nats},
    control_plane::ControlPlane,
    router::router,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Role {
    /// Answers requests.
    Api,
    /// Drives resources to where they should be.
    Reconcile,
    /// Carries events to consumers.
    Relay,
    /// Speaks with the hosts.
    Nodes,
    /// Seals the audit log and removes what is past its time.
    Keeper,
    /// Lets people into what they rent. Needs no database.
    Gateway,
}

impl Role {
    /// Those that work against the database.
    pub const ALL: [Role; 5] = [Role::Api, Role::Reconcile, Role::Relay, Role::Nodes, Role::Keeper];
}

/// Every durable consumer.
pub fn consumers(control_plane: &ControlPlane) -> Vec<Arc<dyn Consumer>> {
    control_plane.areas.iter().flat_map(|it| it.consumers.iter().cloned()).collect()
}

/// Every reconciler.
pub fn workers(control_plane: &ControlPlane) -> Workers {
    let mut workers = Workers::default();
    control_plane.areas.iter().for_each(|it| it.add_workers(&mut workers));
    // The only one that needs to know every consumer.
    workers.add(DeadLetterReconciler { consumers: consumers(control_plane), policies: control_plane.policies.clone() });
    workers
}

// bound: the longest time without looking when no bell rings
const POLL: Duration = Duration::from_secs(1);
// bound: the shortest pause between two tries of one thing
const FIRST_RETRY: Duration = Duration::from_millis(200);
// bound: the longest pause between two tries of one thing
const SLOWEST_RETRY: Duration = Duration::from_secs(600);
// bound: how often expired rows are looked for
const HOUSEKEEPING: Duration = Duration::from_secs(30);

// bound: how old the measurements on the metrics page may be
const MEASURE: Duration = Duration::from_secs(10);

pub fn work_settings(control_plane: &ControlPlane) -> work::Settings {
    work::Settings {
        lease: settings::seconds(control_plane.policies.number(settings::WORK_LEASE_SECONDS)),
        poll: POLL,
        sweep_every: settings::seconds(control_plane.policies.number(settings::WORK_SWEEP_SECONDS)),
        attempts: i32::try_from(control_plane.policies.number(settings::WORK_ATTEMPTS)).unwrap_or(i32::MAX),
        first_retry: FIRST_RETRY,
        slowest_retry: SLOWEST_RETRY,
    }
}

pub fn bus_settings(control_plane: &ControlPlane) -> bus::Settings {
    bus::Settings {
        poll: POLL,
        batch: 100,
        attempts: i32::try_from(control_plane.policies.number(settings::DELIVERY_ATTEMPTS)).unwrap_or(i32::MAX),
        first_retry: FIRST_RETRY,
        slowest_retry: SLOWEST_RETRY,
        redeliver_after: settings::seconds(control_plane.policies.number(settings::REDELIVERY_SECONDS)),
    }
}

pub fn seal_settings(control_plane: &ControlPlane) -> seals::SealSettings {
    seals::SealSettings {
        every: settings::milliseconds(control_plane.policies.number(settings::SEAL_MS)),
        batch: 5_000,
    }
}

/// What carries events to consumers: NATS where it is configured, else the database itself.
pub fn bus(control_plane: &Arc<ControlPlane>) -> Box<dyn Bus> {
    let db = control_plane.db.clone();
    let settings: LiveSettings = Arc::new({
        let control_plane = control_plane.clone();
        move || bus_settings(&control_plane)
    });
    match control_plane.nats.clone() {
        None => Box::new(Embedded { db, settings }),
        Some(connection) => {
            Box::new(Nats::new(connection, db, settings, control_plane.policies.clone(), nats::ACK_WAIT))
        }
    }
}

/// Where a process listens.
pub struct Listeners {
    pub api: Option<TcpListener>,
    pub ops: Option<TcpListener>,
    pub node: Option<TcpListener>,
}

/// Runs the roles until the control plane is asked to stop, and ends when they have.
pub async fn run(
    control_plane: Arc<ControlPlane>,
    roles: &[Role],
    listeners: Listeners,
) -> Result<(), BackgroundTaskPanicked> {
    let stop = control_plane.stopping.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(control_plane.db.bell.clone().connect(control_plane.db.clone(), stop.clone()));
    tasks.spawn(platform::telemetry::drain(stop.clone()));
    tasks.spawn(control_plane.policies.clone().run(control_plane.db.clone(), stop.clone()));
    tasks.spawn(control_plane.signing.clone().run(control_plane.policies.clone(), stop.clone()));
    tasks.spawn(control_plane.fleet.signer.clone().run(
        control_plane.keyring.clone(),
        control_plane.policies.clone(),
        stop.clone(),
    ));
    tasks.spawn(control_plane.fleet.ca.clone().run(control_plane.policies.clone(), stop.clone()));
    tasks.spawn(listen_for_changes(control_plane.clone(), stop.clone()));
    if roles.contains(&Role::Api) {
        tasks.spawn(control_plane.recognizer.last_used.clone().run(control_plane.db.clone(), stop.clone()));
        if let Some(oidc) = control_plane.people.oidc.clone() {
            tasks.spawn(oidc.run(stop.clone()));
        }
    }
    if roles.contains(&Role::Api) || roles.contains(&Role::Nodes) {
        tasks.spawn(control_plane.refusals.clone().run(control_plane.db.clone(), stop.clone()));
    }
    if roles.contains(&Role::Reconcile) {
        let settings = {
            let control_plane = control_plane.clone();
            move || work_settings(&control_plane)
        };
        tasks.spawn(workers(&control_plane).run(control_plane.db.clone(), settings, stop.clone()));
    }
    if roles.contains(&Role::Relay) {
        let (control_plane, stop) = (control_plane.clone(), stop.clone());
        tasks.spawn(async move { carry_events(&control_plane, stop).await });
    }
    if let Some(listener) = listeners.node.filter(|_| roles.contains(&Role::Nodes)) {
        let gateway_api = Arc::new(GatewayService(control_plane.access.clone()));
        tasks.spawn(node_api::run(control_plane.fleet.clone(), gateway_api, listener, stop.clone()));
    }
    if roles.contains(&Role::Keeper) {
        let settings = {
            let control_plane = control_plane.clone();
            move || seal_settings(&control_plane)
        };
        let sealer = seals::Sealer { db: control_plane.db.clone(), keyring: control_plane.keyring.clone() };
        tasks.spawn(sealer.run(settings, stop.clone()));
        tasks.spawn(keep_house(control_plane.clone(), stop.clone()));
        tasks.spawn(samples::run_keeper(control_plane.fleet.clone(), stop.clone()));
        tasks.spawn(gauges::run(control_plane.db.clone(), MEASURE, stop.clone()));
        let declared = crate::areas::declared().gauges;
        tasks.spawn(crate::gauges::run(control_plane.db.clone(), declared, MEASURE, stop.clone()));
    }
    let limits = control_plane.config.http.limits();
    // Ends last: while requests finish, readiness says why no new ones are taken.
    let finished = CancellationToken::new();
    let ops = listeners.ops.map(|listener| {
        let router = http::ops_router(control_plane.platform.clone());
        tokio::spawn(http::server::serve(listener, router, limits.clone(), finished.clone()))
    });
    if let Some(listener) = listeners.api {
        let mut router = router(control_plane.clone());
        if control_plane.config.http.ops_listen.is_none() {
            router = http::ops_router_beside(control_plane.platform.clone()).merge(router);
        }
        tasks.spawn(http::server::serve(listener, router, limits, stop.clone()));
    }
    let outcome = until_all_end(tasks, &stop).await;
    finished.cancel();
    if let Some(ops) = ops {
        // A panic in there was logged already, and there is nothing left to serve.
        let _ = ops.await;
    }
    control_plane.db.close();
    outcome
}

#[derive(Debug, thiserror::Error)]
#[error("a background task panicked (see the log for where), and the process ended with it; start it again")]
pub struct BackgroundTaskPanicked;

/// Waits for the end of all of them. One that panics ends the others: a process that goes on
/// without, say, its sealer looks healthy and is not, and whoever supervises it starts it again.
async fn until_all_end(mut tasks: JoinSet<()>, stop: &CancellationToken) -> Result<(), BackgroundTaskPanicked> {
    let mut outcome = Ok(());
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "a background task panicked; this process ends");
            outcome = Err(BackgroundTaskPanicked);
            stop.cancel();
        }
    }
    outcome
}

async fn carry_events(control_plane: &Arc<ControlPlane>, stop: CancellationToken) {
    if control_plane.nats.is_none()
        && let Err(error) = readers::forget(&control_plane.db, &[nats::READER]).await
    {
        tracing::warn!(%error, "the position of a former NATS relay remains; it prevents events from expiring until the next start");
    }
    bus(control_plane).run(consumers(control_plane), stop).await;
}

/// Feeds watchers, and forgets what an event made stale.
async fn listen_for_changes(control_plane: Arc<ControlPlane>, stop: CancellationToken) {
    let heard = {
        let control_plane = control_plane.clone();
        move |message: &kernel::outbox::Message| {
            control_plane.caches.after([message.subject.as_str()].into_iter()).forget()
        }
    };
    let started = {
        let control_plane = control_plane.clone();
        move || control_plane.caches.forget_all()
    };
    control_plane.feed.clone().run(control_plane.db.clone(), heard, started, stop).await;
}

/// Removes what is past its time, until stopped.
async fn keep_house(control_plane: Arc<ControlPlane>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        match expire(&control_plane).await {
            Ok(true) => continue,
            Ok(false) => (),
            Err(error) => tracing::warn!(%error, "housekeeping failed; trying again later"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(HOUSEKEEPING) => (),
        }
    }
}

/// Removes a batch of each kind; whether there may be more.
async fn expire(control_plane: &ControlPlane) -> sqlx::Result<bool> {
    const BATCH: i64 = 5_000;
    let mut is_more_left = false;
    for area in &control_plane.areas {
        is_more_left |= area.expire(BATCH).await?;
    }
    Ok(is_more_left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn background_task_that_panics_ends_the_process() {
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let other = stop.clone();
        tasks.spawn(async move { other.cancelled().await });
        tasks.spawn(async { panic!("planted") });
        assert!(until_all_end(tasks, &stop).await.is_err());
        assert!(stop.is_cancelled(), "the others were told to end");
    }

    #[tokio::test]
    async fn end_of_one_background_task_ends_no_other() {
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(async {});
        assert!(until_all_end(tasks, &stop).await.is_ok());
        assert!(!stop.is_cancelled());
    }
}
