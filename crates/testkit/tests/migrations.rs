//! The schema's steps, up and down, on a database that is in use.

use std::{collections::BTreeSet, sync::Arc};

use contract::{
    Permission, Role, SecretText,
    invitations::{CreateInvitation, InvitationSpec},
    keys::KeySpec,
    organizations::{CloseOrganization, OrganizationPath},
    projects::{CreateProject, ProjectSpec},
    service_accounts::{CreateServiceAccount, CreateServiceAccountKey, ServiceAccountPath, ServiceAccountSpec},
    sessions::{CreateSession, Credentials},
};
use control::{dev::postgres::Binaries, migrations};
use kernel::{
    Access, Tx,
    bus::{BoxFuture, ConsumeError, Consumer, embedded},
    outbox::Message,
};
use testkit::{
    Database, Server, World,
    process::{Daemon, command, free_port, run, said},
    server::eventually,
    world::{PASSWORD, set_policy},
};
use tokio_util::sync::CancellationToken;

/// A consumer that never manages, so that there is a dead letter.
struct Failing;

impl Consumer for Failing {
    fn name(&self) -> &'static str {
        "test.failing"
    }
    fn wants(&self, subject: &str) -> bool {
        subject == "project.created"
    }
    fn handle<'a>(&'a self, _: &'a mut Tx, _: &'a Message) -> BoxFuture<'a, Result<(), ConsumeError>> {
        Box::pin(async { Err(ConsumeError::Failed("planted".into())) })
    }
}

/// Uses the API until every table has a row.
async fn populated() -> Arc<Database> {
    let database = Arc::new(Database::new().await);
    let world = World::on(Server::with(database.clone(), &control::roles::Role::ALL, |_| ()).await).await;
    let operator = world.operator().await;
    set_policy(&world.as_(&operator), "projects.max", "7").await;
    let person = world.person_with_password().await;
    let credentials = Credentials { email: person.email, password: SecretText::new(PASSWORD.to_owned()) };
    world.server.client(None).call::<CreateSession>(Default::default(), Default::default(), credentials).await.unwrap();

    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    let path = || OrganizationPath { organization_id: organization };
    let spec = ProjectSpec { name: "one".parse().unwrap() };
    client.call::<CreateProject>(path(), Default::default(), spec).await.unwrap();
    let spec = InvitationSpec { email: "guest@example.test".parse().unwrap(), role: Role::Viewer };
    client.call::<CreateInvitation>(path(), Default::default(), spec).await.unwrap();
    let spec = ServiceAccountSpec { name: "robot".parse().unwrap(), role: Role::Viewer };
    let account = client.call::<CreateServiceAccount>(path(), Default::default(), spec).await.unwrap();
    let account = ServiceAccountPath { organization_id: organization, service_account_id: account.id };
    let spec = KeySpec { name: "key".parse().unwrap(), scopes: vec![Permission::ProjectsRead], expires_at: None };
    client.call::<CreateServiceAccountKey>(account, Default::default(), spec).await.unwrap();
    // Its consumer leaves a trace in `consumed`.
    let (closing, leaver) = world.organization().await;
    let path = OrganizationPath { organization_id: closing };
    world.as_(&leaver).call::<CloseOrganization>(path, Default::default(), Default::default()).await.unwrap();

    plant(&world).await;
    eventually("every table to have a row", || async { empty_tables(&database).await.is_empty() }).await;
    world.server.stop().await;
    database
}

/// What no request of this test leads to: a dead letter, and sign-ins elsewhere.
async fn plant(world: &World) {
    let app = &world.server.app;
    let settings = kernel::bus::Settings { attempts: 1, ..control::roles::bus_settings(app) };
    let stop = CancellationToken::new();
    embedded::pass(&app.db, &Failing, &settings, &stop).await.unwrap();
    let person = world.person().await;
    let mut tx = Tx::system(&app.db, "test", Access::Write).await.unwrap();
    sqlx::query("INSERT INTO identity_links (issuer, subject, user_id) VALUES ('https://issuer.test', 'subject', $1)")
        .bind(person.id.uuid())
        .execute(tx.conn())
        .await
        .unwrap();
    sqlx::query("INSERT INTO oidc_starts (state_hash, verifier, nonce, redirect_uri, expires_at) VALUES ('s', 'v', 'n', 'r', app_now() + interval '1 hour')")
        .execute(tx.conn())
        .await
        .unwrap();
    tx.commit().await.unwrap();
}

async fn tables(database: &Database) -> BTreeSet<String> {
    let mut above = database.superuser().await;
    let names = sqlx::query_scalar("SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'");
    names.fetch_all(&mut above).await.unwrap().into_iter().collect()
}

