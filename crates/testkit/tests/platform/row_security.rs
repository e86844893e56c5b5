//! Whose rows a transaction sees is decided by the database.

use std::sync::Arc;

use contract::id::OrganizationId;
use kernel::{Access, Actor, Db, Scope, Tx, tx::DbSettings};
use sqlx::{Connection, PgConnection, Row};
use testkit::{Database, Server, World};

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
    let db = &world.server.control_plane.db;
    let mut tx = begin(db, Scope::Organization(mine.uuid()), Access::Read).await;
    assert_eq!(names(&mut tx, "projects").await.unwrap(), [own.uuid().to_string()]);
    tx.rollback().await.unwrap();
    let mut tx = begin(db, Scope::Organization(OrganizationId::generate().uuid()), Access::Read).await;
    assert!(names(&mut tx, "projects").await.unwrap().is_empty());
    tx.rollback().await.unwrap();
}

/// A row of the organization's in every table that has organizations, whatever
/// it means: only whose it is matters. Answers the names of the tables.
async fn plant_everywhere(database: &Database, organization: OrganizationId) -> Vec<String> {
    let mut above = database.superuser().await;
    let drop_checks = "DO $$ DECLARE c record; BEGIN
        FOR c IN SELECT conrelid::regclass AS t, conname FROM pg_constraint
          WHERE contype = 'c' AND connamespace = 'public'::regnamespace LOOP
          EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.t, c.conname);
        END LOOP; END $$; SET session_replication_role = replica";
    sqlx::raw_sql(drop_checks).execute(&mut above).await.unwrap();
    let statements: Vec<(String, String)> = sqlx::query_as(
        "SELECT c.relname::text, format('INSERT INTO %I (%s) VALUES (%s) ON CONFLICT DO NOTHING', c.relname,
           string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum),
           string_agg(CASE WHEN a.attname = 'organization_id' THEN quote_literal($1) ELSE CASE format_type(a.atttypid, NULL)
             WHEN 'uuid' THEN 'gen_random_uuid()' WHEN 'timestamp with time zone' THEN 'now()' WHEN 'boolean' THEN 'false'
             WHEN 'integer' THEN '1' WHEN 'bigint' THEN '1' WHEN 'smallint' THEN '1' WHEN 'xid8' THEN quote_literal('1')
             WHEN 'text' THEN quote_literal('planted') WHEN 'bytea' THEN quote_literal('planted')
             ELSE quote_literal('{}') END END, ', ' ORDER BY a.attnum))
         FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
           AND (a.attname = 'organization_id' OR a.attnotnull AND NOT a.atthasdef AND a.attidentity = '')
         GROUP BY c.relname HAVING bool_or(a.attname = 'organization_id') ORDER BY 1",
    )
    .bind(organization.uuid().to_string())
    .fetch_all(&mut above)
    .await
    .unwrap();
    let mut tables = Vec::new();
    for (table, statement) in statements {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut above).await.unwrap();
        let count = format!("SELECT count(*) FROM {table} WHERE organization_id = $1");
        let planted: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(count))
            .bind(organization.uuid())
            .fetch_one(&mut above)
            .await
            .unwrap();
        assert!(planted > 0, "{table} has a row of the organization's");
        tables.push(table);
    }
    tables
}

/// How many rows a statement without any WHERE reaches for an organization, or why it is refused.
async fn reached(db: &Db, organization: OrganizationId, statement: &str) -> Result<u64, String> {
    let mut tx = begin(db, Scope::Organization(organization.uuid()), Access::Write).await;
    let done = sqlx::query(sqlx::AssertSqlSafe(statement.to_owned())).execute(tx.conn()).await;
    let code = |it: &sqlx::Error| it.as_database_error().and_then(|it| it.code().map(|it| it.into_owned()));
    done.map(|it| it.rows_affected()).map_err(|it| code(&it).unwrap_or_else(|| it.to_string()))
}

/// SQLSTATE `insufficient_privilege`.
const NOT_GRANTED: &str = "42501";

/// In every table that has organizations, not only where a test thought of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_where_reaches_no_row_of_another_organization_in_any_table() {
    let world = World::on(Server::alone(Arc::new(Database::new().await), |_| ()).await).await;
    let (victim, _) = world.organization().await;
    let tables = plant_everywhere(&world.server.database, victim).await;
    let db = &world.server.control_plane.db;
    let stranger = OrganizationId::generate();
    let mut granted = [0; 3];
    for table in &tables {
        let statements = [
            format!("SELECT 1 FROM {table} WHERE organization_id IS NOT NULL"),
            format!("UPDATE {table} SET organization_id = organization_id"),
            format!("DELETE FROM {table}"),
        ];
        for (granted, statement) in granted.iter_mut().zip(statements) {
            let own = reached(db, victim, &statement).await;
            let foreign = reached(db, stranger, &statement).await;
            let refused = Err(NOT_GRANTED.to_owned());
            assert!(foreign == Ok(0) || foreign == refused, "{statement}: {foreign:?} of another organization");
            // That it reaches the rows of whose they are shows that it could reach them at all.
            *granted += usize::from(own != Ok(0) && own != refused);
        }
    }
    let [reads, updates, deletes] = granted;
    println!(
        "{} tables with a row of the victim's: the tenant role reads {reads}, updates {updates} and deletes in {deletes} of them; of another organization's it reaches 0 rows",
        tables.len()
    );
    assert!(tables.len() >= 40 && reads >= 30, "{tables:?}");
}

