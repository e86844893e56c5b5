//! Backup and restore, the whole way round: another cluster takes over and
//! goes on where the backup was taken.

use std::{path::Path, sync::Arc};

use contract::{
    id::OrganizationId,
    organizations::{CloseOrganization, OrganizationPath},
    projects::{CreateProject, ListProjects, ProjectFilter, ProjectSpec},
};
use gpuaasd::roles::Role;
use serde_json::Value;
use sqlx::{Connection, PgConnection};
use testkit::{
    Database, Member, Server, World,
    process::{Daemon, free_port, run},
    server::eventually,
};

/// What was true when the backup was taken.
struct Past {
    database: Arc<Database>,
    owner: Member,
    operator: Member,
    kept: OrganizationId,
    closed: OrganizationId,
}

/// Two organizations: one goes on, one was closed while no relay ran, so that
/// the consumer of that event still has its work before it.
async fn past() -> Past {
    let database = Arc::new(Database::new().await);
    let server = Server::with(database.clone(), &[Role::Api, Role::Keeper], |_| ()).await;
    let world = World::on(server).await;
    let (closed, leaver) = world.organization().await;
    world.project(closed).await;
    let path = OrganizationPath { organization_id: closed };
    world.as_(&leaver).call::<CloseOrganization>(path, Default::default(), Default::default()).await.unwrap();
    let (kept, owner) = world.organization().await;
    create(&world.as_(&owner), kept, "before").await;
    let operator = world.operator().await;
    eventually("the first seals", || async { unsealed(&world.as_(&operator)).await == Some(0) }).await;
    world.server.stop().await;
    Past { database, owner, operator, kept, closed }
}

async fn create(client: &client::Client, organization: OrganizationId, name: &str) {
    let path = OrganizationPath { organization_id: organization };
    let spec = ProjectSpec { name: name.parse().unwrap() };
    client.call_with_key::<CreateProject>(name, path, Default::default(), spec).await.unwrap();
}

/// Verifies the whole log and says how many entries no seal covers yet.
async fn unsealed(operator: &client::Client) -> Option<i64> {
    let mut range = contract::audit::SealRange::default();
    loop {
        let report =
            operator.call::<contract::audit::VerifySeals>(Default::default(), range.clone(), Default::default()).await;
        let report = report.unwrap();
        assert_eq!(report.findings, [], "the log is as it was sealed");
        match report.next_after {
            Some(after) => range.after = after,
            None => return report.unsealed,
        }
    }
}

async fn one<T>(url: &str, statement: &'static str) -> T
where
    T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres> + Send + Unpin,
{
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::query_scalar(statement).fetch_one(&mut connection).await.unwrap()
}

async fn back_up(url: &str, file: &Path) {
    let said = run(&["backup", file.to_str().unwrap()], url).await;
    assert!(said.is_success && said.out.contains("secrets key"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_cluster_goes_on_from_a_backup() {
    let past = past().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gpuaas.backup");
    back_up(&past.database.url(), &file).await;
    let others = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions()) & 0o077;
    assert_eq!(others, 0, "it holds everything, so only its owner may read it");

    let cluster = testkit::database::start_disposable().await;
    gpuaasd::dev::prepare(&cluster).await.unwrap();
    let (url, above) = (cluster.url_as("gpuaas", "gpuaas"), cluster.url("gpuaas"));
    let said = run(&["restore", file.to_str().unwrap()], &url).await;
    assert!(said.is_success && said.out.contains("epoch 2"), "{said:?}");
    assert_eq!(
        one::<i64>(&above, "SELECT count(*) FROM pg_tables WHERE tableowner <> 'gpuaas' AND schemaname = 'public'")
            .await,
        0
    );
    let before: i64 = one(&above, "SELECT count(*) FROM audit").await;

    let daemon = Daemon::serve(&url, free_port(), &[]).await;
    assert_eq!(one::<i32>(&above, "SELECT epoch FROM installation").await, 2, "the server starts no further epoch");
    // Keys still work, repetitions are still recognized, and writes go on.
    let owner = daemon.client(&past.owner.token);
    create(&owner, past.kept, "before").await;
    create(&owner, past.kept, "after").await;
    let path = OrganizationPath { organization_id: past.kept };
    let page = owner.call::<ListProjects>(path, ProjectFilter::default(), Default::default()).await.unwrap();
    assert_eq!(page.items.len(), 2, "one of them was there already");

    let operator = daemon.client(&past.operator.token);
    eventually("new entries to be sealed", || async { unsealed(&operator).await == Some(0) }).await;
    assert!(one::<i64>(&above, "SELECT count(*) FROM audit").await > before);
    assert_eq!(one::<i32>(&above, "SELECT max(last_epoch) FROM seals").await, 2);

    // The event from before is consumed, once: nothing is lost, nothing doubled.
    eventually("the closed organization's project to go", || async {
        one::<i64>(&above, "SELECT count(*) FROM projects WHERE state = 'deleted'").await == 1
    })
    .await;
    let asked = "SELECT count(*) FROM outbox WHERE subject = 'project.delete_requested'";
    assert_eq!(one::<i64>(&above, asked).await, 1);
    let place: Value = one(&above, "SELECT to_jsonb(projects) FROM projects WHERE state = 'deleted'").await;
    assert_eq!(place["organization_id"], past.closed.uuid().to_string());
    assert!(daemon.stop().await.success());
    cluster.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_database_of_the_same_cluster_starts_a_new_epoch_too() {
    let database = Database::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gpuaas.backup");
    back_up(&database.url(), &file).await;
    let second = Database::empty().await;
    let said = run(&["restore", file.to_str().unwrap()], &second.url()).await;
    assert!(said.is_success, "{said:?}");
    assert_eq!(one::<i32>(&second.url(), "SELECT epoch FROM installation").await, 2);
    assert_eq!(one::<i32>(&database.url(), "SELECT epoch FROM installation").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_overwrites_no_file_and_a_malformed_one_is_refused() {
    let database = Database::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gpuaas.backup");
    std::fs::write(&file, "precious").unwrap();
    let said = run(&["backup", file.to_str().unwrap()], &database.url()).await;
    assert!(!said.is_success && said.err.contains("exists"), "{said:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");

    let empty = Database::empty().await;
    let said = run(&["restore", file.to_str().unwrap()], &empty.url()).await;
    assert!(!said.is_success && said.err.contains("pg_restore failed"), "{said:?}");

    let whole = folder.path().join("whole.backup");
    back_up(&database.url(), &whole).await;
    let said = run(&["restore", whole.to_str().unwrap()], &database.url()).await;
    assert!(!said.is_success && said.err.contains("empty database"), "{said:?}");

    let cut = folder.path().join("cut.backup");
    let bytes = std::fs::read(&whole).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() - bytes.len() / 4]).unwrap();
    let said = run(&["restore", cut.to_str().unwrap()], &empty.url()).await;
    assert!(!said.is_success, "{said:?}");
    let said = run(&["restore", whole.to_str().unwrap()], &empty.url()).await;
    assert!(said.is_success, "a failed restore leaves the database empty: {said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_hides_rows_from_the_backup_is_named() {
    let database = Database::new().await;
    let mut above = database.superuser().await;
    let hide = "ALTER POLICY system ON projects USING (state <> 'deleted')";
    sqlx::raw_sql(hide).execute(&mut above).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gpuaas.backup");
    let said = run(&["backup", file.to_str().unwrap()], &database.url()).await;
    assert!(!said.is_success && said.err.contains("projects"), "{said:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing half-done stays");
}
