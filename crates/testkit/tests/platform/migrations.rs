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
    webhooks::{CreateWebhook, WebhookSpec},
};
use gpuaasd::{dev::postgres::Binaries, migrations};
use kernel::{
    Access, Tx,
    bus::{BoxFuture, ConsumeError, Consumer, embedded},
    outbox::Message,
};
use sqlx::Connection;
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
    let world = World::on(Server::with(database.clone(), &gpuaasd::roles::Role::ALL, |_| ()).await).await;
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
    let spec = WebhookSpec {
        url: "https://receiver.invalid/".parse().unwrap(),
        events: vec!["*".parse().unwrap()],
        description: None,
    };
    client.call::<CreateWebhook>(path(), Default::default(), spec).await.unwrap();
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
    eventually("consumers, seals and deliveries to leave their rows", || async {
        empty_tables(&database).await.iter().all(|it| FLEET.contains(&format!("INSERT INTO {it} ")))
    })
    .await;
    // A running server would work on what is planted next, and delete some of it.
    world.server.stop().await;
    sqlx::raw_sql(FLEET).execute(&mut database.superuser().await).await.unwrap();
    database
}

/// A row for each table of the fleet and its allocations, and for those that a server empties.
const FLEET: &str = "
    SET session_replication_role = replica; -- states are guarded by lifecycles, which are not what is tested
    INSERT INTO work (kind, id) SELECT 'test', gen_random_uuid();
    INSERT INTO regions (id, name) SELECT gen_random_uuid(), 'north';
    INSERT INTO pools (id, region_id, name, provider, isolation, isolates_vms)
      SELECT gen_random_uuid(), id, 'hosts', 'sim', 'user_revoke', false FROM regions;
    INSERT INTO nodes (id, region_id, pool_id, name, state) SELECT gen_random_uuid(), region_id, id, 'n1', 'ready' FROM pools;
    INSERT INTO agent_updates (id, node_id, pool_id, rollout_id, agent_version, state)
      SELECT gen_random_uuid(), id, pool_id, id, '0.2.0', 'updated' FROM nodes;
    INSERT INTO node_heartbeats (node_id, last_seen_at, generation) SELECT id, app_now(), 1 FROM nodes;
    INSERT INTO node_certificates (serial, node_id, expires_at) SELECT '1', id, app_now() FROM nodes;
    INSERT INTO node_changes (node_id, xid) SELECT id, pg_current_xact_id() FROM nodes;
    INSERT INTO enrollment_tokens (id, hash, pool_id, expires_at) SELECT gen_random_uuid(), 'h', id, app_now() FROM pools;
    INSERT INTO providers (id, name, kind, pool_id, url, series, erase, max_machines, state)
      SELECT gen_random_uuid(), 'maas', 'maas', id, 'http://maas/MAAS', 'noble', 'secure', 1, 'removed' FROM pools;
    INSERT INTO machines (id, provider_id, pool_id, system_id, hostname, state)
      SELECT gen_random_uuid(), id, pool_id, 'a1', 'a1', 'retired' FROM providers;
    INSERT INTO slots (id, node_id, place, gpu_uuid, pci, model, memory_bytes)
      SELECT gen_random_uuid(), id, 0, 'GPU-1', '0000:01:00.0', 'NVIDIA H200', 1 FROM nodes;
    INSERT INTO skus (id, name, shape, gpu_counts, numa_bound) SELECT gen_random_uuid(), 'slice', 'gpu_slice', '{1}', false;
    INSERT INTO prices (id, sku_id, unit, kind, version, currency, price_micros, effective_at)
      SELECT gen_random_uuid(), id, 'gpu_hour', 'on_demand', 1, 'USD', 1, app_now() FROM skus;
    INSERT INTO quotas (id, organization_id, sku_id, gpus) SELECT gen_random_uuid(), o.id, s.id, 1 FROM organizations o, skus s;
    INSERT INTO ssh_keys (id, user_id, name, public_key, fingerprint)
      SELECT gen_random_uuid(), id, 'laptop', 'ssh-ed25519 AAAA', 'SHA256:' || id FROM users;
    INSERT INTO allocations (id, organization_id, project_id, sku_id, gpus, nodes, same_fabric, login, created_by, state)
      SELECT gen_random_uuid(), p.organization_id, p.id, s.id, 1, 1, false, 'g', 'test', 'active' FROM projects p, skus s;
    INSERT INTO allocation_keys (organization_id, allocation_id, user_id, ssh_key_id, place)
      SELECT a.organization_id, a.id, k.user_id, k.id, 1 FROM allocations a, ssh_keys k;
    INSERT INTO allocation_parts (organization_id, allocation_id, node_id, gpus, slots)
      SELECT a.organization_id, a.id, n.id, '{}', '{}' FROM allocations a, nodes n;
    INSERT INTO tasks (id, node_id, kind, subject_id, version, verb, key_id, payload, signature, expires_at)
      SELECT gen_random_uuid(), n.id, 'allocation', a.id, 1, 'ensure_gone', 'k', 'p', 's', app_now() FROM allocations a, nodes n;
    INSERT INTO node_samples (node_id, at, cpu_percent, memory_used_bytes) SELECT id, app_now(), 1, 1 FROM nodes;
    INSERT INTO gpu_samples (slot_id, at, utilization_percent, memory_used_bytes, temperature_c, power_mw)
      SELECT id, app_now(), 1, 1, 1, 1 FROM slots;
    INSERT INTO node_rollups SELECT id, 3600, app_now(), 1, 1, 1, 1, 1 FROM nodes;
    INSERT INTO gpu_rollups SELECT id, 3600, app_now(), 1, 1, 1, 1, 1, 1, 1, 1, 1 FROM slots;
    INSERT INTO telemetry_progress VALUES (1, '-infinity') ON CONFLICT DO NOTHING;
    INSERT INTO telemetry_late SELECT id, app_now() + interval '1 hour' FROM nodes;
    INSERT INTO maintenance_windows (id, node_id, starts_at, ends_at, reason, state)
      SELECT gen_random_uuid(), id, app_now(), app_now() + interval '1 hour', 'test', 'canceled' FROM nodes;
    INSERT INTO maintenance_nodes SELECT w.id, w.node_id, false, app_now() FROM maintenance_windows w;
    INSERT INTO maintenance_notices SELECT p.organization_id, p.id, w.id FROM projects p, maintenance_windows w;
    INSERT INTO notifications (id, user_id, kind, cause, title, body)
      SELECT gen_random_uuid(), id, 'wallet_low', gen_random_uuid(), 'title', 'body' FROM users;
    INSERT INTO budgets (id, organization_id, project_id, subject_id, amount_micros, currency, period, mode, thresholds)
      SELECT gen_random_uuid(), organization_id, id, id, 1, 'USD', 'month', 'hard', '{50}' FROM projects;
    INSERT INTO budget_notices (organization_id, budget_id, since, percent) SELECT organization_id, id, app_now(), 50 FROM budgets;
    INSERT INTO notification_preferences (user_id, kind, email) SELECT id, 'wallet_low', false FROM users;
    INSERT INTO mails (id, user_id, kind, cause, title, body, state)
      SELECT gen_random_uuid(), id, 'wallet_low', gen_random_uuid(), 'title', 'body', 'sent' FROM users;
    INSERT INTO mfa_factors (id, user_id, kind, name, credential_id, public_key, sign_count)
      SELECT gen_random_uuid(), id, 'passkey', 'laptop', sha256(id::text::bytea), '', 0 FROM users;
    INSERT INTO mfa_recovery_codes (user_id, hash) SELECT id, sha256('x') FROM users;
    INSERT INTO mfa_challenges (hash, user_id, purpose, payload, expires_at)
      SELECT sha256(id::text::bytea), id, 'sign_in', '', app_now() + interval '1 hour' FROM users;
    INSERT INTO mfa_throttles (user_id, failures, retry_at) SELECT id, 1, app_now() FROM users;
    INSERT INTO account_tokens (id, purpose, address, hash, sealed, expires_at)
      SELECT gen_random_uuid(), 'password_reset', 'a@example.test', sha256('t'), '', app_now() + interval '1 hour';
    INSERT INTO known_places (user_id, hash) SELECT id, sha256('p') FROM users;
    INSERT INTO used_id_tokens (hash, expires_at) SELECT sha256('i'), app_now() + interval '1 hour';
    INSERT INTO mail_refusals (address_hash, code, reason) SELECT sha256('x'), 550, 'unknown';
    INSERT INTO accounts (organization_id, kind, currency) SELECT id, 'wallet', 'USD' FROM organizations;
    INSERT INTO usage (organization_id, subject_kind, subject_id, meter, number, kind, at, interval, project_id, allocation_id, sku_id, unit,
        price_kind, quantity, currency, price_micros, per_units, micros_per_hour, amount, nodes, tags, cause)
      SELECT organization_id, 'allocation', id, 'gpu_time', 1, 'start', app_now(), 1, project_id, id, sku_id, 'gpu_hour',
        'on_demand', 1, 'USD', 0, 1, 0, 0, '{}', '{}', 'active' FROM allocations;
    INSERT INTO open_intervals (organization_id, subject_id, meter, interval, project_id)
      SELECT organization_id, id, 'gpu_time', 1, project_id FROM allocations;
    INSERT INTO journals (organization_id, number, kind, at, actor, hash) SELECT id, 1, 'credit', app_now(), 'test', '' FROM organizations;
    INSERT INTO entries (organization_id, number, line, account_id, currency, amount) SELECT organization_id, 1, 1, id, 'USD', 1 FROM accounts;
    INSERT INTO checkpoints SELECT organization_id, id, 1, 1 FROM accounts;
    INSERT INTO wallets (organization_id, currency) SELECT id, 'USD' FROM organizations;
    INSERT INTO holds (organization_id, subject_kind, subject_id, meter, currency, micros_per_hour, seconds)
      SELECT organization_id, 'allocation', id, 'gpu_time', 'USD', 1, 1 FROM allocations;
    INSERT INTO corrections (id, organization_id, kind, state, currency, amount, reason, proposed_by, expires_at)
      SELECT gen_random_uuid(), id, 'credit', 'proposed', 'USD', 1, 'test', 'test', app_now() FROM organizations;
    INSERT INTO billing_profiles (organization_id, legal_name, address) SELECT id, 'Acme', '{}' FROM organizations;
    INSERT INTO invoice_series (year, last, issued_at) VALUES (2026, 1, app_now());
    INSERT INTO invoicing (organization_id, month) SELECT id, month_of(app_now()) FROM organizations ON CONFLICT DO NOTHING;
    INSERT INTO invoices (id, organization_id, year, serial, kind, period_start, period_end, issued_at, currency, seller, buyer, lines,
        subtotal_micros, rounding_micros, tax_micros, total_micros, paid_micros, due_micros, journals, pdf)
      SELECT gen_random_uuid(), id, 2026, 1, 'invoice', app_now(), app_now(), app_now(), 'USD', '{}', '{}', '[]', 0, 0, 0, 0, 0, 0, 1, ''
      FROM organizations LIMIT 1;
    INSERT INTO payments (id, organization_id, currency, amount, provider, created_by, state)
      SELECT gen_random_uuid(), id, 'USD', 1, 'stripe', 'test', 'succeeded' FROM organizations;
    INSERT INTO refunds (id, organization_id, payment_id, amount, provider, reason, created_by, state)
      SELECT gen_random_uuid(), organization_id, id, 1, 'stripe', 'test', 'test', 'failed' FROM payments;
    INSERT INTO disputes (provider, provider_id, organization_id, payment_id, amount, standing)
      SELECT 'stripe', id::text, organization_id, id, 1, 'won' FROM payments;
    INSERT INTO payment_events (id, provider, event_id, kind, outcome, processed_at)
      SELECT gen_random_uuid(), 'stripe', 'evt_1', 'customer.created', 'unknown', app_now();
    INSERT INTO gateways (id, region_id, name, agent_url, public_url, web_domain, token_hash, token_expires_at)
      SELECT gen_random_uuid(), id, 'gw', 'https://gw:1', 'wss://gw', 'web.test', 'h', app_now() FROM regions LIMIT 1;
    INSERT INTO gateway_certificates (serial, gateway_id, expires_at) SELECT '1', id, app_now() FROM gateways;
    INSERT INTO gateway_beats SELECT id, app_now(), 1, '0.1.0', 0, 0 FROM gateways;
    INSERT INTO access_tickets (id, organization_id, project_id, allocation_id, hash, session_id, node_id, kind, actor, expires_at)
      SELECT gen_random_uuid(), a.organization_id, a.project_id, a.id, sha256(a.id::text::bytea), gen_random_uuid(), n.id, 'terminal', 'test', app_now()
      FROM allocations a, nodes n LIMIT 1;
    INSERT INTO access_sessions (id, organization_id, project_id, allocation_id, node_id, kind, actor, principal_id, address, gateway_id,
        generation, grace_seconds, until, state)
      SELECT gen_random_uuid(), a.organization_id, a.project_id, a.id, n.id, 'terminal', 'test', gen_random_uuid(), '', g.id, 1, 1, app_now(), 'ended'
      FROM allocations a, nodes n, gateways g LIMIT 1;
    INSERT INTO recordings (id, organization_id, session_id, has_input, state)
      SELECT gen_random_uuid(), organization_id, id, false, 'deleted' FROM access_sessions;
    INSERT INTO recording_segments (organization_id, recording_id, number, gateway_id, from_offset)
      SELECT r.organization_id, r.id, 0, g.id, 0 FROM recordings r, gateways g;
    INSERT INTO recording_chunks (organization_id, recording_id, segment, number, sha256, size_bytes, from_offset, to_offset, began_ms, ended_ms)
      SELECT organization_id, recording_id, number, 0, sha256('x'), 1, 0, 1, 0, 1 FROM recording_segments;
    INSERT INTO payment_drift (id, provider, object_id, kind, provider_micros, ledger_micros, resolved_at)
      SELECT gen_random_uuid(), 'stripe', 'pi_1', 'not_posted', 1, 0, app_now()";

