//! A fleet whose control planes are processes of their own: everything that
//! they need is laid into a database before the first of them starts.

use std::sync::Arc;

use client::Client;
use gpuaasd::roles::Role;

use crate::{
    Database, Fleet, Member, Server, Tenant,
    cloud::add_sku,
    fleet::issue_tokens,
    process::{Daemon, free_port},
    world::set_policy,
};

/// A database with a pool, a SKU, an operator and a tenant; no process runs yet.
pub struct Plant {
    pub database: Arc<Database>,
    pub operator: Member,
    pub tenant: Tenant,
    /// Somebody else of the tenant's organization.
    pub colleague: Member,
    /// Somebody who belongs to no organization.
    pub stranger: Member,
    /// One enrollment token for each host that is to come.
    pub tokens: Vec<String>,
    /// The roots that hosts trust.
    pub roots: String,
    /// Where recordings are kept.
    recordings: tempfile::TempDir,
}

/// A control plane that runs, and where hosts find it.
pub struct Plane {
    pub daemon: Daemon,
    pub port: u16,
    pub node_port: u16,
}

impl Plant {
    /// With so many hosts, under these policies beside those that let tests be quick.
    pub async fn new(hosts: usize, policies: &[(&str, &str)]) -> Plant {
        let database = Arc::new(Database::new().await);
        let fleet = Fleet::on(Server::with(database.clone(), &[Role::Api], |_| ()).await).await;
        let operator = fleet.world.operator().await;
        let limits = ["address", "default", "launch", "financial", "admin"];
        for lane in limits {
            set_policy(&fleet.operator, &format!("rate_limit.{lane}_per_minute"), "1000000").await;
        }
        for (key, value) in policies {
            set_policy(&fleet.operator, key, value).await;
        }
        add_sku(&fleet.operator).await;
        let tokens = issue_tokens(&fleet.operator, fleet.pool, hosts).await;
        let tenant = Tenant::new(&fleet.world).await;
        let colleague = fleet.world.member_of(tenant.organization, contract::Role::Member).await;
        let stranger = fleet.world.person().await;
        let roots = fleet.world.server.control_plane.fleet.ca.authority().roots_pem().to_owned();
        fleet.world.server.stop().await;
        let recordings = tempfile::tempdir().expect("there is room for a folder");
        Plant { database, operator, tenant, colleague, stranger, tokens, roots, recordings }
    }

    /// Starts a control plane on free ports.
    pub async fn plane(&self) -> Plane {
        self.plane_at(free_port(), free_port()).await
    }

    /// Starts a control plane where another one was.
    pub async fn plane_at(&self, port: u16, node_port: u16) -> Plane {
        let (listen, url) = (format!("127.0.0.1:{node_port}"), format!("https://127.0.0.1:{node_port}"));
        let recordings = self.recordings.path().display().to_string();
        let more = [
            ("GPUAAS_NODE_LISTEN", listen.as_str()),
            ("GPUAAS_NODE_URL", url.as_str()),
            ("GPUAAS_RECORDINGS_FOLDER", recordings.as_str()),
        ];
        let daemon = Daemon::serve(&self.database.url(), port, &more).await;
        Plane { daemon, port, node_port }
    }

    /// The tenant, who asks one of the control planes.
    pub fn tenant_at(&self, plane: &Plane) -> Tenant {
        Tenant { client: plane.daemon.client(&self.tenant.owner.token), ..self.tenant.clone() }
    }

    pub fn operator_at(&self, plane: &Plane) -> Client {
        plane.daemon.client(&self.operator.token)
    }

    pub async fn count(&self, statement: &'static str) -> i64 {
        let mut above = self.database.superuser().await;
        sqlx::query_scalar(statement).fetch_one(&mut above).await.unwrap()
    }
}

impl Plane {
    /// Where hosts connect to.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.node_port)
    }
}
