//! The roles of `gpuaasd`: what a process does besides being there. Any number
//! of processes may run any of them against one database.

use std::{sync::Arc, time::Duration};

use kernel::{
    Access, Db, Tx,
    bus::{self, Bus, Consumer, LiveSettings, embedded::Embedded, readers},
    gauges, housekeeping, machine, seals,
    work::{self, Workers},
};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    access_sessions::AccessSessionReconciler,
    access_tickets,
    adapters::nats::{self, Nats},
    agents::AgentUpdateReconciler,
    allocations::{self, AllocationReconciler},
    app::App,
    books::BooksReconciler,
    budgets::BudgetReconciler,
    corrections::CorrectionReconciler,
    dead_letters::DeadLetterReconciler,
    gateways, http,
    invitations::InvitationReconciler,
    invoices::InvoicesReconciler,
    machines::MachineReconciler,
    mails::{self, MailReconciler, Ordinary, Security},
    maintenance_windows::MaintenanceWindowReconciler,
    node_api,
    nodes::{self, NodeReconciler},
    notifications,
    payments::{self, PaymentComparison, PaymentEventReconciler, PaymentReconciler},
    policies::keys,
    projects::{self, ProjectReconciler},
    providers::ProviderReconciler,
    recordings::RecordingReconciler,
    refunds::RefundReconciler,
    samples,
    stale::Stale,
    wallets::WalletReconciler,
    webhook_deliveries::{self, DeliveryReconciler, Sender},
    webhooks,
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

/// Calls `$callback!(A, B, …)` with every lifecycle: the guard's table, the
/// diagrams and the soundness test are built from this one list.
#[macro_export]
macro_rules! for_each_machine {
    ($callback:ident) => {
        $callback! {
            $crate::access_sessions::lifecycle::Lifecycle,
            $crate::agents::lifecycle::Lifecycle,
            $crate::allocations::lifecycle::Lifecycle,
            $crate::corrections::lifecycle::Lifecycle,
            $crate::dead_letters::lifecycle::Lifecycle,
            $crate::invitations::lifecycle::Lifecycle,
            $crate::mails::lifecycle::Lifecycle,
            $crate::maintenance_windows::lifecycle::Lifecycle,
            $crate::machines::lifecycle::Lifecycle,
            $crate::nodes::lifecycle::Lifecycle,
            $crate::organizations::lifecycle::Lifecycle,
            $crate::payments::lifecycle::Lifecycle,
            $crate::projects::lifecycle::Lifecycle,
            $crate::providers::lifecycle::Lifecycle,
            $crate::recordings::lifecycle::Lifecycle,
            $crate::wallets::lifecycle::Lifecycle,
            $crate::refunds::lifecycle::Lifecycle,
            $crate::webhook_deliveries::lifecycle::Lifecycle,
            $crate::webhooks::lifecycle::Lifecycle,
        }
    };
}

/// Writes every lifecycle's legal moves into the database's guard.
pub async fn teach_machines(db: &Db) -> sqlx::Result<()> {
    let mut tx = Tx::system(db, "lifecycles", Access::Write).await?;
    macro_rules! teach {
        ($($machine:path),* $(,)?) => { $( machine::teach::<$machine>(&mut tx).await?; )* };
    }
    crate::for_each_machine!(teach);
    tx.commit().await
}

/// Every durable consumer.
pub fn consumers(app: &App) -> Vec<Arc<dyn Consumer>> {
    vec![
        Arc::new(notifications::Tell { by_mail: app.sending.is_some(), policies: app.policies.clone() }),
        Arc::new(allocations::HeedOrganization),
        Arc::new(allocations::RefreshHostKeys),
        Arc::new(projects::DeleteWithOrganization),
        Arc::new(webhooks::DeleteWithOrganization),
        Arc::new(webhooks::FanOut),
    ]
}

/// The kind of work of that name, if this release has it.
pub fn kind_named(name: &str) -> Option<&'static str> {
    macro_rules! names {
        ($($machine:path),* $(,)?) => { [$(<$machine as machine::Machine>::NAME),*] };
    }
    crate::for_each_machine!(names).into_iter().find(|it| *it == name)
}

/// Every reconciler.
pub fn workers(app: &App) -> Workers {
    let mut workers = Workers::default();
    add_inner(&mut workers, app);
    add_outer(&mut workers, app);
    workers
}

