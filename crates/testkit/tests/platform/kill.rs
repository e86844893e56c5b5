//! `kill -9` in the middle of concurrent writes: nothing acknowledged is
//! missing, nothing is doubled, the audit log verifies, the outbox drains.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use contract::id::OrganizationId;
use gpuaasd::roles::Role;
use reqwest::Client;
use sqlx::PgConnection;
use testkit::{
    Database, Server, World,
    process::{Daemon, free_port},
    rounds,
    server::eventually,
};
use tokio::sync::Mutex;

/// A write that was sent: the key, the name, and the id once acknowledged.
#[derive(Default)]
struct Book {
    acknowledged: HashMap<String, String>,
    uncertain: Vec<String>,
}

struct Writer {
    http: Client,
    base: String,
    token: String,
    organization: OrganizationId,
}

impl Writer {
    /// Creates the project whose name is its key; `None` when the daemon died.
    async fn write(&self, name: &str) -> Option<String> {
        let address = format!("{}/v1/organizations/{}/projects", self.base, self.organization);
        let request = self.http.post(address).bearer_auth(&self.token).header("idempotency-key", name);
        let answer = request.json(&serde_json::json!({ "name": name })).send().await.ok()?;
        let status = answer.status();
        let body: serde_json::Value = answer.json().await.ok()?;
        if status == 503 {
            return None;
        }
        assert_eq!(status, 201, "{body}");
        Some(body["id"].as_str().unwrap().to_owned())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_loses_and_doubles_nothing() {
    let database = Arc::new(Database::new().await);
    let world = World::on(Server::with(database.clone(), &[Role::Api], |_| ()).await).await;
    let (organization, owner) = world.organization().await;
    let operator = world.operator().await;
    let operator_client = world.as_(&operator);
    for key in ["rate_limit.address_per_minute", "rate_limit.default_per_minute", "projects.max"] {
        testkit::world::set_policy(&operator_client, key, "1000000").await;
    }
    world.server.stop().await;

    let port = free_port();
    let url = database.url();
    let mut daemon = Daemon::serve(&url, port, &[]).await;
    let book = Arc::new(Mutex::new(Book::default()));
    let numbers = Arc::new(AtomicU64::new(0));
    let kills = rounds(50);
    let mut verified = String::new();
    for round in 0..kills {
        let mut writers = Vec::new();
        for _ in 0..8 {
            let writer = Writer {
                http: Client::builder().timeout(Duration::from_secs(5)).build().unwrap(),
                base: daemon.base.clone(),
                token: owner.token.clone(),
                organization,
            };
            let (book, numbers) = (book.clone(), numbers.clone());
            writers.push(tokio::spawn(async move {
                loop {
                    let name = format!("w{}", numbers.fetch_add(1, Ordering::SeqCst));
                    match writer.write(&name).await {
                        Some(id) => {
                            book.lock().await.acknowledged.insert(name, id);
                        }
                        None => {
                            book.lock().await.uncertain.push(name);
                            return;
                        }
                    }
                }
            }));
        }
        // Spread by the round's number: the same run again kills at the same moments.
        tokio::time::sleep(Duration::from_millis(60 + (round as u64 * 37) % 240)).await;
        daemon.kill().await;
        for writer in writers {
            writer.await.unwrap();
        }
        daemon = Daemon::serve(&url, port, &[]).await;
        settle(&daemon, &owner.token, organization, &mut *book.lock().await).await;
        check(&database, &*book.lock().await, organization).await;
        verified = daemon.verify_audit(&operator.token).await;
        drained(&database).await;
    }
    let book = book.lock().await;
    println!(
        "{kills} kills, {} acknowledged writes, 0 missing, 0 doubled; {verified}; the outbox drained",
        book.acknowledged.len()
    );
    assert!(book.acknowledged.len() > kills, "the writers wrote");
    daemon.kill().await;
}

/// Repeats every write whose fate is unknown, under its own key.
async fn settle(daemon: &Daemon, token: &str, organization: OrganizationId, book: &mut Book) {
    let writer = Writer { http: Client::new(), base: daemon.base.clone(), token: token.to_owned(), organization };
    for name in std::mem::take(&mut book.uncertain) {
        let id = writer.write(&name).await.expect("the daemon is up again");
        book.acknowledged.insert(name, id);
    }
}

/// What the database holds is what was acknowledged, once.
async fn check(database: &Database, book: &Book, organization: OrganizationId) {
    let mut connection = database.superuser().await;
    let rows: Vec<(uuid::Uuid, String)> = sqlx::query_as("SELECT id, name FROM projects WHERE organization_id = $1")
        .bind(organization.uuid())
        .fetch_all(&mut connection)
        .await
        .unwrap();
    let held: HashMap<String, String> =
        rows.iter().map(|(id, name)| (name.clone(), contract::id::ProjectId::from(*id).to_string())).collect();
    assert_eq!(rows.len(), held.len(), "no name twice");
    for (name, id) in &book.acknowledged {
        assert_eq!(held.get(name), Some(id), "{name} was acknowledged");
    }
    assert_eq!(held.len(), book.acknowledged.len(), "nothing that nobody asked for");
    let events = count(&mut connection, "SELECT count(*) FROM outbox WHERE subject = 'project.created'").await;
    let entries =
        count(&mut connection, "SELECT count(*) FROM audit WHERE action = 'project.create' AND outcome = 'done'").await;
    assert_eq!((events, entries), (held.len() as i64, held.len() as i64), "one event and one audit entry each");
}

async fn count(connection: &mut PgConnection, statement: &'static str) -> i64 {
    sqlx::query_scalar(statement).fetch_one(connection).await.unwrap()
}

/// Every durable reader gets past every event.
async fn drained(database: &Database) {
    eventually("the outbox to drain", || async {
        let mut connection = database.superuser().await;
        let behind = count(
            &mut connection,
            "SELECT count(*) FROM consumers c WHERE EXISTS (SELECT FROM outbox o WHERE (o.epoch, o.xid, o.place) > (c.epoch, c.xid, c.place))",
        );
        let readers = behind.await;
        readers == 0 && count(&mut connection, "SELECT count(*) FROM consumers").await > 0
    })
    .await;
}
