//! Real servers for tests: NATS with JetStream and Redis, each on a free port
//! with a folder of its own, gone when dropped.

use std::{
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use tokio::{
    net::TcpStream,
    process::{Child, Command},
};

use crate::process::free_port;

/// A server that can be killed and started again on the same port and data.
pub struct Service {
    program: &'static str,
    arguments: Vec<String>,
    pub port: u16,
    folder: TempDir,
    child: Option<Child>,
}

/// NATS with JetStream on disk.
pub async fn nats() -> Service {
    let (port, folder) = place();
    let arguments = ["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd", &text(folder.path())];
    Service::start("nats-server", arguments.map(str::to_owned).to_vec(), port, folder).await
}

/// Redis without persistence.
pub async fn redis() -> Service {
    let (port, folder) = place();
    let port_text = port.to_string();
    let dir = text(folder.path());
    let arguments = ["--bind", "127.0.0.1", "--port", &port_text, "--dir", &dir, "--save", "", "--appendonly", "no"];
    Service::start("redis-server", arguments.map(str::to_owned).to_vec(), port, folder).await
}

fn place() -> (u16, TempDir) {
    (free_port(), tempfile::tempdir().expect("there is room for temporary files"))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl Service {
    async fn start(program: &'static str, arguments: Vec<String>, port: u16, folder: TempDir) -> Service {
        let mut service = Service { program, arguments, port, folder, child: None };
        service.start_again().await;
        service
    }

    /// Starts it on the data that it had; does nothing while it runs.
    pub async fn start_again(&mut self) {
        if self.child.is_some() {
            return;
        }
        // Debian keeps servers where only root's path leads.
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/local/sbin:/usr/sbin:/sbin";
        let child = Command::new(find(self.program, &path))
            .args(&self.arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let missing = format!("tests need {}: `make test` installs it", self.program);
        self.child = Some(child.expect(&missing));
        self.answers().await;
    }

    async fn answers(&mut self) {
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            assert!(started.elapsed() < Duration::from_secs(20), "{} did not answer in 20 s", self.program);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// As `kill -9`.
    pub async fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().await.expect("our own child can be killed");
        }
    }

    /// As after a lost disk: gone, with everything that it had.
    pub async fn lose(&mut self) {
        self.kill().await;
        for entry in std::fs::read_dir(self.folder.path()).expect("the folder is ours").flatten() {
            std::fs::remove_dir_all(entry.path()).expect("the folder is ours");
        }
    }

    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}", self.port)
    }
}

fn find(program: &str, path: &str) -> std::path::PathBuf {
    let places = std::env::split_paths(path).map(|folder| folder.join(program));
    places.into_iter().find(|it| it.exists()).unwrap_or_else(|| program.into())
}