/// Policies of the roles that act for callers which do not ask whose a row is.
async fn open_policies(connection: &mut PgConnection) -> Vec<String> {
    sqlx::query_scalar(
        "SELECT DISTINCT tablename || '.' || policyname FROM pg_policies
         CROSS JOIN LATERAL (VALUES (qual), (with_check)) AS said (expression)
         CROSS JOIN LATERAL unnest(roles) AS role
         WHERE schemaname = 'public' AND role IN ('gpuaas_tenant', 'gpuaas_person', 'gpuaas_public', 'public')
           AND expression IS NOT NULL
           AND NOT (expression ~ CASE role WHEN 'gpuaas_tenant' THEN 'scope_(organization|principal)[(][)]' ELSE 'scope_(user|principal)[(][)]' END
             AND expression !~ '( OR |<>|NOT )')
           AND NOT (expression = '(organization_id IS NULL)' AND (cmd = 'SELECT' OR cmd = 'INSERT' AND role <> 'gpuaas_tenant'))
         ORDER BY 1",
    )
    .fetch_all(connection)
    .await
    .unwrap()
}

/// What a policy says is judged, not only that there is one.
#[tokio::test(flavor = "multi_thread")]
async fn every_policy_for_callers_asks_whose_a_row_is_and_one_that_does_not_is_named() {
    let database = Database::new().await;
    let mut above = database.superuser().await;
    // Whoever signs in may open an organization; its members are decided elsewhere.
    let known = ["organizations.create_own"];
    assert_eq!(open_policies(&mut above).await, known);
    for (planted, name) in [
        ("CREATE POLICY careless ON projects FOR SELECT TO gpuaas_tenant USING (true)", "projects.careless"),
        ("CREATE POLICY careless ON budgets TO PUBLIC USING (true)", "budgets.careless"),
        (
            "CREATE POLICY careless ON invoices FOR SELECT TO gpuaas_tenant
             USING (organization_id = (SELECT scope_organization()) OR true)",
            "invoices.careless",
        ),
        (
            "CREATE POLICY careless ON webhooks FOR INSERT TO gpuaas_tenant WITH CHECK (organization_id IS NOT NULL)",
            "webhooks.careless",
        ),
        ("CREATE POLICY careless ON ssh_keys FOR SELECT TO gpuaas_person USING (name = 'x')", "ssh_keys.careless"),
    ] {
        let mut tx = above.begin().await.unwrap();
        sqlx::raw_sql(planted).execute(&mut *tx).await.unwrap();
        let found = open_policies(&mut tx).await;
        assert!(found.contains(&name.to_owned()), "{name} is named: {found:?}");
        tx.rollback().await.unwrap();
    }
}

/// The check of a plain foreign key looks past row-level security.
#[tokio::test(flavor = "multi_thread")]
async fn foreign_keys_between_any_two_tenant_tables_carry_the_organization() {
    let database = Database::new().await;
    let mut above = database.superuser().await;
    let plain: Vec<(String, bool)> = sqlx::query_as(
        "SELECT conrelid::regclass::text || '.' || conname, has_any_column_privilege('gpuaas_tenant', conrelid, 'INSERT, UPDATE')
         FROM pg_constraint c WHERE contype = 'f' AND confrelid <> 'organizations'::regclass
           AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.conrelid AND attname = 'organization_id')
           AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.confrelid AND attname = 'organization_id')
           AND NOT EXISTS (SELECT FROM unnest(conkey) k JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k
             WHERE a.attname = 'organization_id') ORDER BY 1",
    )
    .fetch_all(&mut above)
    .await
    .unwrap();
    // Tenants write neither; chunks carry the organization to their recording beside it.
    let known = [
        ("checkpoints.checkpoints_account_id_fkey".to_owned(), false),
        ("recording_chunks.recording_chunks_recording_id_segment_fkey".to_owned(), false),
    ];
    assert_eq!(plain, known);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_public_scope_sees_nothing_and_a_resting_connection_is_public() {
    let world = World::new().await;
    world.organization().await;
    let db = &world.server.control_plane.db;
    for table in ["organizations", "projects", "users", "keys", "sessions", "memberships", "secrets"] {
        let mut tx = begin(db, Scope::Public, Access::Read).await;
        let seen = names(&mut tx, table).await;
        assert!(seen.is_err(), "{table} is not for the public role: {seen:?}");
        drop(tx);
    }
    let rows = db.read_once(Scope::Public, "SELECT current_user::text AS me").await.unwrap();
    assert_eq!(rows[0].try_get::<String, _>("me").unwrap(), "gpuaas_public");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_cannot_write() {
    let world = World::new().await;
    let mut tx = begin(&world.server.control_plane.db, Scope::System, Access::Read).await;
    let error = sqlx::query("UPDATE users SET name = 'x'").execute(tx.conn()).await.unwrap_err();
    assert!(error.to_string().contains("read-only"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_organization_cannot_write_into_another() {
    let world = World::new().await;
    let (mine, _) = world.organization().await;
    let (other, _) = world.organization().await;
    let mut tx = begin(&world.server.control_plane.db, Scope::Organization(mine.uuid()), Access::Write).await;
    let refused = sqlx::query(
        "INSERT INTO projects (id, organization_id, name, state) VALUES (gen_random_uuid(), $1, 'x', 'active')",
    )
    .bind(other.uuid())
    .execute(tx.conn())
    .await
    .unwrap_err();
    assert!(refused.to_string().contains("row-level security"), "{refused}");
}

/// New tables cannot forget it: the catalog is asked, not a list.
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
        "enrollment_tokens",
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
