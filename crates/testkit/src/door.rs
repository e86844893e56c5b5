//! A gateway as a process of its own, to be killed and started again.

use std::{
    net::SocketAddr,
    process::Stdio,
    time::{Duration, Instant},
};

use client::Client;
use contract::{
    Nothing,
    gateways::{CreateGateway, GatewaySpec},
    id::{GatewayId, PoolId},
    pools::ListPools,
};
use tokio::process::{Child, Command};

use crate::{
    SharedName,
    process::{binary, free_port},
};

pub struct Door {
    pub id: GatewayId,
    /// Where people's programs find it.
    pub url: String,
    /// The domain below which its web services have names.
    pub web_domain: String,
    pub port: u16,
    agent_port: u16,
    pub ssh_port: u16,
    control_url: String,
    fingerprint: String,
    token: String,
    origins: String,
    folder: tempfile::TempDir,
    child: Option<Child>,
}

impl Door {
    /// Adds a gateway to a pool's region and starts it. `control_url` is where the
    /// node listener is; pages of `origins` may use it.
    pub async fn open(operator: &Client, pool_id: PoolId, name: &str, control_url: &str, origins: &str) -> Door {
        Door::behind(None, operator, pool_id, name, control_url, origins).await
    }

    /// One that people find under a name that others have too.
    pub async fn behind(
        shared: Option<&SharedName>,
        operator: &Client,
        pool_id: PoolId,
        name: &str,
        control_url: &str,
        origins: &str,
    ) -> Door {
        let pools = operator.call::<ListPools>(Nothing {}, Default::default(), Nothing {}).await;
        let pools = pools.expect("pools are listed").items;
        let region = pools.iter().find(|it| it.id == pool_id).expect("the pool is there").region_id;
        let (port, agent_port, ssh_port) = (free_port(), free_port(), free_port());
        let own = SocketAddr::from(([127, 0, 0, 1], port));
        let (public, web_domain) = match shared {
            Some(shared) => (shared.address, "shared.web.localhost".to_owned()),
            None => (own, format!("{name}.web.localhost")),
        };
        let spec = GatewaySpec {
            name: name.parse().expect("the name is one"),
            region_id: region,
            agent_url: format!("https://127.0.0.1:{agent_port}").parse().expect("the address is one"),
            public_url: format!("ws://{public}").parse().expect("the address is one"),
            ssh_address: Some(format!("127.0.0.1:{ssh_port}").parse().expect("the address is one")),
            web_domain: web_domain.parse().expect("the domain is one"),
        };
        let made = operator.call::<CreateGateway>(Nothing {}, Default::default(), spec).await.expect("it is added");
        let mut door = Door {
            id: made.gateway.id,
            url: format!("ws://127.0.0.1:{port}"),
            web_domain,
            port,
            agent_port,
            ssh_port,
            control_url: control_url.to_owned(),
            fingerprint: made.ca_fingerprint,
            token: made.secret.expose().to_owned(),
            origins: origins.to_owned(),
            folder: tempfile::tempdir().expect("there is room for a folder"),
            child: None,
        };
        door.start_again().await;
        door
    }

    /// Starts it on what it knows already.
    pub async fn start_again(&mut self) {
        let mut command = Command::new(binary("gpuaasd"));
        command
            .args(["serve", "--roles", "gateway"])
            .env("GPUAAS_GATEWAY_CONTROL_URL", &self.control_url)
            .env("GPUAAS_GATEWAY_JOIN_TOKEN", &self.token)
            .env("GPUAAS_GATEWAY_CA_FINGERPRINT", &self.fingerprint)
            .env("GPUAAS_GATEWAY_FOLDER", self.folder.path())
            .env("GPUAAS_GATEWAY_LISTEN", format!("127.0.0.1:{}", self.port))
            .env("GPUAAS_GATEWAY_AGENT_LISTEN", format!("127.0.0.1:{}", self.agent_port))
            .env("GPUAAS_GATEWAY_SSH_LISTEN", format!("127.0.0.1:{}", self.ssh_port))
            .env("GPUAAS_GATEWAY_WEB_DOMAIN", &self.web_domain)
            .env("GPUAAS_GATEWAY_WEB_OVER_HTTPS", "false")
            .env("GPUAAS_GATEWAY_ORIGINS", &self.origins)
            .env("GPUAAS_LOG", "warn")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        self.child = Some(command.spawn().expect("the gateway starts"));
        let started = Instant::now();
        while tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            assert!(started.elapsed() < Duration::from_secs(30), "the gateway does not listen");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Where it listens for people, under whatever name they know it.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// As `kill -9`.
    pub async fn kill(&mut self) {
        self.child.take().expect("it runs").kill().await.expect("the gateway can be killed");
    }

    pub fn process(&self) -> u32 {
        self.child.as_ref().and_then(Child::id).expect("it runs")
    }
}

/// What a process holds in memory, in KiB.
pub fn memory_kib(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    let line = text.lines().find_map(|it| it.strip_prefix("VmRSS:")).expect("it says so");
    line.trim().trim_end_matches(" kB").parse().expect("it is a number")
}
