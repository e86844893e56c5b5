//! A control plane whose relay is in the test's hands.

use std::{sync::Arc, time::Duration};

use gpuaasd::{
    adapters::nats::Nats,
    control_plane::ControlPlane,
    roles::{self, Role},
};
use kernel::{
    Access, Tx,
    bus::{Bus, Consumer, LiveSettings, Settings, embedded::Embedded},
    outbox::{self, NewEvent},
    work::Workers,
};
use platform::dead_letters::DeadLetterReconciler;
use sqlx::PgConnection;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Effect, recorder::SAID};
use crate::{
    Database, Server, World,
    services::{self, Service},
};

pub struct Stand {
    pub world: World,
    pub nats: Option<Service>,
    pub settings: Settings,
    /// How long a NATS server waits before it hands a message to another replica.
    pub ack_wait: Duration,
}

/// Fast enough for tests; a message is tried three times.
const SETTINGS: Settings = Settings {
    poll: Duration::from_millis(100),
    batch: 10,
    attempts: 3,
    first_retry: Duration::from_millis(10),
    slowest_retry: Duration::from_millis(50),
    redeliver_after: Duration::from_secs(300),
};
const ACK_WAIT: Duration = Duration::from_secs(1);

impl Stand {
    pub async fn embedded() -> Stand {
        Stand::on(None).await
    }

    pub async fn nats() -> Stand {
        Stand::on(Some(services::nats().await)).await
    }

    /// On a cluster of its own, for a test that keeps a transaction open: nobody else's
    /// events wait for it.
    pub async fn nats_alone() -> Stand {
        Stand::in_database(Database::alone().await, Some(services::nats().await)).await
    }

    pub async fn on(nats: Option<Service>) -> Stand {
        Stand::in_database(Database::new().await, nats).await
    }

    async fn in_database(database: Database, nats: Option<Service>) -> Stand {
        let database = Arc::new(database);
        let mut admin = database.superuser().await;
        let tables = "CREATE TABLE effects (nth bigint GENERATED ALWAYS AS IDENTITY, consumer text, message_id uuid,
             subject text, resource text, version bigint, correlation_id text, traceparent text);
           CREATE TABLE things (id text PRIMARY KEY, version bigint NOT NULL);
           CREATE TABLE scraps (id bigint GENERATED ALWAYS AS IDENTITY);
           GRANT ALL ON effects, things, scraps TO gpuaas_system";
        sqlx::raw_sql(tables).execute(&mut admin).await.unwrap();
        let server = server(database, nats.as_ref()).await;
        Stand { world: World::on(server).await, nats, settings: SETTINGS, ack_wait: ACK_WAIT }
    }

    pub fn control_plane(&self) -> &Arc<ControlPlane> {
        &self.world.server.control_plane
    }

    /// Another process on the same database and the same NATS.
    pub async fn replica(&self) -> Server {
        server(self.world.server.database.clone(), self.nats.as_ref()).await
    }

    pub fn run(&self, consumers: Vec<Arc<dyn Consumer>>) -> Running {
        self.run_in(self.control_plane(), consumers)
    }

    pub fn run_in(&self, control_plane: &ControlPlane, consumers: Vec<Arc<dyn Consumer>>) -> Running {
        let (db, settings) = (control_plane.db.clone(), self.settings);
        let settings: LiveSettings = Arc::new(move || settings);
        let bus: Box<dyn Bus> = match control_plane.nats.clone() {
            None => Box::new(Embedded { db, settings }),
            Some(connection) => {
                Box::new(Nats::new(connection, db, settings, control_plane.policies.clone(), self.ack_wait))
            }
        };
        let stop = CancellationToken::new();
        let task = tokio::spawn({
            let stop = stop.clone();
            async move { bus.run(consumers, stop).await }
        });
        Running { stop, task }
    }

    pub async fn tx(&self) -> Tx {
        Tx::system(&self.control_plane().db, "conformance", Access::Write).await.unwrap()
    }

    /// Commits one event.
    pub async fn say(&self, subject: &str, resource: &str, version: i64) {
        let mut tx = self.tx().await;
        outbox::emit(&mut tx, event(subject, resource, version));
        tx.commit().await.unwrap();
    }

    pub async fn admin(&self) -> PgConnection {
        self.world.server.database.superuser().await
    }

    /// What the consumer did, in the order in which it did it.
    pub async fn effects(&self, consumer: &str) -> Vec<Effect> {
        let statement = "SELECT message_id, subject, resource, version, correlation_id, traceparent FROM effects
             WHERE consumer = $1 ORDER BY nth";
        sqlx::query_as(statement).bind(consumer).fetch_all(&mut self.admin().await).await.unwrap()
    }

    /// Waits for so many effects, and a little longer for one too many.
    pub async fn effects_become(&self, consumer: &str, wanted: usize) -> Vec<Effect> {
        let started = std::time::Instant::now();
        let mut seen = self.effects(consumer).await;
        while seen.len() < wanted {
            let patience = Duration::from_secs(60);
            assert!(started.elapsed() < patience, "{} of {wanted} effects after {patience:?}", seen.len());
            tokio::time::sleep(Duration::from_millis(20)).await;
            seen = self.effects(consumer).await;
        }
        // pause: one too many would come in it
        tokio::time::sleep(Duration::from_millis(150)).await;
        seen = self.effects(consumer).await;
        assert_eq!(seen.len(), wanted, "doubled: {seen:#?}");
        seen
    }

    /// How many effects, events, audit entries and wakes recorders left.
    pub async fn left_behind(&self) -> [i64; 4] {
        let statement = "SELECT (SELECT count(*) FROM effects), (SELECT count(*) FROM outbox WHERE subject = $1),
             (SELECT count(*) FROM audit WHERE action = $1), (SELECT count(*) FROM work WHERE kind = $1)";
        let found: (i64, i64, i64, i64) =
            sqlx::query_as(statement).bind(SAID).fetch_one(&mut self.admin().await).await.unwrap();
        found.into()
    }

    /// Visits dead letters until nothing is due.
    pub async fn redeliver(&self, consumers: Vec<Arc<dyn Consumer>>) {
        let control_plane = self.control_plane();
        let mut workers = Workers::default();
        workers.add(DeadLetterReconciler { consumers, policies: control_plane.policies.clone() });
        workers.settle(&control_plane.db, roles::work_settings(control_plane)).await.unwrap();
    }
}

async fn server(database: Arc<Database>, nats: Option<&Service>) -> Server {
    let url = nats.map(|it| it.url("nats"));
    Server::with(database, &[Role::Api], |config| config.nats.url = url).await
}

pub fn event(subject: &str, resource: &str, version: i64) -> NewEvent {
    NewEvent {
        subject: subject.to_owned(),
        organization: None,
        resource: Some(resource.to_owned()),
        version: Some(version),
        data: serde_json::json!({ "version": version }),
    }
}

/// A bus at work; it ends when dropped.
pub struct Running {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    /// As a process that is asked to stop.
    pub async fn stop(mut self) {
        self.stop.cancel();
        (&mut self.task).await.unwrap();
    }

    /// As a process that is killed, wherever it is.
    pub async fn kill(mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}
