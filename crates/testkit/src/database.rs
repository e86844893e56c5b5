//! A database per test, copied from a migrated template. The cluster is the
//! one that `xtask test` started, or a private one that ends with the process.

use std::{path::PathBuf, sync::OnceLock};

use gpuaasd::{
    dev::postgres::{Cluster, ClusterOptions},
    migrations,
};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use uuid::Uuid;

/// Names the cluster that several test processes share: its socket folder.
pub const SHARED: &str = "GPUAAS_TEST_CLUSTER";
const TEMPLATE: &str = "gpuaas_template";
const USER: &str = "gpuaas";

pub struct Database {
    pub name: String,
    cluster: String,
}

impl Database {
    /// A fresh, migrated database.
    pub async fn new() -> Database {
        let cluster = cluster().await;
        let name = format!("t_{}", Uuid::now_v7().simple());
        let mut admin = PgConnection::connect(&url(&cluster, "postgres", "postgres")).await.unwrap();
        ensure_template(&mut admin, &cluster).await;
        let statement = format!("CREATE DATABASE {name} TEMPLATE {TEMPLATE} OWNER {USER}");
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut admin).await.unwrap();
        Database { name, cluster }
    }

    /// A fresh, migrated database in a cluster of its own, for tests of how
    /// soon something happens: no other test's transaction holds it up.
    pub async fn alone() -> Database {
        let cluster = start_disposable().await;
        let database = Database::on(&cluster).await;
        // It ends, and its data goes, when this process does.
        std::mem::forget(cluster);
        database
    }

    /// A fresh, migrated database in a cluster that the test starts and kills.
    pub async fn on(cluster: &Cluster) -> Database {
        let socket_dir = cluster.socket_dir().to_string_lossy().into_owned();
        let address = |database: &str| url(&socket_dir, "postgres", database);
        gpuaasd::dev::make_role_and_database(address, USER, USER).await.unwrap();
        migrations::up(&url(&socket_dir, USER, USER)).await.unwrap();
        Database { name: USER.into(), cluster: socket_dir }
    }

    /// A database without any schema.
    pub async fn empty() -> Database {
        let cluster = cluster().await;
        let name = format!("t_{}", Uuid::now_v7().simple());
        let mut admin = PgConnection::connect(&url(&cluster, "postgres", "postgres")).await.unwrap();
        ensure_template(&mut admin, &cluster).await;
        let address = |database: &str| url(&cluster, "postgres", database);
        gpuaasd::dev::make_role_and_database(address, USER, &name).await.unwrap();
        Database { name, cluster }
    }

    /// As the platform connects.
    pub fn url(&self) -> String {
        url(&self.cluster, USER, &self.name)
    }

    /// As somebody who is above every rule, for looking and for tampering.
    pub async fn superuser(&self) -> PgConnection {
        PgConnection::connect(&url(&self.cluster, "postgres", &self.name)).await.unwrap()
    }

    /// Whether somebody waits in it for a lock.
    pub async fn waits_for_lock(&self) -> bool {
        let statement = "SELECT EXISTS (SELECT FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock')";
        sqlx::query_scalar(statement).fetch_one(&mut self.superuser().await).await.unwrap()
    }

    /// Where the cluster's socket is.
    pub fn socket_dir(&self) -> PathBuf {
        PathBuf::from(&self.cluster)
    }
}

fn url(socket_dir: &str, user: &str, database: &str) -> String {
    format!("postgres:///{database}?host={}&user={user}&sslmode=disable", socket_dir.replace('/', "%2F"))
}

async fn ensure_template(admin: &mut PgConnection, cluster: &str) {
    // Several test processes may come at once.
    sqlx::raw_sql("SELECT pg_advisory_lock(4711)").execute(&mut *admin).await.unwrap();
    let known: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
        .bind(TEMPLATE)
        .fetch_one(&mut *admin)
        .await
        .unwrap();
    if !known {
        let address = |database: &str| url(cluster, "postgres", database);
        gpuaasd::dev::make_role_and_database(address, USER, TEMPLATE).await.unwrap();
        migrations::up(&url(cluster, USER, TEMPLATE)).await.unwrap();
    }
    sqlx::raw_sql("SELECT pg_advisory_unlock(4711)").execute(&mut *admin).await.unwrap();
}

/// The socket folder of the cluster in use.
async fn cluster() -> String {
    static OWN: OnceLock<String> = OnceLock::new();
    static LOCK: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    if let Ok(shared) = std::env::var(SHARED) {
        return shared;
    }
    let _one_at_a_time = LOCK.lock().await;
    if let Some(own) = OWN.get() {
        return own.clone();
    }
    let cluster = start_disposable().await;
    let socket_dir = cluster.socket_dir().to_string_lossy().into_owned();
    // It ends, and its data goes, when this process does.
    std::mem::forget(cluster);
    OWN.get_or_init(|| socket_dir).clone()
}

/// A cluster for tests; its data goes when it stops.
pub async fn start_disposable() -> Cluster {
    let folder = std::env::temp_dir().join(format!("gpuaas-test-{}", Uuid::now_v7().simple()));
    Cluster::start(ClusterOptions::disposable(folder)).await.expect("tests need PostgreSQL: `make test` installs it")
}
