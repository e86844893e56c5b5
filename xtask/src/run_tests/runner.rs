//! Starts nextest, or `cargo test` where nextest is missing, on one PostgreSQL that
//! the tests share, and reads what it reports.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, ExitStatus, Stdio};

use gpuaasd::dev::postgres::{Cluster, ClusterOptions};

use super::report::Report;

/// Where tests look for the cluster that they share: its socket folder.
const SHARED_CLUSTER: &str = "GPUAAS_TEST_CLUSTER";
const FAILED: &str = "tests failed: the first failure above names what to run alone";

/// Which tests to run, in the words of either runner. `cargo test` may need several calls.
pub struct Selection {
    pub nextest: Vec<String>,
    pub cargo: Vec<Vec<String>>,
}

impl Selection {
    /// Whatever the runner understands.
    pub fn of(args: &[String]) -> Self {
        Self { nextest: args.to_vec(), cargo: vec![args.to_vec()] }
    }
}

/// What a call of the runner came to.
#[derive(Default)]
pub struct Run {
    pub report: Report,
    pub failure: Option<String>,
}

pub struct Runner<'a> {
    pub root: &'a Path,
    cargo: String,
    has_nextest: bool,
    /// For the tests, beside what is set already.
    settings: Vec<(&'static str, String)>,
    /// Until it is stopped.
    cluster: Option<Cluster>,
    runtime: tokio::runtime::Runtime,
    /// As in `15.18`.
    pub postgres: String,
    pub postgres_major: u32,
}

impl<'a> Runner<'a> {
    /// Builds everything that tests start, and starts PostgreSQL.
    pub fn start(root: &'a Path, settings: &[(&'static str, &str)]) -> Result<Self, String> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        // Tests start our daemons as processes, from beside their own binaries.
        // All targets, so that features are resolved as the test runner does.
        call(Command::new(&cargo).current_dir(root).args(["build", "--quiet", "--workspace", "--all-targets"]))?;
        let runtime = tokio::runtime::Runtime::new().map_err(|error| format!("cannot start threads: {error}"))?;
        let folder = std::env::temp_dir().join(format!("gpuaas-tests-{}", std::process::id()));
        let cluster = runtime.block_on(Cluster::start(ClusterOptions::disposable(folder)));
        let cluster = cluster.map_err(|error| error.to_string())?;
        let (postgres, postgres_major) = (version_of(&cluster)?, cluster.binaries().version());
        let has_nextest = has_nextest(&cargo);
        let settings = settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Ok(Self { root, cargo, has_nextest, settings, cluster: Some(cluster), runtime, postgres, postgres_major })
    }

    /// Stops PostgreSQL; what runs tests no more still works.
    pub fn stop(&mut self) -> Result<(), String> {
        let Some(cluster) = self.cluster.take() else { return Ok(()) };
        self.runtime.block_on(cluster.stop()).map_err(|error| error.to_string())
    }

    /// Runs a selection of the workspace's tests.
    pub fn run(&self, selection: &Selection) -> Result<Run, String> {
        if !self.has_nextest {
            return self.with_cargo(&selection.cargo);
        }
        let mut command = self.command();
        self.observed(command.args(["nextest", "run", "--workspace"]).args(&selection.nextest), drop)
    }

    /// The examples in documentation that must not compile; nextest leaves them out.
    pub fn documentation(&self) -> Result<(), String> {
        if !self.has_nextest {
            return Ok(());
        }
        call(self.command().args(["test", "--quiet", "--doc", "--package", "contract"]))
    }

    /// Runs another program of the repository, with the same settings.
    pub fn call(&self, program: PathBuf, args: &[&str]) -> Result<(), String> {
        call(self.program(program).args(args))
    }

    pub fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.root).envs(self.settings.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a program whose output somebody reads. Nextest may run inside of it.
    pub fn observed(&self, command: &mut Command, read: impl FnOnce(ChildStdout)) -> Result<Run, String> {
        let path = self.junit();
        // One of an earlier run must not speak for this one.
        let _ = std::fs::remove_file(&path);
        let status = reading(command, read)?;
        let report = std::fs::read_to_string(&path).map(|xml| Report::of_junit(&xml)).unwrap_or_default();
        Ok(Run { report, failure: (!status.success()).then(|| FAILED.to_owned()) })
    }

    fn command(&self) -> Command {
        let mut command = self.program(&self.cargo);
        command.envs(self.cluster.iter().map(|it| (SHARED_CLUSTER, it.socket_dir())));
        command
    }

    fn with_cargo(&self, calls: &[Vec<String>]) -> Result<Run, String> {
        let mut run = Run::default();
        for args in calls {
            let scope: &[&str] = if args.iter().any(|it| it == "--package") { &[] } else { &["--workspace"] };
            let mut command = self.command();
            command.args(["test", "--no-fail-fast"]).args(scope).args(args).stdout(Stdio::piped());
            let mut said = String::new();
            let status = reading(&mut command, |child| {
                for line in BufReader::new(child).lines().map_while(Result::ok) {
                    println!("{line}");
                    said.push_str(&line);
                    said.push('\n');
                }
            })?;
            run.report.cases.extend(Report::of_libtest(&said).cases);
            run.failure = run.failure.or((!status.success()).then(|| FAILED.to_owned()));
        }
        Ok(run)
    }

    fn junit(&self) -> PathBuf {
        let set = self.settings.iter().find(|(name, _)| *name == "NEXTEST_PROFILE").map(|(_, value)| value.clone());
        let profile = set.or_else(|| std::env::var("NEXTEST_PROFILE").ok()).unwrap_or_else(|| "default".to_owned());
        // Where `.config/nextest.toml` says, whatever the target folder is: measured runs have their own.
        self.root.join("target/nextest").join(profile).join("junit.xml")
    }
}

fn call(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|error| format!("cannot start {name}: {error}"))?;
    if status.success() { Ok(()) } else { Err(FAILED.to_owned()) }
}

/// Runs a command; where its output is piped, it is read meanwhile.
fn reading(command: &mut Command, read: impl FnOnce(ChildStdout)) -> Result<ExitStatus, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(|error| format!("cannot start {name}: {error}"))?;
    if let Some(output) = child.stdout.take() {
        read(output);
    }
    child.wait().map_err(|error| format!("cannot wait for {name}: {error}"))
}

fn has_nextest(cargo: &str) -> bool {
    Command::new(cargo)
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// What the server's own program says.
fn version_of(cluster: &Cluster) -> Result<String, String> {
    let output = Command::new(cluster.binaries().program("postgres")).arg("--version").output();
    let text = output.map_err(|error| format!("cannot ask PostgreSQL for its version: {error}"))?.stdout;
    let text = String::from_utf8_lossy(&text);
    full_version(&text).ok_or_else(|| format!("PostgreSQL's version is not understood: {text}"))
}

/// From `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn full_version(text: &str) -> Option<String> {
    let (_, version) = text.split_once("(PostgreSQL) ")?;
    version.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_version_is_read_from_what_postgres_prints() {
        let text = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n";
        assert_eq!(full_version(text).as_deref(), Some("15.18"));
        assert_eq!(full_version("postgres (PostgreSQL) 18.4\n").as_deref(), Some("18.4"));
        assert_eq!(full_version("something else"), None);
    }
}
