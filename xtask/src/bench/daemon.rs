//! The release build of `gpuaasd dev`, on a data folder of its own that goes
//! when the measuring is over.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::http::{Connection, request};

pub struct Daemon {
    program: PathBuf,
    sim_nodes: u16,
    folder: tempfile::TempDir,
    process: Child,
    address: SocketAddr,
}

/// How long a start or a stop may take.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(2);
/// More than any load here reaches; limits are not what is measured.
const RAISED: [(&str, &str); 6] = [
    ("rate_limit.launch_per_minute", "10000000"),
    ("rate_limit.admin_per_minute", "10000000"),
    ("allocations.max_gpus", "1000000"),
    ("rate_limit.address_per_minute", "10000000"),
    ("rate_limit.default_per_minute", "10000000"),
    ("projects.max", "1000000"),
];

impl Daemon {
    /// Starts on new data, with that many simulated nodes, and waits until it is ready.
    pub async fn start(root: &Path, sim_nodes: u16) -> Result<Self, String> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let program = target.join("release/gpuaasd");
        if !program.is_file() {
            return Err(format!("{} is missing: run `make bench`, which builds it", program.display()));
        }
        let folder = tempfile::Builder::new().prefix("gpuaas-bench-").tempdir();
        let folder = folder.map_err(|error| format!("cannot make a data folder: {error}"))?;
        let process = spawn(&program, folder.path(), "127.0.0.1:0", sim_nodes)?;
        let mut daemon = Daemon { program, sim_nodes, folder, process, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let started = Instant::now();
        while daemon.setting("GPUAAS_URL").is_none() {
            daemon.still_starting(started)?;
            tokio::time::sleep(POLL).await;
        }
        let url = daemon.setting("GPUAAS_URL").unwrap_or_default();
        daemon.address = url.trim_start_matches("http://").parse().map_err(|_| format!("{url} is no address"))?;
        daemon.ready(started).await?;
        Ok(daemon)
    }

    /// Starts on the data that is there; how many seconds until it was ready.
    pub async fn start_again(&mut self) -> Result<f64, String> {
        let started = Instant::now();
        self.process = spawn(&self.program, self.folder.path(), &self.address.to_string(), self.sim_nodes)?;
        self.ready(started).await?;
        Ok(started.elapsed().as_secs_f64())
    }

    async fn ready(&mut self, started: Instant) -> Result<(), String> {
        let ask = request("GET", "/readyz", "", "", "");
        loop {
            if let Ok(mut connection) = Connection::open(self.address).await
                && connection.send(ask.as_bytes()).await.is_ok()
            {
                return Ok(());
            }
            self.still_starting(started)?;
            tokio::time::sleep(POLL).await;
        }
    }

    fn still_starting(&mut self, started: Instant) -> Result<(), String> {
        let ended = self.process.try_wait().map_err(|error| format!("cannot watch gpuaasd: {error}"))?;
        match ended {
            Some(status) => Err(format!("gpuaasd ended with {status}; it says why above")),
            None if started.elapsed() > PATIENCE => Err(format!("gpuaasd was not ready after {PATIENCE:?}")),
            None => Ok(()),
        }
    }

    /// Lets as many requests pass as come.
    pub async fn raise_limits(&self) -> Result<(), String> {
        let token = self.setting("GPUAAS_OPERATOR_TOKEN").ok_or("dev.env names no operator token")?;
        let mut connection = Connection::open(self.address).await?;
        for (key, value) in RAISED {
            let path = format!("/v1/platform/policies/{key}");
            let body = format!("{{\"value\":\"{value}\"}}");
            connection.send(request("PUT", &path, &token, "", &body).as_bytes()).await?;
        }
        Ok(())
    }

    /// What the process alone holds in memory; PostgreSQL is another one.
    pub fn memory_mib(&self) -> Result<f64, String> {
        let path = format!("/proc/{}/status", self.process.id());
        let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
        let kib =
            text.lines().find_map(|it| it.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
        kib.map(|it| it / 1024.0).ok_or(format!("{path} does not say how much memory is used"))
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn process(&self) -> u32 {
        self.process.id()
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn pause(&self) -> Result<(), String> {
        self.signal(Signal::SIGSTOP)
    }

    pub fn resume(&self) -> Result<(), String> {
        self.signal(Signal::SIGCONT)
    }

    /// As Ctrl-C does.
    pub async fn stop(&mut self) -> Result<(), String> {
        self.signal(Signal::SIGTERM)?;
        self.gone().await
    }

    /// As `kill -9` does; what it leaves running ends by itself.
    pub async fn kill(&mut self) -> Result<(), String> {
        self.signal(Signal::SIGKILL)?;
        self.gone().await
    }

    fn signal(&self, signal: Signal) -> Result<(), String> {
        let id = i32::try_from(self.process.id()).map_err(|error| error.to_string())?;
        kill(Pid::from_raw(id), signal).map_err(|error| format!("cannot send {signal} to gpuaasd: {error}"))
    }

    async fn gone(&mut self) -> Result<(), String> {
        let started = Instant::now();
        while self.process.try_wait().map_err(|error| format!("cannot watch gpuaasd: {error}"))?.is_none() {
            if started.elapsed() > PATIENCE {
                return Err(format!("gpuaasd did not stop within {PATIENCE:?}"));
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    pub fn setting(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.folder.path().join("dev.env")).ok()?;
        let value = |line: &str| line.strip_prefix("export ")?.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
        text.lines().find_map(value)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Its PostgreSQL must be gone before its folder is; a stopped process
        // hears no other signal.
        let _ = self.resume();
        let _ = self.signal(Signal::SIGTERM);
        let _ = self.process.wait();
    }
}

/// The program that a daemon runs.
pub fn program(daemon: &Daemon) -> &Path {
    &daemon.program
}

fn spawn(program: &Path, folder: &Path, listen: &str, sim_nodes: u16) -> Result<Child, String> {
    let mut command = Command::new(program);
    command
        .arg("dev")
        .arg("--data-dir")
        .arg(folder)
        .args(["--listen", listen])
        .args(["--sim-nodes", &sim_nodes.to_string()])
        .env("GPUAAS_LOG", "warn");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().map_err(|error| format!("cannot start {}: {error}", program.display()))
}
