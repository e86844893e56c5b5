//! A virtual machine with systemd, made and started by `scripts/host-vm.sh`.
#![allow(dead_code, clippy::unwrap_used)]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};

const PATIENCE: Duration = Duration::from_secs(3600);

pub struct Machine {
    folder: PathBuf,
    keys: tempfile::TempDir,
    port: u16,
    emulator: Child,
    _tunnel: Option<Child>,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Machine {
    /// Boots, with these ports of this host reachable as its own.
    pub async fn boot(ports: &[u16]) -> Self {
        let script = repository().join("scripts/host-vm.sh");
        let folder = repository().join("target/host-vm");
        if !folder.join("disk.raw").exists() {
            let built = Command::new(&script).arg("build").arg(&folder).status().await.unwrap();
            assert!(built.success(), "the machine could not be built; see above");
        }
        let folder = folder.canonicalize().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(&script);
        command.arg("boot").arg(&folder).arg(port.to_string()).stdin(Stdio::null());
        let emulator = command.spawn().unwrap();
        let keys = tempfile::tempdir().unwrap();
        let mut machine = Self { folder, keys, port, emulator, _tunnel: None };
        let began = Instant::now();
        while machine.run("root", "id", "true").await.is_none() {
            assert!(began.elapsed() < PATIENCE, "the machine did not boot; see serial-{port}.log in its folder");
            // pause: a machine boots for seconds, and each question is an ssh connection
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        println!("booted in {} s", began.elapsed().as_secs());
        let mut tunnel = machine.ssh("root", "id");
        for port in ports {
            tunnel.args(["-R", &format!("127.0.0.1:{port}:127.0.0.1:{port}")]);
        }
        tunnel.args(["-N", "-o", "ExitOnForwardFailure=yes", "root@127.0.0.1"]).stdin(Stdio::null());
        machine._tunnel = Some(tunnel.kill_on_drop(true).spawn().unwrap());
        machine
    }

    /// The agent, its unit and its settings.
    pub async fn install(&self) {
        self.says("mkdir -p /usr/local/lib/gpuaas /var/lib/gpuaas-node; chmod 700 /var/lib/gpuaas-node").await;
        let stripped = self.keys.path().join("gpuaas-node");
        let strip =
            Command::new("strip").arg("-o").arg(&stripped).arg(env!("CARGO_BIN_EXE_gpuaas-node")).status().await;
        assert!(strip.is_ok_and(|ended| ended.success()), "strip is missing: install binutils");
        self.put(&std::fs::read(stripped).unwrap(), "/usr/local/lib/gpuaas/gpuaas-node", "755").await;
        let unit = std::fs::read(repository().join("deploy/gpuaas-node.service")).unwrap();
        self.put(&unit, "/etc/systemd/system/gpuaas-node.service", "644").await;
        let settings = "simulated_gpus = 2\n";
        self.put(settings.as_bytes(), "/var/lib/gpuaas-node/agent.toml", "600").await;
    }

    async fn put(&self, bytes: &[u8], path: &str, mode: &str) {
        use tokio::io::AsyncWriteExt;
        let mut ssh = self.ssh("root", "id");
        let mut child = ssh
            .args(["root@127.0.0.1", &format!("cat > {path} && chmod {mode} {path}")])
            .stdin(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(bytes).await.unwrap();
        drop(input);
        assert!(child.wait().await.unwrap().success(), "{path} could not be written");
    }

    /// The public half of the key that also opens the machine itself.
    pub fn key(&self) -> String {
        std::fs::read_to_string(self.folder.join("id.pub")).unwrap().trim().to_owned()
    }

    /// A key pair of its own; the public half is in the answer.
    pub async fn make_key(&self, name: &str) -> String {
        let path = self.keys.path().join(name);
        let mut make = Command::new("ssh-keygen");
        make.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"]).arg(&path);
        assert!(make.status().await.unwrap().success());
        std::fs::read_to_string(path.with_extension("pub")).unwrap().trim().to_owned()
    }

    /// What a command of root prints; it must succeed.
    pub async fn says(&self, command: &str) -> String {
        self.run("root", "id", command).await.unwrap_or_else(|| panic!("failed on the machine: {command}"))
    }

    /// What a command of a user prints, or nothing where sshd does not let it in.
    pub async fn ssh_as(&self, user: &str, key: &str, command: &str) -> String {
        self.run(user, key, command).await.unwrap_or_default()
    }

    /// Waits until a command of root succeeds.
    pub async fn eventually(&self, command: &str) {
        let began = Instant::now();
        while self.run("root", "id", command).await.is_none() {
            assert!(began.elapsed() < PATIENCE, "never: {command}");
            // pause: each question is an ssh connection of its own
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    async fn run(&self, user: &str, key: &str, command: &str) -> Option<String> {
        let mut ssh = self.ssh(user, key);
        ssh.args([&format!("{user}@127.0.0.1"), command]).stdin(Stdio::null()).kill_on_drop(true);
        let output = tokio::time::timeout(PATIENCE, ssh.output()).await.ok()?.unwrap();
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn ssh(&self, _user: &str, key: &str) -> Command {
        let own = self.keys.path().join(key);
        let key = if own.exists() { own } else { self.folder.join(key) };
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "none", "-q", "-p", &self.port.to_string(), "-i"]).arg(key);
        let options =
            ["BatchMode=yes", "IdentitiesOnly=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"];
        for option in options.into_iter().chain(["ConnectTimeout=60"]) {
            ssh.args(["-o", option]);
        }
        ssh
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Asked, so that it ends its emulator, too.
        if let Some(pid) = self.emulator.id().and_then(|pid| i32::try_from(pid).ok()) {
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM);
        }
    }
}

/// Waits until it is so.
pub async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
