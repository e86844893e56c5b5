//! This machine as a host, with homes of its own and one login.
#![allow(dead_code, clippy::unwrap_used)]

use agent::config::Config;
use agent::host::Host as _;
use agent::linux::LinuxHost;
use agent::steps::{Failure, Steps, no_points};
use agent::streams::Refused;
use agent::streams::shell::{Prepared, Program};
use agent::workloads::{self, Workloads};
use protocol::{Done, GpuRef, Isolation, LoginSpec, Shape, WantedLimits, WorkloadRef, WorkloadSpec};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

pub const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGm0aQvXhWqOqJ0P0u5v5u5v5u5v5u5v5u5v5u5v5u5v a@b";

fn needs_root() {
    let has_tools = Path::new("/usr/sbin/useradd").exists();
    assert!(has_tools, "this test makes users: install useradd (Debian: apt install passwd)");
    assert!(nix::unistd::geteuid().is_root(), "this test makes users: run `sudo cargo xtask root-test`");
}

pub struct Host {
    pub linux: Arc<LinuxHost>,
    pub login: Arc<workloads::Login>,
    pub workloads: Workloads,
    pub folder: tempfile::TempDir,
    pub homes: PathBuf,
    pub devices: PathBuf,
    keys: PathBuf,
    pub user: String,
}

impl Host {
    pub fn new(tail: &str) -> Self {
        Self::with(tail, |_| ())
    }

    pub fn with(tail: &str, adjust: impl FnOnce(&mut Config)) -> Self {
        needs_root();
        Self::without_users(tail, adjust)
    }

    /// For what ends before a user is made: any user can run it.
    pub fn without_users(tail: &str, adjust: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let homes = folder.path().join("homes");
        std::fs::create_dir(&homes).unwrap();
        let (devices, keys) = (folder.path().join("dev"), folder.path().join("keys"));
        std::fs::create_dir(&devices).unwrap();
        // Ids of this process alone: other tests look for processes in ranges of their own.
        let first_uid = 1_000_000 + std::process::id() * 32;
        let mut config = Config {
            home_root: homes.clone(),
            keys_root: keys.clone(),
            device_root: devices.clone(),
            first_uid,
            last_uid: first_uid + 31,
            simulated_gpus: 2,
            ..Config::default()
        };
        adjust(&mut config);
        // Names as the control plane makes them, of this process alone.
        let user = format!("g{:08x}{tail}", std::process::id());
        let linux = Arc::new(LinuxHost::new(config, None));
        let login = Arc::new(workloads::Login::open(&linux, None).unwrap());
        let mut workloads = Workloads::default();
        workloads.register(&[Shape::Baremetal, Shape::GpuSlice], Arc::clone(&login));
        Self { linux, login, workloads, folder, homes, devices, keys, user }
    }

    pub async fn allocate(&self, keys: &[&str]) -> Result<Done, Failure> {
        let gpus = self.gpus().await;
        self.allocate_gpus(keys, &gpus).await
    }

    pub async fn allocate_gpus(&self, keys: &[&str], gpus: &[GpuRef]) -> Result<Done, Failure> {
        self.allocate_with(keys, gpus, None).await
    }

    pub async fn allocate_with(
        &self,
        keys: &[&str],
        gpus: &[GpuRef],
        limits: Option<WantedLimits>,
    ) -> Result<Done, Failure> {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let login = protocol::Login { user: self.user.clone(), keys };
        let (shape, gpus) = (Shape::GpuSlice, gpus.to_vec());
        let spec = WorkloadSpec::Login(LoginSpec { shape, gpus, login, self_test: true, limits });
        self.workloads.ensure(&mut Steps::new(no_points()), &spec).await
    }

    /// How tasks name the login.
    pub fn reference(&self) -> WorkloadRef {
        WorkloadRef::login(Shape::GpuSlice, &self.user)
    }

    pub async fn replace_keys(&self, keys: &[String]) -> Result<Done, Failure> {
        self.workloads.keys(&mut Steps::new(no_points()), &self.reference(), keys).await
    }

    pub async fn sanitize(&self) -> Result<Done, Failure> {
        self.linux.sanitize(&mut Steps::new(no_points()), &self.workloads).await
    }

    pub async fn prepare(&self, program: Program<'_>) -> Result<Prepared, Refused> {
        self.workloads.open_stream(&self.reference(), program).await
    }

    pub async fn gpus(&self) -> Vec<GpuRef> {
        let gpus = self.linux.inventory().await.gpus;
        gpus.into_iter().map(|gpu| GpuRef { uuid: gpu.uuid, pci: gpu.pci }).collect()
    }

    pub async fn stop(&self) -> Result<Done, Failure> {
        let gpus = self.gpus().await;
        self.workloads.stop(&mut Steps::new(no_points()), &self.reference(), &gpus).await
    }

    pub async fn release(&self) -> Done {
        let gpus = self.gpus().await;
        let steps = &mut Steps::new(no_points());
        self.workloads.remove(steps, &self.reference(), &gpus, Isolation::UserRevoke).await.unwrap()
    }

    pub fn account(&self) -> Option<nix::unistd::User> {
        nix::unistd::User::from_name(&self.user).unwrap()
    }

    pub fn home(&self) -> PathBuf {
        self.homes.join(&self.user)
    }

    /// The file of the login's keys.
    pub fn key_file(&self) -> PathBuf {
        self.keys.join(&self.user)
    }

    /// What shells of the login begin with; nothing where there is no such file.
    pub fn environment(&self) -> String {
        std::fs::read_to_string(self.keys.with_file_name("environment").join(&self.user)).unwrap_or_default()
    }

    pub fn keys(&self) -> Option<String> {
        std::fs::read_to_string(self.key_file()).ok()
    }

    /// A field of the user's line in the shadow file.
    pub fn shadow(&self, field: usize) -> String {
        let shadow = std::fs::read_to_string("/etc/shadow").unwrap();
        let line = shadow.lines().find(|line| line.starts_with(&format!("{}:", self.user))).unwrap();
        line.split(':').nth(field).unwrap().to_owned()
    }

    /// A process of the user, beside the agent.
    pub fn spawn(&self, script: &str) -> Child {
        let account = self.account().unwrap();
        let mut command = Command::new("/bin/bash");
        command.args(["-c", script]).uid(account.uid.as_raw()).gid(account.gid.as_raw());
        command.env("HOME", self.home()).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
    }

    /// What a command of a stream prints.
    pub async fn exec(&self, line: &str) -> std::process::Output {
        let prepared = self.prepare(Program::Command(line)).await;
        let mut command = prepared.map_err(|refused| refused.detail).unwrap().command;
        command.stdin(Stdio::null()).kill_on_drop(true).output().await.unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = Command::new("userdel").args(["--force", "--remove", &self.user]).output();
    }
}

/// Waits for a condition, for at most ten seconds.
pub async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..500 {
        if is_so() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{what} did not happen");
}
