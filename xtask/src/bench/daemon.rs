//! `gpuaasd dev` of the same build, on a data folder of its own that goes when the
//! measuring is over.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::http::{Connection, request};

pub struct Daemon {
    program: PathBuf,
    sim_nodes: u16,
    environment: Vec<(&'static str, String)>,
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
    pub async fn start(sim_nodes: u16) -> Result<Self, String> {
        Self::start_with(sim_nodes, Vec::new()).await
    }

    /// The same, with more in its environment.
    pub async fn start_with(sim_nodes: u16, environment: Vec<(&'static str, String)>) -> Result<Self, String> {
        let program = programs()?.join("gpuaasd");
        if !program.is_file() {
            return Err(format!("{} is missing: run `make bench`, which builds it", program.display()));
        }
        let folder = tempfile::Builder::new().prefix("gpuaas-bench-").tempdir();
        let folder = folder.map_err(|error| format!("cannot make a data folder: {error}"))?;
        let process = spawn(&program, folder.path(), "127.0.0.1:0", sim_nodes, &environment)?;
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut daemon = Daemon { program, sim_nodes, environment, folder, process, address };
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
        let listen = self.address.to_string();
        self.process = spawn(&self.program, self.folder.path(), &listen, self.sim_nodes, &self.environment)?;
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
        for (key, value) in RAISED {
            self.set_policy(key, value).await?;
        }
        Ok(())
    }

    pub async fn set_policy(&self, key: &str, value: &str) -> Result<(), String> {
        let token = self.setting("GPUAAS_OPERATOR_TOKEN").ok_or("dev.env names no operator token")?;
        let mut connection = Connection::open(self.address).await?;
        let path = format!("/v1/platform/policies/{key}");
        let body = format!("{{\"value\":\"{value}\"}}");
        connection.send(request("PUT", &path, &token, "", &body).as_bytes()).await
    }

    /// Gives the organization that asks for GPUs more than a measurement can spend.
    pub async fn grant_credit(&self) -> Result<(), String> {
        let setting = |name: &str| self.setting(name).ok_or(format!("dev.env does not set {name}"));
        let path = format!("/v1/platform/organizations/{}/credits", setting("GPUAAS_ORGANIZATION")?);
        let body = r#"{"currency":"USD","amount_micros":900000000000,"reason":"benchmark"}"#;
        let key = format!("idempotency-key: {}\r\n", uuid::Uuid::now_v7().simple());
        let mut connection = Connection::open(self.address).await?;
        connection.send(request("POST", &path, &setting("GPUAAS_OPERATOR_TOKEN")?, &key, body).as_bytes()).await
    }

    /// Makes workers and consumers look now, as every write does; without it they
    /// would see what was written past the server up to a second later.
    pub async fn ring(&self) -> Result<(), String> {
        let (key, value) = RAISED[0];
        self.set_policy(key, value).await
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
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(POLL);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program that a daemon runs.
pub fn program(daemon: &Daemon) -> &Path {
    &daemon.program
}

/// Where this program is, which is where the others of its build are.
pub fn programs() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    program.parent().map(Path::to_owned).ok_or("this program is in no folder".to_owned())
}

/// A port that was free a moment ago.
pub fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    listener.map(|it| it.port()).map_err(|error| format!("cannot find a free port: {error}"))
}

fn spawn(
    program: &Path,
    folder: &Path,
    listen: &str,
    sim_nodes: u16,
    environment: &[(&'static str, String)],
) -> Result<Child, String> {
    let mut command = Command::new(program);
    command.arg("dev").arg("--data-dir").arg(folder).args(["--listen", listen]);
    command.args(["--sim-nodes", &sim_nodes.to_string()]).env("GPUAAS_LOG", "warn");
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().map_err(|error| format!("cannot start {}: {error}", program.display()))
}
