//! Two replicas, PostgreSQL and the replicas killed again and again under load:
//! clients see successes, ended connections and 503 with `Retry-After`, and
//! afterwards everything acknowledged is there once and every event arrived.

use std::{
    collections::HashMap,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, atomic::Ordering},
    time::{Duration, Instant},
};

use contract::{
    Nothing,
    id::{EventId, OrganizationId, ProjectId},
    ledger::{GetAnyBalance, PlatformProofRange, ProveLedger},
    organizations::OrganizationPath,
    webhooks::{CreateWebhook, WebhookSpec},
};
use gpuaasd::{
    dev::postgres::{Cluster, ClusterOptions},
    roles::Role,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use testkit::{
    Database, Receiver, Server, World,
    process::{command, free_port, verify_audit},
    rounds, services,
    world::set_policy,
};
use tokio::process::Child;
use uuid::Uuid;

use crate::faults::load::{Book, GRANT_MICROS, Load};

const CLIENTS: usize = 4;
const EVENTS: [&str; 3] = ["project.created", "project.delete_requested", "project.deleted"];
/// How long what was interrupted may take to end once nothing is killed any more.
const PATIENCE: Duration = Duration::from_secs(90);

/// A PostgreSQL that is killed and started again on its data.
struct Postgres {
    folder: PathBuf,
    cluster: Option<Cluster>,
}

impl Postgres {
    async fn start(folder: &Path) -> Postgres {
        let mut postgres = Postgres { folder: folder.join("postgres"), cluster: None };
        postgres.start_again().await;
        postgres
    }

    async fn start_again(&mut self) {
        let options = ClusterOptions { durable: false, max_connections: 150, ..ClusterOptions::durable(&self.folder) };
        self.cluster = Some(Cluster::start(options).await.unwrap());
    }

    /// As `kill -9` of the postmaster; its children notice and end.
    async fn kill(&mut self) {
        let lock = std::fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap();
        let postmaster = lock.lines().next().unwrap().parse().unwrap();
        kill(Pid::from_raw(postmaster), Signal::SIGKILL).unwrap();
        self.cluster.take().unwrap().stop().await.unwrap();
    }
}

/// A `gpuaasd serve` that is started again when it ends, as by a service manager.
struct Replica {
    base: String,
    environment: Vec<(&'static str, String)>,
    url: String,
    child: Child,
}

impl Replica {
    fn start(url: &str, nats: &str) -> Replica {
        let port = free_port();
        let environment = vec![
            ("GPUAAS_LISTEN", format!("127.0.0.1:{port}")),
            ("GPUAAS_NATS_URL", nats.to_owned()),
            ("GPUAAS_LOG", "error".to_owned()),
        ];
        let child = spawn(url, &environment);
        Replica { base: format!("http://127.0.0.1:{port}"), environment, url: url.to_owned(), child }
    }

    /// Waits until it serves; one that could not start is started again.
    async fn serves(&mut self) {
        let (http, started) = (reqwest::Client::new(), Instant::now());
        loop {
            let answer = http.get(format!("{}/readyz", self.base)).timeout(Duration::from_secs(5)).send().await;
            if answer.is_ok_and(|it| it.status().is_success()) {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{} was not ready after {PATIENCE:?}", self.base);
            if self.child.try_wait().unwrap().is_some() {
                self.child = spawn(&self.url, &self.environment);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// As `kill -9`, and started again at once.
    async fn is_killed(&mut self) {
        self.child.kill().await.unwrap();
        self.child = spawn(&self.url, &self.environment);
    }
}

fn spawn(url: &str, environment: &[(&'static str, String)]) -> Child {
    command(&["serve"], url).envs(environment.iter().map(|(name, value)| (*name, value))).spawn().unwrap()
}

/// The same run again kills in the same order.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

struct Storm {
    database: Arc<Database>,
    load: Load,
    receiver: Receiver,
    replicas: [Replica; 2],
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_of_postgres_and_replicas_under_load_lose_nothing_and_answer_503() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    let mut postgres = Postgres::start(folder.path()).await;
    let database = Arc::new(Database::on(postgres.cluster.as_ref().unwrap()).await);
    let nats = services::nats().await;
    let mut storm = Storm::prepare(database, &nats.url("nats")).await;
    let clients: Vec<_> = (0..CLIENTS).map(|number| tokio::spawn(storm.load.clone().run(number))).collect();
    let (mut postgres_kills, mut replica_kills) = (rounds(20) as u64, rounds(100) as u64);
    let (began, mut dice) = (Instant::now(), Dice(20_261_117));
    while postgres_kills + replica_kills > 0 {
        tokio::time::sleep(Duration::from_millis(100 + dice.below(500))).await;
        if dice.below(postgres_kills + replica_kills) < postgres_kills {
            postgres_kills -= 1;
            postgres.kill().await;
            // A replica may be killed, or start, while the database is away.
            if replica_kills > 0 && dice.below(3) == 0 {
                replica_kills -= 1;
                storm.replicas[dice.below(2) as usize].is_killed().await;
            }
            postgres.start_again().await;
        } else {
            replica_kills -= 1;
            let replica = &mut storm.replicas[dice.below(2) as usize];
            // What is killed has served since the last time.
            replica.serves().await;
            replica.is_killed().await;
        }
    }
    for replica in &mut storm.replicas {
        replica.serves().await;
    }
    let stormed = began.elapsed();
    storm.load.over.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    let said = storm.is_sound().await;
    println!(
        "{} kills of PostgreSQL and {} of two replicas in {:.0} s: {said}",
        rounds(20),
        rounds(100),
        stormed.as_secs_f32()
    );
    for mut replica in storm.replicas {
        replica.child.kill().await.unwrap();
    }
    postgres.cluster.take().unwrap().stop().await.unwrap();
}

impl Storm {
    async fn prepare(database: Arc<Database>, nats: &str) -> Storm {
        let world = World::on(Server::with(database.clone(), &[Role::Api], |_| ()).await).await;
        let (organization, owner) = world.organization().await;
        let operator = world.operator().await;
        let staff = world.as_(&operator);
        for key in ["address", "default", "financial", "admin"] {
            set_policy(&staff, &format!("rate_limit.{key}_per_minute"), "1000000").await;
        }
        // What a dead process held is taken over soon.
        let soon = [("work.lease_seconds", "5"), ("work.sweep_seconds", "5"), ("webhooks.timeout_seconds", "2")];
        let more =
            [("webhooks.retry_seconds", "1"), ("projects.max", "1000000"), ("webhooks.allow_http_loopback", "true")];
        for (key, value) in soon.into_iter().chain(more) {
            set_policy(&staff, key, value).await;
        }
        let control_plane = &world.server.control_plane;
        control_plane.policies.refresh(&control_plane.db).await.unwrap();
        let receiver = Receiver::start().await;
        let events = EVENTS.map(|it| it.parse().unwrap()).to_vec();
        let spec = WebhookSpec { url: receiver.url.parse().unwrap(), events, description: None };
        let path = OrganizationPath { organization_id: organization };
        world.as_(&owner).call::<CreateWebhook>(path, Nothing {}, spec).await.unwrap();
        world.server.stop().await;
        let url = database.url();
        let mut replicas = [Replica::start(&url, nats), Replica::start(&url, nats)];
        for replica in &mut replicas {
            replica.serves().await;
        }
        let load = Load {
            bases: [replicas[0].base.clone(), replicas[1].base.clone()],
            organization,
            owner: owner.token,
            operator: operator.token,
            book: Arc::new(Mutex::new(Book::default())),
            over: Arc::default(),
        };
        Storm { database, load, receiver, replicas }
    }

    /// All invariants, once what was interrupted has ended.
    async fn is_sound(&self) -> String {
        let book = std::mem::take(&mut *self.load.book.lock().unwrap());
        assert_eq!(book.faults, Vec::<String>::new(), "{} faults; answers {:?}", book.faults.len(), book.statuses);
        self.ends().await;
        self.holds_what_was_acknowledged(&book).await;
        let (deliveries, worst) = self.all_arrived_in_order().await;
        let audit = verify_audit(&self.replicas[0].base, &self.load.operator).await;
        let books = self.books_prove(&book).await;
        format!(
            "answers {:?}, {} connections cut, 0 other 5xx; {} projects made, {} deleted, {} grants, each once; \
             {deliveries}, worst lag {:.1} s; {audit}; {books}",
            book.statuses,
            book.cut,
            book.projects.len(),
            book.deleted.len(),
            book.grants,
            worst.as_secs_f32()
        )
    }

    /// Waits until no project is being deleted and no delivery is on its way.
    async fn ends(&self) {
        let open = "SELECT (SELECT count(*) FROM projects WHERE state = 'deleting')
            + (SELECT count(*) FROM outbox o WHERE subject = ANY ($1)
               AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.event_id = o.id AND d.state = 'delivered'))";
        let started = Instant::now();
        loop {
            let mut connection = self.database.superuser().await;
            let left: i64 = sqlx::query_scalar(open).bind(EVENTS.as_slice()).fetch_one(&mut connection).await.unwrap();
            if left == 0 {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{left} projects and deliveries did not end");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn holds_what_was_acknowledged(&self, book: &Book) {
        let mut connection = self.database.superuser().await;
        let rows: Vec<(Uuid, String, String)> =
            sqlx::query_as("SELECT id, name, state FROM projects WHERE organization_id = $1")
                .bind(self.load.organization.uuid())
                .fetch_all(&mut connection)
                .await
                .unwrap();
        let held: HashMap<&str, (String, &str)> = rows
            .iter()
            .map(|(id, name, state)| (name.as_str(), (ProjectId::from(*id).to_string(), state.as_str())))
            .collect();
        assert_eq!(rows.len(), held.len(), "no name twice");
        assert_eq!(held.len(), book.projects.len(), "nothing that was not acknowledged");
        for (name, id) in &book.projects {
            let state = if book.deleted.contains(name) { "deleted" } else { "active" };
            assert_eq!(held.get(name.as_str()), Some(&(id.clone(), state)), "{name} was acknowledged");
        }
        let made = "SELECT (SELECT count(*) FROM outbox WHERE subject = 'project.created'),
            (SELECT count(*) FROM audit WHERE action = 'project.create' AND outcome = 'done')";
        let made: (i64, i64) = sqlx::query_as(made).fetch_one(&mut connection).await.unwrap();
        assert_eq!(made, (held.len() as i64, held.len() as i64), "one event and one audit entry each");
    }

    /// Every event reached the receiver, those of a project in their order;
    /// how many there were, and how late the latest came.
    async fn all_arrived_in_order(&self) -> (String, Duration) {
        let heard = self.receiver.heard();
        let mut first: HashMap<String, (usize, jiff::Timestamp)> = HashMap::new();
        for (place, heard) in heard.iter().enumerate() {
            let id = heard.event()["message_id"].as_str().unwrap().to_owned();
            first.entry(id).or_insert((place, heard.at));
        }
        let committed = "SELECT id, resource, (extract(epoch FROM at) * 1000000)::bigint FROM outbox
            WHERE subject = ANY ($1) ORDER BY epoch, xid, place";
        let events: Vec<(Uuid, String, i64)> = sqlx::query_as(committed)
            .bind(EVENTS.as_slice())
            .fetch_all(&mut self.database.superuser().await)
            .await
            .unwrap();
        let (mut last, mut worst) = (HashMap::new(), Duration::ZERO);
        for (id, resource, at) in &events {
            let id = EventId::from(*id).to_string();
            let (place, heard_at) = *first.get(&id).unwrap_or_else(|| panic!("{id} never arrived"));
            let before = last.insert(resource, place);
            assert!(before.is_none_or(|it| it < place), "{id} came before an earlier event of {resource}");
            let lag_us = u64::try_from(heard_at.as_microsecond() - at).unwrap_or(0);
            worst = worst.max(Duration::from_micros(lag_us));
        }
        let again = heard.len() - first.len();
        (format!("{} events delivered in order, {again} of them again", events.len()), worst)
    }

    async fn books_prove(&self, book: &Book) -> String {
        let client =
            client::Client::new(&self.replicas[1].base, client::Credential::bearer(&self.load.operator)).unwrap();
        let proof = client.call::<ProveLedger>(Nothing {}, PlatformProofRange::default(), Nothing {}).await.unwrap();
        assert_eq!((&proof.difference, &proof.next_after), (&None, &None), "{proof:?}");
        let posted = posted(&client, self.load.organization).await;
        assert_eq!(posted, book.grants * GRANT_MICROS, "each grant once");
        format!("the ledger proves {} journals", proof.journals)
    }
}

async fn posted(client: &client::Client, organization_id: OrganizationId) -> i64 {
    let path = OrganizationPath { organization_id };
    let balance = client.call::<GetAnyBalance>(path, Nothing {}, Nothing {}).await.unwrap();
    balance.items.iter().map(|it| it.posted_micros).sum()
}
