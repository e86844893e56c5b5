//! `gpuaasd` as a process of its own, to be killed and started again.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use tokio::process::{Child, Command};

/// The daemon beside the test binary; built by the workspace build.
pub fn binary(name: &str) -> PathBuf {
    let here = std::env::current_exe().expect("a test knows its own path");
    let folder = here.parent().and_then(Path::parent).expect("tests live in target/…/deps");
    let path = folder.join(name);
    assert!(path.exists(), "{} is missing: run `cargo build --workspace` first, as `make test` does", path.display());
    path
}

pub struct Daemon {
    pub child: Child,
    pub base: String,
}

/// The key that tests seal with; it guards nothing.
pub fn secrets_keys() -> String {
    format!("test:{}=", "A".repeat(43))
}

/// `gpuaasd` with arguments against a database, not started yet.
pub fn command(arguments: &[&str], url: &str) -> Command {
    let mut command = Command::new(binary("gpuaasd"));
    command
        .args(arguments)
        .env("GPUAAS_DATABASE_URL", url)
        .env("GPUAAS_SECRETS_KEYS", secrets_keys())
        .env("GPUAAS_LOG", "warn")
        .env("GPUAAS_LISTEN", "127.0.0.1:0")
        .env("GPUAAS_NODE_LISTEN", "127.0.0.1:0")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// What a command that ends by itself said, and whether it went well.
#[derive(Debug)]
pub struct CommandOutput {
    pub is_success: bool,
    pub out: String,
    pub err: String,
}

/// Runs `gpuaasd` to its end.
pub async fn run(arguments: &[&str], url: &str) -> CommandOutput {
    said(command(arguments, url)).await
}

pub async fn said(mut command: Command) -> CommandOutput {
    let output = command.output().await.expect("the daemon starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the daemon writes text");
    CommandOutput { is_success: output.status.success(), out: text(output.stdout), err: text(output.stderr) }
}

impl Daemon {
    /// Starts `gpuaasd serve` on a port against a database and waits for readiness.
    pub async fn serve(url: &str, port: u16, more: &[(&str, &str)]) -> Daemon {
        Daemon::serve_with(&["serve"], url, port, more).await
    }

    pub async fn serve_with(arguments: &[&str], url: &str, port: u16, more: &[(&str, &str)]) -> Daemon {
        let mut command = command(arguments, url);
        command.env("GPUAAS_LISTEN", format!("127.0.0.1:{port}")).envs(more.iter().copied());
        let child = command.spawn().expect("the daemon starts");
        let daemon = Daemon { child, base: format!("http://127.0.0.1:{port}") };
        daemon.ready(Duration::from_secs(30)).await;
        daemon
    }

    pub fn client(&self, token: &str) -> client::Client {
        client::Client::new(&self.base, client::Credential::bearer(token)).expect("the address is one")
    }

    /// As Ctrl-C or a service manager does it; waits for the end.
    pub async fn stop(mut self) -> std::process::ExitStatus {
        self.signal(nix::sys::signal::Signal::SIGTERM);
        self.child.wait().await.expect("a child can be waited for")
    }

    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = self.child.id().and_then(|it| i32::try_from(it).ok()).expect("the daemon was not waited for yet");
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).expect("the daemon is there");
    }

    pub async fn ready(&self, patience: Duration) {
        let started = Instant::now();
        let http = reqwest::Client::new();
        loop {
            let answer = http.get(format!("{}/readyz", self.base)).send().await;
            if answer.is_ok_and(|it| it.status().is_success()) {
                return;
            }
            assert!(started.elapsed() < patience, "the daemon was not ready after {patience:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Checks every seal of the audit log, as an auditor does, and says how many.
    pub async fn verify_audit(&self, token: &str) -> String {
        verify_audit(&self.base, token).await
    }

    /// As `kill -9`.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("the daemon can be killed");
    }
}

/// Checks every seal of the audit log over the API.
pub async fn verify_audit(base: &str, token: &str) -> String {
    let (mut after, mut seals, mut entries) = (0, 0, 0);
    loop {
        let address = format!("{base}/v1/platform/audit/verify?limit=200&after={after}");
        let answer = reqwest::Client::new().get(address).bearer_auth(token).send().await.expect("the daemon answers");
        let report: serde_json::Value = answer.json().await.expect("answers are JSON");
        assert_eq!(report["findings"], serde_json::json!([]), "{report}");
        seals += report["seals_checked"].as_i64().expect("a count");
        entries += report["entries_checked"].as_i64().expect("a count");
        match report["next_after"].as_i64() {
            Some(next) => after = next,
            None => return format!("{seals} seals over {entries} audit entries verify"),
        }
    }
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    listener.local_addr().expect("a bound listener has an address").port()
}
