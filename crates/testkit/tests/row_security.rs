//! Whose rows a transaction sees is decided by the database.

use contract::id::OrganizationId;
use kernel::{Access, Actor, Db, Scope, Tx, tx::DbSettings};
use sqlx::Row;
use testkit::{Database, World};

async fn begin(db: &Db, scope: Scope, access: Access) -> Tx {
    Tx::begin(db, scope, access, Actor::system("test"), "test-cause".into()).await.unwrap()
}

async fn names(tx: &mut Tx, table: &str) -> Result<Vec<String>, sqlx::Error> {
    let statement = format!("SELECT id::text FROM {table}");
    sqlx::query_scalar(sqlx::AssertSqlSafe(statement)).fetch_all(tx.conn()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_where_shows_only_the_own_organization() {
    let world = World::new().await;
    let (mine, _) = world.organization().await;
    let (other, _) = world.organization().await;
    let own = world.project(mine).await;
    world.project(other).await;
    let db = &world.server.app.db;
    let mut tx = begin(db, Scope::Organization(mine.uuid()), Access::Read).await;
    assert_eq!(names(&mut tx, "projects").await.unwrap(), [own.uuid().to_string()]);
    tx.rollback().await.unwrap();
    let mut tx = begin(db, Scope::Organization(OrganizationId::generate().uuid()), Access::Read).await;
    assert!(names(&mut tx, "projects").await.unwrap().is_empty());
    tx.rollback().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_public_scope_sees_nothing_and_a_resting_connection_is_public() {
    let world = World::new().await;
    world.organization().await;
    let db = &world.server.app.db;
    for table in ["organizations", "projects", "users", "keys", "sessions", "memberships", "secrets"] {
        let mut tx = begin(db, Scope::Public, Access::Read).await;
        let seen = names(&mut tx, table).await;
        assert!(seen.is_err(), "{table} is not for the public role: {seen:?}");
        drop(tx);
    }
    let rows = db.glance(Scope::Public, "SELECT current_user::text AS me").await.unwrap();
    assert_eq!(rows[0].try_get::<String, _>("me").unwrap(), "gpuaas_public");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_cannot_write() {
    let world = World::new().await;
    let mut tx = begin(&world.server.app.db, Scope::System, Access::Read).await;
    let error = sqlx::query("UPDATE users SET name = 'x'").execute(tx.conn()).await.unwrap_err();
    assert!(error.to_string().contains("read-only"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_organization_cannot_write_into_another() {
    let world = World::new().await;
    let (mine, _) = world.organization().await;
    let (other, _) = world.organization().await;
    let mut tx = begin(&world.server.app.db, Scope::Organization(mine.uuid()), Access::Write).await;
    let refused = sqlx::query(
        "INSERT INTO projects (id, organization_id, name, state) VALUES (gen_random_uuid(), $1, 'x', 'active')",
    )
    .bind(other.uuid())
    .execute(tx.conn())
    .await
    .unwrap_err();
    assert!(refused.to_string().contains("row-level security"), "{refused}");
}

/// New tables cannot forget it: the catalogue is asked, not a list.
#[tokio::test(flavor = "multi_thread")]
async fn every_table_is_forced_or_says_why_not_and_no_role_owns_one() {
    let database = Database::new().await;
    let mut connection = database.superuser().await;
    let open: Vec<String> = sqlx::query_scalar(
        "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
           AND NOT (relrowsecurity AND relforcerowsecurity) ORDER BY 1",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    let not_tenant_data = [
        "_sqlx_migrations",
        "agent_updates",
        "consumed",
        "consumers",
        "enrolment_tokens",
        "gateway_beats",
        "gateway_certificates",
        "gateways",
        "gpu_rollups",
        "gpu_samples",
        "installation",
        "invoice_series",
        "legal_moves",
        "machines",
        "maintenance_nodes",
        "maintenance_windows",
        "node_certificates",
        "node_changes",
        "node_heartbeats",
        "node_rollups",
        "node_samples",
        "nodes",
        "payment_drift",
        "payment_events",
        "pools",
        "prices",
        "providers",
        "regions",
        "seals",
        "secrets",
        "skus",
        "slots",
        "tasks",
        "telemetry_late",
        "telemetry_progress",
        "work",
    ];
    assert_eq!(open, not_tenant_data);
    let owners: Vec<String> = sqlx::query_scalar(
        "SELECT DISTINCT pg_get_userbyid(relowner)::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    assert_eq!(owners, ["gpuaas"]);
    let above: Vec<String> = sqlx::query_scalar(
        "SELECT rolname::text FROM pg_roles WHERE rolname LIKE 'gpuaas%' AND (rolsuper OR rolbypassrls)",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    assert_eq!(above, Vec::<String>::new());
    let plain: Vec<String> = sqlx::query_scalar(
        "SELECT conrelid::regclass::text || '.' || conname FROM pg_constraint c
         WHERE contype = 'f' AND confrelid::regclass::text IN ('projects', 'service_accounts', 'invitations')
           AND NOT EXISTS (SELECT FROM unnest(conkey) k JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k WHERE a.attname = 'organization_id')",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    assert_eq!(plain, Vec::<String>::new(), "foreign keys between tenant tables carry the organization");
}

/// Even the owner of the tables, with a connection of its own, sees no tenant row.
#[tokio::test(flavor = "multi_thread")]
async fn the_owner_of_the_tables_is_bound_too() {
    let world = World::new().await;
    let (organization, _) = world.organization().await;
    world.project(organization).await;
    let url = world.server.database.url();
    let mut connection = <sqlx::PgConnection as sqlx::Connection>::connect(&url).await.unwrap();
    let seen: i64 = sqlx::query_scalar("SELECT count(*) FROM projects").fetch_one(&mut connection).await.unwrap();
    sqlx::raw_sql("SET ROLE gpuaas_tenant").execute(&mut connection).await.unwrap();
    let unscoped: i64 = sqlx::query_scalar("SELECT count(*) FROM projects").fetch_one(&mut connection).await.unwrap();
    assert_eq!((seen, unscoped), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_resting_connection_is_replaced_unseen() {
    let database = Database::new().await;
    let settings = DbSettings {
        url: database.url(),
        max_connections: 2,
        acquire_timeout: std::time::Duration::from_secs(5),
        statement_timeout: std::time::Duration::from_secs(5),
        lock_timeout: std::time::Duration::from_secs(1),
    };
    let db = Db::connect(&settings).await.unwrap();
    db.ping().await.unwrap();
    let mut connection = database.superuser().await;
    sqlx::query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
        .execute(&mut connection)
        .await
        .unwrap();
    begin(&db, Scope::System, Access::Read).await.commit().await.unwrap();
}
