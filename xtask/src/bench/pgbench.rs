//! The daemon's own PostgreSQL, reached past the daemon: `psql` to prepare it,
//! `pgbench` to see what it can do bare.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gpuaasd::dev::postgres::Binaries;

use super::daemon::Daemon;
use super::load::Load;
use super::places::{CALLERS, Fleet, PLACES};
use super::psql::Session;
use super::sample::Sample;

pub struct Database {
    binaries: Binaries,
    data: PathBuf,
    socket_dir: String,
    port: u16,
    postmaster: u32,
    /// Where scripts and logs go.
    folder: PathBuf,
}

/// How long the daemon's background work may take to catch up.
const PATIENCE: Duration = Duration::from_secs(120);
/// One transaction in so many is written to the latency log.
const LOGGED: usize = 10;

/// In the name of the socket of every private PostgreSQL.
pub const PORT: u16 = 5432;

const PROCESSED: &str = "number of transactions actually processed: ";

impl Database {
    pub fn of(daemon: &Daemon) -> Result<Self, String> {
        let binaries = Binaries::find().map_err(|error| error.to_string())?;
        let cluster = daemon.folder().join("postgres");
        let data = ["data", "cluster/data"].map(|it| cluster.join(it)).into_iter().find(|it| it.is_dir());
        let data = data.ok_or("the daemon has no PostgreSQL")?;
        let lock = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
        let line = |place| lock.lines().nth(place).ok_or("the daemon runs no PostgreSQL");
        let postmaster = line(0)?.parse().map_err(|_| "PostgreSQL's lock names no process")?;
        let socket_dir = line(4)?.to_owned();
        Ok(Self { binaries, data, socket_dir, port: PORT, postmaster, folder: daemon.folder().to_owned() })
    }

    /// Adds to the settings with which it starts next.
    pub fn configure(&self, settings: &str) -> Result<(), String> {
        let path = self.data.join("postgresql.conf");
        let file = fs::OpenOptions::new().append(true).open(&path);
        let written = file.and_then(|mut it| it.write_all(settings.as_bytes()));
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    /// The process that all others of this PostgreSQL are children of.
    pub fn postmaster(&self) -> u32 {
        self.postmaster
    }

    pub fn socket_dir(&self) -> &Path {
        Path::new(&self.socket_dir)
    }

    /// The same database by another socket.
    pub fn by_port(self, port: u16) -> Self {
        Self { port, ..self }
    }

    /// A superuser's `psql` that stays open.
    pub fn session(&self) -> Result<Session, String> {
        Session::open(self.command("psql"))
    }

    /// Runs statements as the superuser and returns what they print.
    pub fn execute(&self, statements: &str) -> Result<String, String> {
        let mut psql = self.command("psql");
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-"]).stdin(Stdio::piped());
        output("psql", psql, statements)
    }

    /// Waits until nothing is left over from what ran before: events delivered,
    /// audit entries sealed, pages written.
    pub fn rest(&self) -> Result<(), String> {
        let started = Instant::now();
        while self.execute(include_str!("behind.sql"))?.trim() != "0" {
            if started.elapsed() > PATIENCE {
                return Err(format!("background work did not catch up within {PATIENCE:?}"));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        self.execute("CHECKPOINT;").map(|_| ())
    }

    /// The same work as the server's, without the server.
    pub fn bench(&self, fleet: &Fleet, load: Load, seconds: u64) -> Result<Sample, String> {
        let log = self.folder.join("pgbench-log");
        let mut pgbench = self.command("pgbench");
        // Not the owner: row-level security is forced, and the owner has no policy.
        pgbench.env("PGOPTIONS", "-c role=gpuaas_system");
        pgbench.args(["-n", "-M", "prepared", "-j", "2", "-c", &CALLERS.to_string(), "-T", &seconds.to_string()]);
        pgbench.args(["-l", "--sampling-rate", &(1.0 / LOGGED as f64).to_string()]);
        pgbench.arg("--log-prefix").arg(&log);
        for (name, value) in [("turn", 0), ("base", base()), ("first", fleet.first), ("places", PLACES)] {
            pgbench.arg("-D").arg(format!("{name}={value}"));
        }
        for script in self.scripts(fleet, load)? {
            pgbench.arg("-f").arg(script);
        }
        let text = output("pgbench", pgbench, "")?;
        let rate = text.lines().find_map(|it| it.strip_prefix("tps = ")?.split(' ').next()?.parse::<f64>().ok());
        let rate = rate.ok_or_else(|| format!("pgbench printed no rate:\n{text}"))?;
        if !text.contains("number of failed transactions: 0 ") {
            return Err(format!("pgbench had failures:\n{text}"));
        }
        let done = text.lines().find_map(|it| it.strip_prefix(PROCESSED)?.split('/').next()?.parse().ok());
        let done = done.ok_or_else(|| format!("pgbench printed no count:\n{text}"))?;
        let sample = Sample::new(done, 1.0, latencies(&self.folder, "pgbench-log")?);
        Ok(Sample { per_second: rate, ..sample })
    }

    fn scripts(&self, fleet: &Fleet, load: Load) -> Result<Vec<PathBuf>, String> {
        let texts: Vec<String> = match load {
            Load::Writes => vec![include_str!("write.sql").to_owned()],
            Load::Reads => read_scripts(fleet, include_str!("read.sql")),
            Load::Lists => read_scripts(fleet, include_str!("list.sql")),
        };
        let mut paths = Vec::new();
        for (number, text) in texts.iter().enumerate() {
            let path = self.folder.join(format!("pgbench-{number}.sql"));
            fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            paths.push(path);
        }
        Ok(paths)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.binaries.program(program));
        command.env("PGHOST", &self.socket_dir).env("PGPORT", self.port.to_string());
        command.env("PGUSER", "postgres").env("PGDATABASE", "gpuaas");
        command
    }
}

/// Few, because every client prepares the statements of every script.
const READ_SCRIPTS: usize = 8;

fn read_scripts(fleet: &Fleet, text: &str) -> Vec<String> {
    let places = fleet.callers.iter().take(READ_SCRIPTS).map(|it| it.places[0]);
    let ids = places.map(|it| (it.organization.uuid().to_string(), it.project.uuid().to_string()));
    ids.map(|(organization, project)| text.replace("ORGANIZATION", &organization).replace("PROJECT", &project))
        .collect()
}

/// Numbers from here on sort after every id made so far, as the server's do.
fn base() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_millis() as u64) << 16
}

fn output(program: &str, mut command: Command, input: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("cannot run {program}: {error}");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).map_err(failed)?;
    }
    let done = child.wait_with_output().map_err(failed)?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let told = String::from_utf8_lossy(&done.stderr);
    // Sixty-four clients tell the same.
    let told: Vec<&str> = told.lines().take(4).collect();
    Err(format!("{program} failed: {}", told.join("\n")))
}

/// Reads and removes the latency logs: the third word of a line is microseconds.
fn latencies(folder: &Path, prefix: &str) -> Result<Vec<u32>, String> {
    let failed = |error: std::io::Error| format!("cannot read pgbench's log: {error}");
    let mut latencies = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.file_name().is_some_and(|it| it.to_string_lossy().starts_with(prefix)) {
            let text = fs::read_to_string(&path).map_err(failed)?;
            latencies.extend(text.lines().filter_map(|it| it.split(' ').nth(2)?.parse::<u32>().ok()));
            fs::remove_file(&path).map_err(failed)?;
        }
    }
    Ok(latencies)
}
