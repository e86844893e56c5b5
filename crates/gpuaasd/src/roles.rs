//! The roles of `gpuaasd`: what a process does besides being there. Any number
//! of processes may run any of them against one database.

use std::{sync::Arc, time::Duration};

use access::gateway_api::GatewayService;
use fleet::{node_api, samples};

use kernel::{
    bus::{self, Bus, Consumer, LiveSettings, embedded::Embedded, readers},
    gauges, housekeeping, seals,
    work::{self, Workers},
};
use platform::{dead_letters::DeadLetterReconciler, http, policies::keys};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    adapters::nats::{self, Nats},
    app::App,
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
pub fn consumers(app: &App) -> Vec<Arc<dyn Consumer>> {
    app.areas.iter().flat_map(|it| it.consumers.iter().cloned()).collect()
}

/// Every reconciler.
pub fn workers(app: &App) -> Workers {
    let mut workers = Workers::default();
    app.areas.iter().for_each(|it| it.add_workers(&mut workers));
    // The only one that needs to know every consumer.
    workers.add(DeadLetterReconciler { consumers: consumers(app), policies: app.policies.clone() });
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

pub fn work_settings(app: &App) -> work::Settings {
    work::Settings {
        lease: keys::seconds(app.policies.number(keys::WORK_LEASE_SECONDS)),
        poll: POLL,
        sweep_every: keys::seconds(app.policies.number(keys::WORK_SWEEP_SECONDS)),
        attempts: i32::try_from(app.policies.number(keys::WORK_ATTEMPTS)).unwrap_or(i32::MAX),
        first_retry: FIRST_RETRY,
        slowest_retry: SLOWEST_RETRY,
    }
}

pub fn bus_settings(app: &App) -> bus::Settings {
    bus::Settings {
        poll: POLL,
        batch: 100,
        attempts: i32::try_from(app.policies.number(keys::DELIVERY_ATTEMPTS)).unwrap_or(i32::MAX),
        first_retry: FIRST_RETRY,
        slowest_retry: SLOWEST_RETRY,
        redeliver_after: keys::seconds(app.policies.number(keys::REDELIVERY_SECONDS)),
    }
}

pub fn seal_settings(app: &App) -> seals::SealSettings {
    seals::SealSettings { every: keys::milliseconds(app.policies.number(keys::SEAL_MS)), batch: 5_000 }
}

/// What carries events to consumers: NATS where it is configured, else the database itself.
pub fn bus(app: &Arc<App>) -> Box<dyn Bus> {
    let db = app.db.clone();
    let settings: LiveSettings = Arc::new({
        let app = app.clone();
        move || bus_settings(&app)
    });
    match app.nats.clone() {
        None => Box::new(Embedded { db, settings }),
        Some(connection) => Box::new(Nats::new(connection, db, settings, app.policies.clone(), nats::ACK_WAIT)),
    }
}

/// Where a process listens.
pub struct Listeners {
    pub api: Option<TcpListener>,
    pub ops: Option<TcpListener>,
    pub node: Option<TcpListener>,
}

/// Runs the roles until the app is asked to stop, and ends when they have.
pub async fn run(app: Arc<App>, roles: &[Role], listeners: Listeners) -> Result<(), BackgroundTaskPanicked> {
    let stop = app.stopping.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(app.db.bell.clone().connect(app.db.clone(), stop.clone()));
    tasks.spawn(platform::telemetry::drain(stop.clone()));
    tasks.spawn(app.policies.clone().run(app.db.clone(), stop.clone()));
    tasks.spawn(app.signing.clone().run(app.policies.clone(), stop.clone()));
    tasks.spawn(app.fleet.signer.clone().run(app.keyring.clone(), app.policies.clone(), stop.clone()));
    tasks.spawn(app.fleet.ca.clone().run(app.policies.clone(), stop.clone()));
    tasks.spawn(listen_for_changes(app.clone(), stop.clone()));
    if roles.contains(&Role::Api) {
        tasks.spawn(app.recognizer.last_used.clone().run(app.db.clone(), stop.clone()));
        if let Some(oidc) = app.people.oidc.clone() {
            tasks.spawn(oidc.run(stop.clone()));
        }
    }
    if roles.contains(&Role::Api) || roles.contains(&Role::Nodes) {
        tasks.spawn(app.refusals.clone().run(app.db.clone(), stop.clone()));
    }
    if roles.contains(&Role::Reconcile) {
        let settings = {
            let app = app.clone();
            move || work_settings(&app)
        };
        tasks.spawn(workers(&app).run(app.db.clone(), settings, stop.clone()));
    }
    if roles.contains(&Role::Relay) {
        let (app, stop) = (app.clone(), stop.clone());
        tasks.spawn(async move { carry_events(&app, stop).await });
    }
    if let Some(listener) = listeners.node.filter(|_| roles.contains(&Role::Nodes)) {
        let gateway_api = Arc::new(GatewayService(app.access.clone()));
        tasks.spawn(node_api::run(app.fleet.clone(), gateway_api, listener, stop.clone()));
    }
    if roles.contains(&Role::Keeper) {
        let settings = {
            let app = app.clone();
            move || seal_settings(&app)
        };
        let sealer = seals::Sealer { db: app.db.clone(), keyring: app.keyring.clone() };
        tasks.spawn(sealer.run(settings, stop.clone()));
        tasks.spawn(keep_house(app.clone(), stop.clone()));
        tasks.spawn(samples::run_keeper(app.fleet.clone(), stop.clone()));
        tasks.spawn(gauges::run(app.db.clone(), MEASURE, stop.clone()));
        let declared = crate::areas::declared().gauges;
        tasks.spawn(crate::gauges::run(app.db.clone(), declared, MEASURE, stop.clone()));
    }
    let limits = app.config.http.limits();
    // Ends last: while requests finish, readiness says why no new ones are taken.
    let finished = CancellationToken::new();
    let ops = listeners.ops.map(|listener| {
        let router = http::ops_router(app.platform.clone());
        tokio::spawn(http::server::serve(listener, router, limits.clone(), finished.clone()))
    });
    if let Some(listener) = listeners.api {
        let mut router = router(app.clone());
        if app.config.http.ops_listen.is_none() {
            router = http::ops_router_beside(app.platform.clone()).merge(router);
        }
        tasks.spawn(http::server::serve(listener, router, limits, stop.clone()));
    }
    let outcome = until_all_end(tasks, &stop).await;
    finished.cancel();
    if let Some(ops) = ops {
        // A panic in there was logged already, and there is nothing left to serve.
        let _ = ops.await;
    }
    app.db.close();
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

async fn carry_events(app: &Arc<App>, stop: CancellationToken) {
    if app.nats.is_none()
        && let Err(error) = readers::forget(&app.db, &[nats::READER]).await
    {
        tracing::warn!(%error, "the position of a former NATS relay remains; it prevents events from expiring until the next start");
    }
    bus(app).run(consumers(app), stop).await;
}

/// Feeds watchers, and forgets what an event made stale.
async fn listen_for_changes(app: Arc<App>, stop: CancellationToken) {
    let heard = {
        let app = app.clone();
        move |message: &kernel::outbox::Message| app.caches.after([message.subject.as_str()].into_iter()).forget()
    };
    let started = {
        let app = app.clone();
        move || app.caches.forget_all()
    };
    app.feed.clone().run(app.db.clone(), heard, started, stop).await;
}

/// Removes what is past its time, until stopped.
async fn keep_house(app: Arc<App>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        match expire(&app).await {
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
async fn expire(app: &App) -> sqlx::Result<bool> {
    const BATCH: i64 = 5_000;
    const SEALS: i64 = 100;
    let retention = housekeeping::Retention { events: keys::days(app.policies.number(keys::EVENTS_DAYS)), bite: BATCH };
    let mut is_more_left = housekeeping::sweep(&app.db, retention).await? >= BATCH as u64;
    for area in &app.areas {
        is_more_left |= area.expire(BATCH).await?;
    }
    let audit = keys::days(app.policies.number(keys::AUDIT_DAYS));
    Ok(is_more_left | (seals::expire(&app.db, audit, SEALS).await? >= SEALS as u64))
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
