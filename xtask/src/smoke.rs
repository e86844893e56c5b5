//! Runs a smoke test against a server on the schema of this tree. The server
//! may be of an earlier release: it must still work while it is being replaced.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use gpuaasd::dev::{self, postgres::Cluster, postgres::ClusterOptions};

const EMAIL: &str = "smoke@example.test";
const PASSWORD: &str = "correct horse battery"; // secret-scan: allow

/// `server` is the gpuaasd to test, `script` the test of its release; the
/// schema and the first account come from the gpuaasd of this tree.
pub fn run(root: &Path, server: &Path, script: &Path) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    finish("the build", Command::new(cargo).current_dir(root).args(["build", "--quiet", "--bin", "gpuaasd"]))?;
    let own = crate::binaries(root).join("gpuaasd");
    let runtime = tokio::runtime::Runtime::new().map_err(|error| format!("cannot start threads: {error}"))?;
    let options = ClusterOptions::disposable(std::env::temp_dir().join(format!("gpuaas-smoke-{}", std::process::id())));
    let cluster = runtime.block_on(Cluster::start(options)).map_err(|error| error.to_string())?;
    let outcome = runtime
        .block_on(dev::prepare(&cluster))
        .map_err(|error| error.to_string())
        .and_then(|()| on(&cluster.url_as("gpuaas", "gpuaas"), &own, server, script));
    let stopped = runtime.block_on(cluster.stop()).map_err(|error| error.to_string());
    outcome.and(stopped)
}

fn on(url: &str, own: &Path, server: &Path, script: &Path) -> Result<(), String> {
    let command = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new(program);
        let keys = format!("smoke:{}=", "A".repeat(43));
        command.args(arguments).env("GPUAAS_DATABASE_URL", url).env("GPUAAS_SECRETS_KEYS", keys);
        command.env("GPUAAS_LOG", "warn").env("GPUAAS_NODE_LISTEN", "127.0.0.1:0");
        command
    };
    finish("migrate up", command(own, &["migrate", "up"]).stdout(Stdio::null()))?;
    let create = ["admin", "create-operator", "--email", EMAIL, "--name", "Smoke"];
    told(command(own, &create).stdout(Stdio::null()), PASSWORD)?;
    let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).map_err(|error| error.to_string())?;
    let started = command(server, &["serve"]).env("GPUAAS_LISTEN", port.to_string()).spawn();
    let mut running = Running(started.map_err(|error| format!("cannot start {}: {error}", server.display()))?);
    let mut test = Command::new("python3");
    test.arg(script).arg(format!("http://{port}"));
    finish("the smoke test", test.env("GPUAAS_SMOKE_EMAIL", EMAIL).env("GPUAAS_SMOKE_PASSWORD", PASSWORD))?;
    running.stop()
}

fn finish(what: &str, command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("cannot start {what}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{what} failed; what it said is above")) }
}

fn told(command: &mut Command, line: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot make the first account: {error}");
    let mut child = command.stdin(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        writeln!(input, "{line}").map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    if status.success() { Ok(()) } else { Err("making the first account failed; what it said is above".to_owned()) }
}

/// A server that does not outlive us.
struct Running(Child);

impl Running {
    fn stop(&mut self) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("cannot stop the server: {error}");
        finish("kill", Command::new("kill").arg(self.0.id().to_string()))?;
        let status = self.0.wait().map_err(failed)?;
        if status.success() { Ok(()) } else { Err(format!("the server did not stop in order: {status}")) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Gone already, unless something failed before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