async fn empty_tables(database: &Database) -> Vec<String> {
    let mut above = database.superuser().await;
    let mut empty = Vec::new();
    for table in tables(database).await {
        let statement = format!("SELECT NOT EXISTS (SELECT FROM {table})");
        if sqlx::query_scalar(sqlx::AssertSqlSafe(statement)).fetch_one(&mut above).await.unwrap() {
            empty.push(table);
        }
    }
    empty
}

/// The schema as PostgreSQL writes it down, without what differs between two dumps of one.
async fn schema(database: &Database) -> String {
    let program = Binaries::for_server(0).unwrap().program("pg_dump");
    let mut dump = tokio::process::Command::new(program);
    dump.args(["--schema-only", "--username=postgres", "--dbname"]).arg(&database.name);
    let said = said({
        dump.arg("--host").arg(database.socket_dir());
        dump
    })
    .await;
    assert!(said.is_success, "{said:?}");
    let is_kept = |line: &&str| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict");
    said.out.lines().filter(is_kept).collect::<Vec<_>>().join("\n")
}

fn versions() -> Vec<i64> {
    let ups = migrations::STEPS.iter().filter(|it| it.migration_type.is_up_migration());
    ups.map(|it| it.version).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_populated_database_goes_down_and_up_again() {
    let database = populated().await;
    assert_eq!(empty_tables(&database).await, Vec::<String>::new());
    let before = schema(&database).await;
    let url = database.url();
    // Each step alone, newest first, then all of them.
    for version in versions().into_iter().rev() {
        migrations::down(&url, version - 1).await.unwrap();
        let taken = migrations::status(&url).await.unwrap();
        let is_right = |it: &migrations::Step| (it.state == migrations::State::Applied) == (it.version < version);
        assert!(taken.iter().all(is_right), "{taken:?}");
        migrations::up(&url).await.unwrap();
        assert_same(&before, &schema(&database).await, version);
    }
    let said = run(&["migrate", "down", "--to", "0"], &url).await;
    assert!(said.is_success && said.out.contains("missing") && !said.out.contains("applied"), "{said:?}");
    assert_eq!(tables(&database).await, BTreeSet::from(["_sqlx_migrations".to_owned()]), "nothing else is left");
    let said = run(&["migrate", "up"], &url).await;
    assert!(said.is_success && !said.out.contains("missing"), "{said:?}");
    assert_same(&before, &schema(&database).await, 0);
    let world = World::on(Server::with(database, &control::roles::Role::ALL, |_| ()).await).await;
    let (organization, _) = world.organization().await;
    world.project(organization).await;
}

/// Names the first line that differs; the whole schema would hide it.
fn assert_same(before: &str, after: &str, version: i64) {
    for (line, (before, after)) in before.lines().zip(after.lines()).enumerate() {
        assert_eq!(before, after, "line {line} of the schema after step {version} came back");
    }
    assert_eq!(before.lines().count(), after.lines().count());
}

#[tokio::test(flavor = "multi_thread")]
async fn several_processes_may_migrate_at_once() {
    let database = Database::empty().await;
    let url = database.url();
    let all: Vec<_> = (0..5).map(|_| tokio::spawn(said(command(&["migrate", "up"], &url)))).collect();
    for one in all {
        let said = one.await.unwrap();
        assert!(said.is_success, "{said:?}");
    }
    assert!(tables(&database).await.contains("projects"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_schema_is_not_served() {
    let database = Database::empty().await;
    let said = run(&["serve"], &database.url()).await;
    assert!(!said.is_success && said.err.contains("gpuaasd migrate up"), "{said:?}");
    migrations::up(&database.url()).await.unwrap();
    migrations::down(&database.url(), migrations::newest() - 1).await.unwrap();
    let said = run(&["config", "check", "--connect"], &database.url()).await;
    assert!(!said.is_success && said.err.contains("gpuaasd migrate up"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_schema_is_served_until_it_takes_something_away() {
    let database = Database::new().await;
    let mut above = database.superuser().await;
    let later = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
        VALUES (9001, 'of a later release', true, 'x', 0)";
    sqlx::raw_sql(later).execute(&mut above).await.unwrap();
    Daemon::serve(&database.url(), free_port(), &[]).await.stop().await;
    let said = run(&["migrate", "status"], &database.url()).await;
    assert!(said.is_success && said.out.contains("later release"), "{said:?}");
    for change in [vec!["migrate", "up"], vec!["migrate", "down", "--to", "1"]] {
        let said = run(&change, &database.url()).await;
        assert!(!said.is_success && said.err.contains("9001"), "{said:?}");
    }
    sqlx::raw_sql("UPDATE installation SET needs_step = 9001").execute(&mut above).await.unwrap();
    let said = run(&["serve"], &database.url()).await;
    assert!(!said.is_success && said.err.contains("install the release"), "{said:?}");
}
