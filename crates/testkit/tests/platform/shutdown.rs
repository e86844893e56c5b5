//! A server that is asked to stop finishes what it began, takes on nothing
//! new, and hands back what it has claimed.

use std::{sync::Arc, time::Duration};

use contract::{
    organizations::OrganizationPath,
    projects::{CreateProject, ProjectSpec},
};
use gpuaasd::roles::Role;
use nix::sys::signal::Signal;
use sqlx::PgConnection;
use testkit::{
    Database, Server, World,
    process::{Daemon, free_port},
    server::eventually,
};

/// Waits until a statement of the server waits for a lock of ours.
async fn somebody_waits(database: &Database, fragment: &str) {
    eventually("the server to wait for a lock", || async {
        let mut above = database.superuser().await;
        let waiting: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%')",
        )
        .bind(fragment)
        .fetch_one(&mut above)
        .await
        .unwrap();
        waiting
    })
    .await;
}

async fn is_stopping(ops: &str) -> bool {
    let answer = reqwest::get(format!("http://{ops}/readyz")).await.unwrap();
    let status = answer.status();
    let body: serde_json::Value = answer.json().await.unwrap();
    status == 503 && body["missing"].as_array().unwrap().contains(&"stopping".into())
}

async fn execute(connection: &mut PgConnection, statement: &'static str) {
    sqlx::raw_sql(statement).execute(connection).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_in_flight_finishes_while_new_ones_are_refused() {
    let database = Arc::new(Database::new().await);
    let world = World::on(Server::with(database.clone(), &[Role::Api], |_| ()).await).await;
    let (organization, owner) = world.organization().await;
    let (port, ops_port) = (free_port(), free_port());
    let ops = format!("127.0.0.1:{ops_port}");
    let mut command = testkit::process::command(&["serve", "--roles", "api"], &database.url());
    command.env("GPUAAS_LISTEN", format!("127.0.0.1:{port}")).env("GPUAAS_OPS_LISTEN", &ops);
    let mut daemon = Daemon { child: command.spawn().unwrap(), base: format!("http://{ops}") };
    daemon.ready(Duration::from_secs(30)).await;

    let mut above = database.superuser().await;
    execute(&mut above, "BEGIN; LOCK TABLE projects IN ACCESS EXCLUSIVE MODE").await;
    let client =
        client::Client::new(&format!("http://127.0.0.1:{port}"), client::Credential::bearer(&owner.token)).unwrap();
    let slow = tokio::spawn(async move {
        let path = OrganizationPath { organization_id: organization };
        let spec = ProjectSpec { name: "slow".parse().unwrap() };
        client.call::<CreateProject>(path, Default::default(), spec).await
    });
    somebody_waits(&database, "projects").await;
    daemon.signal(Signal::SIGTERM);

    eventually("new connections to be refused", || async {
        tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err()
    })
    .await;
    assert!(is_stopping(&ops).await);
    assert!(daemon.child.try_wait().unwrap().is_none(), "it waits for the request");

    execute(&mut above, "COMMIT").await;
    let project = slow.await.unwrap().unwrap();
    assert_eq!(project.name.as_str(), "slow");
    assert_eq!(daemon.child.wait().await.unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_was_claimed_but_not_begun_is_handed_back() {
    let database = Database::new().await;
    let ops = format!("127.0.0.1:{}", free_port());
    let mut command = testkit::process::command(&["serve", "--roles", "reconcile"], &database.url());
    command.env("GPUAAS_OPS_LISTEN", &ops);
    let mut daemon = Daemon { child: command.spawn().unwrap(), base: format!("http://{ops}") };
    daemon.ready(Duration::from_secs(30)).await;

    let mut above = database.superuser().await;
    execute(&mut above, "BEGIN; LOCK TABLE work IN ACCESS EXCLUSIVE MODE").await;
    execute(&mut above, "INSERT INTO work (kind, id) VALUES ('project', gen_random_uuid())").await;
    somebody_waits(&database, "FOR UPDATE SKIP LOCKED").await;
    daemon.signal(Signal::SIGTERM);
    // The row becomes visible, and is claimed, only after the stop was asked for.
    eventually("readiness to say so", || async { is_stopping(&ops).await }).await;
    execute(&mut above, "COMMIT").await;
    assert_eq!(daemon.child.wait().await.unwrap().code(), Some(0));

    let rows: Vec<(Option<uuid::Uuid>, i32)> =
        sqlx::query_as("SELECT lease, attempts FROM work WHERE kind = 'project'").fetch_all(&mut above).await.unwrap();
    assert_eq!(rows, [(None, 0)], "nobody holds it, and it counts as never tried");
    let server = Server::with(Arc::new(database), &[], |_| ()).await;
    let claims = kernel::work::claim(&server.control_plane.db, &["project"], Duration::from_secs(5), 1).await.unwrap();
    assert_eq!(claims.len(), 1, "another process may have it at once");
}
