//! What the tests play on: a CA, a control plane, a gateway and hosts.

pub mod ca;
pub mod client;
pub mod host;
pub mod plane;
pub mod process;
pub mod programs;

pub use ca::Ca;
pub use client::Client;
pub use host::Host;
pub use plane::Plane;
pub use process::Process;

use gateway::{Listeners, Settings, identity};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use trust::Trust;

pub const GATEWAY: &str = "gw_1";
pub const NODE: &str = "node_1";

pub struct Stage {
    pub ca: Arc<Ca>,
    pub plane: Arc<Plane>,
    pub folder: TempDir,
    pub public: SocketAddr,
    /// Not served by a process of its own.
    pub ssh: SocketAddr,
    pub agents: SocketAddr,
    pub ops: Option<SocketAddr>,
    pub stop: CancellationToken,
    pub running: Option<JoinHandle<()>>,
}

impl Stage {
    pub async fn new() -> Self {
        Self::with(|_| ()).await
    }

    pub async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let ca = Arc::new(Ca::new());
        let plane = Plane::start(ca.clone()).await;
        let folder = tempfile::tempdir().unwrap();
        join(&plane, &ca, folder.path()).await;
        let mut settings = settings(folder.path());
        change(&mut settings);
        let (agents, public, ssh, ops) = (bind().await, bind().await, bind().await, bind().await);
        let listeners = Listeners { agents, public, ssh: Some(ssh), ops: Some(ops) };
        let address = |it: &TcpListener| it.local_addr().unwrap();
        let (agents, public) = (address(&listeners.agents), address(&listeners.public));
        let ops = listeners.ops.as_ref().map(address);
        let ssh = listeners.ssh.as_ref().map(address).unwrap();
        let stop = CancellationToken::new();
        let running = Some(tokio::spawn(run(settings, listeners, stop.clone())));
        Self { ca, plane, folder, public, agents, ops, ssh, stop, running }
    }

    /// A stage whose gateway is a process of its own.
    pub async fn with_process() -> (Self, Process) {
        let ca = Arc::new(Ca::new());
        let plane = Plane::start(ca.clone()).await;
        let folder = tempfile::tempdir().unwrap();
        join(&plane, &ca, folder.path()).await;
        let process = Process::start(folder.path()).await;
        let (agents, public) = (process.agents, process.public);
        let stop = CancellationToken::new();
        (Self { ca, plane, folder, public, agents, ops: None, ssh: public, stop, running: None }, process)
    }

    /// A stage with one host that is connected.
    pub async fn with_host() -> (Self, Host) {
        let stage = Self::new().await;
        let host = stage.host(NODE).await;
        (stage, host)
    }

    pub async fn host(&self, node: &str) -> Host {
        let host = Host::dial(self.agents, self.ca.node(node), &self.ca).await.unwrap();
        let nodes = || self.plane.admitted(node);
        eventually("the host is admitted", nodes).await;
        host.is_open().await;
        host
    }

    pub async fn terminal(&self, ticket: &str) -> Client {
        Client::open(self.public, "/v1/terminal", &[&format!("gpuaas.ticket.{ticket}")]).await
    }

    pub async fn end(mut self) {
        self.stop.cancel();
        self.running.take().unwrap().await.unwrap();
    }
}

async fn run(settings: Settings, listeners: Listeners, stop: CancellationToken) {
    gateway::run(settings, listeners, stop).await.unwrap();
}

pub fn settings(folder: &Path) -> Settings {
    let mut settings = Settings::new(folder, "0.0.0-test");
    settings.origins = vec!["https://console.example".into()];
    settings.web_domain = Some("web.localhost".into());
    settings.is_web_secure = false;
    settings
}

pub async fn join(plane: &Plane, ca: &Ca, folder: &Path) {
    let trust = Trust::in_roots(&ca.roots()).unwrap();
    let folder = identity::Folder::open(folder).unwrap();
    let asked = folder.asked().unwrap();
    let joined = identity::join(&plane.url(), "token", &trust, "0.0.0-test", asked).await.unwrap();
    folder.save_identity(&joined).unwrap();
}

/// What a listener answers to a GET.
pub async fn get(stream: impl AsyncRead + AsyncWrite + Unpin, path: &str) -> (u16, String) {
    let mut stream = stream;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

pub async fn bind() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

/// Asks until it is so.
pub async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let asking = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), asking).await.is_ok(), "never: {what}");
}
