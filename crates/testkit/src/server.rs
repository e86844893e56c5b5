//! The control plane in the test's own process, on a real socket.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use client::{Client, Credential};
use gpuaasd::{
    control_plane::ControlPlane,
    roles::{self, Listeners, Role},
    router::router,
};
use platform::{config::Config, http};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::Database;

pub struct Server {
    pub control_plane: Arc<ControlPlane>,
    pub database: Arc<Database>,
    pub base: String,
    /// Where hosts connect to, when the server speaks with them.
    pub node_address: Option<SocketAddr>,
    stop: CancellationToken,
    running: Option<JoinHandle<()>>,
}

impl Server {
    /// Every role on a fresh database.
    pub async fn start() -> Server {
        Server::with(Arc::new(Database::new().await), &Role::ALL, |_| ()).await
    }

    pub async fn with(database: Arc<Database>, roles: &[Role], adjust: impl FnOnce(&mut Config)) -> Server {
        let mut config = config(&database.url());
        adjust(&mut config);
        let stop = CancellationToken::new();
        let node = match roles.contains(&Role::Nodes) {
            true => Some(TcpListener::bind("127.0.0.1:0").await.unwrap()),
            false => None,
        };
        let node_address = node.as_ref().map(|it| it.local_addr().unwrap());
        if let Some(address) = node_address {
            config.node.url = format!("https://{address}");
        }
        let control_plane = ControlPlane::start(config, stop.clone()).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let roles = roles.to_vec();
        let running = tokio::spawn({
            let control_plane = control_plane.clone();
            async move {
                roles::run(control_plane, &roles, Listeners { api: Some(listener), ops: None, node }).await.unwrap()
            }
        });
        Server { control_plane, database, base, node_address, stop, running: Some(running) }
    }

    /// Answers requests and does nothing else: no role works in the background.
    pub async fn alone(database: Arc<Database>, adjust: impl FnOnce(&mut Config)) -> Server {
        let mut config = config(&database.url());
        adjust(&mut config);
        let stop = CancellationToken::new();
        let control_plane = ControlPlane::start(config, stop.clone()).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (router, limits) = (router(control_plane.clone()), control_plane.config.http.limits());
        let running = tokio::spawn(http::server::serve(listener, router, limits, stop.clone()));
        Server { control_plane, database, base, node_address: None, stop, running: Some(running) }
    }

    pub fn client(&self, token: Option<&str>) -> Client {
        let credential = token.map_or_else(Credential::none, Credential::bearer);
        Client::new(&self.base, credential).unwrap()
    }

    /// Stops as Ctrl-C does and waits for the end.
    pub async fn stop(mut self) {
        self.stop.cancel();
        if let Some(running) = self.running.take() {
            running.await.unwrap();
        }
    }

    /// Visits everything that is due until nothing is.
    pub async fn settle(&self) {
        let workers = roles::workers(&self.control_plane);
        workers.settle(&self.control_plane.db, roles::work_settings(&self.control_plane)).await.unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// A configuration as tests use it; the sealing key is fixed and guards nothing.
pub fn config(url: &str) -> Config {
    let mut config = Config::default();
    config.database.url = url.to_owned();
    config.database.max_connections = 12;
    config.database.acquire_timeout_ms = 10_000;
    config.secrets.keys = Some(format!("test:{}", "A".repeat(43) + "="));
    config
}

/// Asks until the answer is yes; fails the test after two minutes, which a busy machine
/// does not need. Tests that share a cluster also share its oldest transaction, which
/// events wait for.
pub async fn eventually<F: Future<Output = bool>>(what: &str, mut ask: impl FnMut() -> F) {
    let started = std::time::Instant::now();
    while !ask().await {
        assert!(started.elapsed() < Duration::from_secs(120), "waited two minutes for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