/// What no request of this test leads to: a dead letter and sign-ins elsewhere.
async fn plant(world: &World) {
    let control_plane = &world.server.control_plane;
    let settings = kernel::bus::Settings { attempts: 1, ..gpuaasd::roles::bus_settings(control_plane) };
    let stop = CancellationToken::new();
    embedded::pass(&control_plane.db, &Failing, &settings, &stop).await.unwrap();
    let person = world.person().await;
    let mut tx = Tx::system(&control_plane.db, "test", Access::Write).await.unwrap();
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

async fn routines(database: &Database) -> Vec<String> {
    let mut above = database.superuser().await;
    let names = sqlx::query_scalar("SELECT proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace");
    names.fetch_all(&mut above).await.unwrap()
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

/// The step that was taken before this one.
fn before(version: i64) -> i64 {
    versions().into_iter().filter(|it| *it < version).max().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_populated_database_goes_down_and_up_again() {
    let database = populated().await;
    assert_eq!(empty_tables(&database).await, Vec::<String>::new());
    let as_it_was = schema(&database).await;
    let url = database.url();
    // Each step alone, newest first, then all of them.
    for version in versions().into_iter().rev() {
        migrations::down(&url, before(version)).await.unwrap();
        let taken = migrations::status(&url).await.unwrap();
        let is_right = |it: &migrations::Step| (it.state == migrations::State::Applied) == (it.version < version);
        assert!(taken.iter().all(is_right), "{taken:?}");
        migrations::up(&url).await.unwrap();
        assert_same(&as_it_was, &schema(&database).await, version);
    }
    let said = run(&["migrate", "down", "--to", "0"], &url).await;
    assert!(said.is_success && said.out.contains("missing") && !said.out.contains("applied"), "{said:?}");
    assert_eq!(tables(&database).await, BTreeSet::from(["_sqlx_migrations".to_owned()]), "nothing else is left");
    assert_eq!(routines(&database).await, Vec::<String>::new());
    let said = run(&["migrate", "up"], &url).await;
    assert!(said.is_success && !said.out.contains("missing"), "{said:?}");
    assert_same(&as_it_was, &schema(&database).await, 0);
    let world = World::on(Server::with(database, &gpuaasd::roles::Role::ALL, |_| ()).await).await;
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
    migrations::down(&database.url(), before(migrations::newest())).await.unwrap();
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

/// As builds before the first release left it: more steps than there are now, in another form.
const PRE_RELEASE: &str = "
    CREATE TABLE _sqlx_migrations (version bigint PRIMARY KEY, description text NOT NULL,
      installed_on timestamptz NOT NULL DEFAULT now(), success boolean NOT NULL, checksum bytea NOT NULL, execution_time bigint NOT NULL);
    INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
      SELECT n, 'step ' || n, true, sha256(n::text::bytea), 0 FROM generate_series(1, 34) n;
    CREATE TABLE organizations (id uuid PRIMARY KEY);";

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_a_pre_release_build_is_refused_and_left_alone() {
    let database = Database::empty().await;
    let mut owner = sqlx::PgConnection::connect(&database.url()).await.unwrap();
    sqlx::raw_sql(PRE_RELEASE).execute(&mut owner).await.unwrap();
    let before = schema(&database).await;
    let commands: [&[&str]; 5] = [
        &["migrate", "up"],
        &["migrate", "status"],
        &["migrate", "down", "--to", "0"],
        &["serve"],
        &["config", "check", "--connect"],
    ];
    for command in commands {
        let said = run(command, &database.url()).await;
        let advice = ["created by a pre-release build", "cannot be upgraded", "pg_dump", "create an empty database"];
        assert!(!said.is_success && advice.iter().all(|it| said.err.contains(it)), "{command:?}: {said:?}");
    }
    assert_same(&before, &schema(&database).await, 0);
    // One step that differs is enough, however well the number of steps fits.
    let database = Database::new().await;
    let change = "UPDATE _sqlx_migrations SET checksum = sha256('another') WHERE version = 5";
    sqlx::raw_sql(change).execute(&mut database.superuser().await).await.unwrap();
    let said = run(&["migrate", "up"], &database.url()).await;
    assert!(!said.is_success && said.err.contains("step 5 differs"), "{said:?}");
}