/// Those that wait for nobody outside the platform.
fn add_inner(workers: &mut Workers, app: &App) {
    workers.add(AccessSessionReconciler);
    workers.add(AgentUpdateReconciler {
        agents: app.agents.clone(),
        signer: app.signer.clone(),
        policies: app.policies.clone(),
    });
    workers.add(AllocationReconciler {
        placement: app.placement.clone(),
        signer: app.signer.clone(),
        policies: app.policies.clone(),
    });
    workers.add(BooksReconciler { policies: app.policies.clone() });
    workers.add(CorrectionReconciler);
    workers.add(BudgetReconciler);
    workers.add(DeadLetterReconciler { consumers: consumers(app), policies: app.policies.clone() });
    workers.add(InvitationReconciler);
    workers.add(InvoicesReconciler);
    workers.add(MaintenanceWindowReconciler);
    workers.add(NodeReconciler { signer: app.signer.clone(), policies: app.policies.clone() });
    workers.add(ProjectReconciler);
    workers.add(WalletReconciler);
}

/// Those that wait for what others run: customers' receivers, mail and MAAS servers, Stripe, stores.
/// Each says in which lane, or a slow one would hold up everything else.
fn add_outer(workers: &mut Workers, app: &App) {
    workers.add(DeliveryReconciler {
        sender: Sender::new(app.policies.clone()),
        keyring: app.keyring.clone(),
        policies: app.policies.clone(),
    });
    workers.add(MailReconciler::<Ordinary>::new(app.sending.clone(), app.keyring.clone(), app.policies.clone()));
    workers.add(MailReconciler::<Security>::new(app.sending.clone(), app.keyring.clone(), app.policies.clone()));
    workers.add(MachineReconciler {
        connector: app.metal.clone(),
        keyring: app.keyring.clone(),
        policies: app.policies.clone(),
        ca: app.ca.clone(),
        node_url: app.config.node.url.clone(),
    });
    workers.add(PaymentReconciler { provider: app.payments.clone(), policies: app.policies.clone() });
    workers.add(PaymentEventReconciler { provider: app.payments.clone(), policies: app.policies.clone() });
    workers.add(PaymentComparison { provider: app.payments.clone(), policies: app.policies.clone() });
    workers.add(RecordingReconciler { store: app.recordings.clone(), policies: app.policies.clone() });
    workers.add(RefundReconciler { provider: app.payments.clone(), policies: app.policies.clone() });
    workers.add(ProviderReconciler {
        connector: app.metal.clone(),
        keyring: app.keyring.clone(),
        policies: app.policies.clone(),
    });
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
    tasks.spawn(crate::telemetry::drain(stop.clone()));
    tasks.spawn(app.policies.clone().run(app.db.clone(), stop.clone()));
    tasks.spawn(app.signing.clone().run(app.policies.clone(), stop.clone()));
    tasks.spawn(app.signer.clone().run(app.keyring.clone(), app.policies.clone(), stop.clone()));
    tasks.spawn(app.ca.clone().run(app.policies.clone(), stop.clone()));
    tasks.spawn(listen_for_changes(app.clone(), stop.clone()));
    if roles.contains(&Role::Api) {
        tasks.spawn(app.recognizer.last_used.clone().run(app.db.clone(), stop.clone()));
        if let Some(oidc) = app.oidc.clone() {
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
        tasks.spawn(node_api::run(app.clone(), listener, stop.clone()));
    }
    if roles.contains(&Role::Keeper) {
        let settings = {
            let app = app.clone();
            move || seal_settings(&app)
        };
        let sealer = seals::Sealer { db: app.db.clone(), keyring: app.keyring.clone() };
        tasks.spawn(sealer.run(settings, stop.clone()));
        tasks.spawn(keep_house(app.clone(), stop.clone()));
        tasks.spawn(samples::run_keeper(app.clone(), stop.clone()));
        tasks.spawn(gauges::run(app.db.clone(), MEASURE, stop.clone()));
        tasks.spawn(crate::gauges::run(app.db.clone(), MEASURE, stop.clone()));
    }
    let limits = app.config.http.limits();
    // Ends last: while requests finish, readiness says why no new ones are taken.
    let finished = CancellationToken::new();
    let ops = listeners.ops.map(|listener| {
        let router = http::ops_router(app.clone());
        tokio::spawn(http::server::serve(listener, router, limits.clone(), finished.clone()))
    });
    if let Some(listener) = listeners.api {
        let mut router = http::router(app.clone());
        if app.config.http.ops_listen.is_none() {
            router = http::ops_router_beside(app.clone()).merge(router);
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
        tracing::warn!(%error, "the position of a former NATS relay stays; it keeps events from expiring until the next start");
    }
    bus(app).run(consumers(app), stop).await;
}

/// Feeds watchers, and forgets what an event made stale.
async fn listen_for_changes(app: Arc<App>, stop: CancellationToken) {
    let heard = {
        let app = app.clone();
        move |message: &kernel::outbox::Message| {
            Stale::after([message.subject.as_str()].into_iter()).forget(&app);
        }
    };
    let started = {
        let app = app.clone();
        move || {
            app.policies.forget();
            app.recognizer.forget();
        }
    };
    app.feed.clone().run(app.db.clone(), heard, started, stop).await;
}

/// Removes what is past its time, until stopped.
async fn keep_house(app: Arc<App>, stop: CancellationToken) {
    const BITE: i64 = 5_000;
    const SEALS: i64 = 100;
    while !stop.is_cancelled() {
        let retention =
            housekeeping::Retention { events: keys::days(app.policies.number(keys::EVENTS_DAYS)), bite: BITE };
        let outcome = async {
            let gone = housekeeping::sweep(&app.db, retention).await?;
            let kept = keys::days(app.policies.number(keys::SESSION_KEEP_DAYS));
            let sessions = crate::sessions::forget_old(&app.db, kept, BITE).await?;
            let sessions = sessions + crate::account_tokens::forget_old(&app.db, BITE).await?;
            let of_nodes = forget_certificates_and_tasks(&app, BITE).await?;
            let kept = keys::days(app.policies.number(keys::WEBHOOK_KEEP_DAYS));
            let deliveries = webhook_deliveries::forget_old(&app.db, kept, BITE).await?;
            let webhooks = webhooks::forget_old(&app.db, kept, BITE).await?;
            let told = forget_notifications(&app, BITE).await?;
            let told = told + access_tickets::forget_old(&app.db, BITE).await?;
            let told = told + crate::mfa::forget_old(&app.db, BITE).await?;
            let kept = keys::days(app.policies.number(keys::PAYMENTS_EVENTS_DAYS));
            let heard = payments::forget_old_events(&app.db, kept, BITE).await?;
            let audit = keys::days(app.policies.number(keys::AUDIT_DAYS));
            let seals = seals::expire(&app.db, audit, SEALS).await?;
            // A full bite of either means that there may be more.
            let full = seals >= SEALS as u64;
            let more = of_nodes + deliveries + webhooks + told + heard;
            Ok::<u64, sqlx::Error>(gone + sessions + more + if full { BITE as u64 } else { 0 })
        };
        match outcome.await {
            Ok(gone) if gone >= BITE as u64 => continue,
            Ok(_) => (),
            Err(error) => tracing::warn!(%error, "housekeeping failed; trying again later"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(HOUSEKEEPING) => (),
        }
    }
}

/// Forgets what people were told long ago.
async fn forget_notifications(app: &App, bite: i64) -> sqlx::Result<u64> {
    let kept = keys::days(app.policies.number(keys::NOTIFICATIONS_KEEP_DAYS));
    let told = notifications::forget_old(&app.db, kept, bite).await?;
    let kept = keys::days(app.policies.number(keys::MAIL_KEEP_DAYS));
    Ok(told + mails::forget_old(&app.db, kept, bite).await?)
}

/// Forgets certificates that cannot even be renewed any more, and orders to
/// hosts that were over long ago.
async fn forget_certificates_and_tasks(app: &App, bite: i64) -> sqlx::Result<u64> {
    let window = keys::hours(app.policies.number(keys::NODE_RENEW_WINDOW_HOURS));
    let mut tx = Tx::system(&app.db, "keeper", Access::Write).await?;
    let mut certificates = nodes::forget_old_certificates(&mut tx, window, bite).await?;
    certificates += gateways::forget_old_certificates(&mut tx, window, bite).await?;
    let kept = keys::days(app.policies.number(keys::TASKS_DAYS));
    let tasks = crate::tasks::forget_old(&mut tx, kept, bite).await?;
    tx.commit().await?;
    Ok(certificates + tasks)
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
