//! Real users on this machine: needs root, and says so where it is not.
#![allow(clippy::unwrap_used)]

use agent::config::Config;
use agent::driver::{Allocation, Driver, Steps, no_points};
use agent::linux::LinuxDriver;
use protocol::{Done, GpuRef, Isolation, Login, Shape};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGm0aQvXhWqOqJ0P0u5v5u5v5u5v5u5v5u5v5u5v5u5v a@b";

/// False, with the reason printed, where users cannot be made.
fn can_make_users() -> bool {
    let is_root = nix::unistd::geteuid().is_root();
    let has_tools = std::path::Path::new("/usr/sbin/useradd").exists();
    if !is_root || !has_tools {
        println!("skipped: making users needs root and useradd (root: {is_root}, useradd: {has_tools})");
    }
    is_root && has_tools
}

struct Host {
    driver: LinuxDriver,
    _homes: tempfile::TempDir,
    homes: std::path::PathBuf,
    user: String,
}

impl Host {
    fn new(tail: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let homes = folder.path().join("homes");
        std::fs::create_dir(&homes).unwrap();
        let config = Config { home_root: homes.clone(), simulated_gpus: 2, ..Config::default() };
        // Names as the control plane makes them, of this process alone.
        let user = format!("g{:08x}{tail}", std::process::id());
        Self { driver: LinuxDriver::new(config, None), _homes: folder, homes, user }
    }

    async fn allocate(&self, keys: &[&str]) -> Result<Done, agent::driver::Failure> {
        let gpus = self.gpus().await;
        let login = Login { user: self.user.clone(), keys: keys.iter().map(|key| (*key).to_owned()).collect() };
        let wanted = Allocation { shape: Shape::GpuSlice, gpus: &gpus, login: &login, self_test: true };
        self.driver.ensure_allocation(&mut Steps::new(no_points()), wanted).await
    }

    async fn gpus(&self) -> Vec<GpuRef> {
        let gpus = self.driver.inventory().await.gpus;
        gpus.into_iter().map(|gpu| GpuRef { uuid: gpu.uuid, pci: gpu.pci }).collect()
    }

    async fn release(&self) -> Done {
        let gpus = self.gpus().await;
        let steps = &mut Steps::new(no_points());
        self.driver.ensure_gone(steps, &self.user, &gpus, Isolation::UserRevoke).await.unwrap()
    }

    fn account(&self) -> Option<nix::unistd::User> {
        nix::unistd::User::from_name(&self.user).unwrap()
    }

    fn home(&self) -> std::path::PathBuf {
        self.homes.join(&self.user)
    }

    /// A process of the user.
    fn spawn(&self, script: &str) -> Child {
        let account = self.account().unwrap();
        let mut command = Command::new("/bin/bash");
        command.args(["-c", script]).uid(account.uid.as_raw()).gid(account.gid.as_raw());
        command.env("HOME", self.home()).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = Command::new("userdel").args(["--force", "--remove", &self.user]).output();
    }
}

#[tokio::test]
async fn a_login_is_made_with_its_keys_and_is_removed_with_all_it_left() {
    if !can_make_users() {
        return;
    }
    let host = Host::new("aaaa");
    let Done::Proof { gpus, self_test, .. } = host.allocate(&[KEY]).await.unwrap() else { panic!("no proof") };
    assert_eq!((gpus.len(), self_test.passed), (2, true));
    let account = host.account().unwrap();
    let keys = std::fs::read_to_string(host.home().join(".ssh/authorized_keys")).unwrap();
    assert_eq!(keys, format!("{KEY}\n"));
    let shadow = std::fs::read_to_string("/etc/shadow").unwrap();
    let line = shadow.lines().find(|line| line.starts_with(&format!("{}:", host.user))).unwrap();
    assert_eq!(line.split(':').nth(1), Some("*"), "neither locked nor open to a password");
    // Again changes nothing.
    host.allocate(&[KEY]).await.unwrap();
    assert_eq!(host.account().unwrap().uid, account.uid);
    let shell = host.spawn(". ~/.profile; echo $CUDA_VISIBLE_DEVICES").wait_with_output().unwrap();
    assert_eq!(String::from_utf8(shell.stdout).unwrap().trim(), gpus.join(","));

    let marks = [format!("/tmp/{}", host.user), format!("/dev/shm/{}", host.user)];
    let script = format!("touch {} {}; trap '' TERM HUP INT; (sleep 600 & sleep 600 &); sleep 600", marks[0], marks[1]);
    let mut busy = host.spawn(&script);
    while !std::path::Path::new(&marks[1]).exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let done = host.release().await;
    let Done::Evidence { processes_killed, home_removed, user_removed, gpu_processes_left, stages } = done else {
        panic!("no evidence")
    };
    assert!(processes_killed >= 1 && home_removed && user_removed && gpu_processes_left == 0);
    assert!(host.account().is_none() && !host.home().exists());
    assert!(marks.iter().all(|mark| !std::path::Path::new(mark).exists()), "files elsewhere are gone");
    let alive = Command::new("ps").args(["-o", "pid=,stat=", "-U", &account.uid.to_string()]).output().unwrap();
    let alive = String::from_utf8(alive.stdout).unwrap();
    assert!(alive.lines().all(|line| line.contains('Z')), "{alive}");
    let names: Vec<String> = stages.into_iter().map(|stage| format!("{} {} ms", stage.name, stage.took_ms)).collect();
    println!("released: {processes_killed} processes killed; {}", names.join(", "));
    let _ = busy.wait();
    // Nothing is there any more, and that is as wanted.
    assert!(matches!(host.release().await, Done::Evidence { user_removed: true, processes_killed: 0, .. }));
}

#[tokio::test]
async fn a_stopped_login_keeps_its_home_and_starts_again() {
    if !can_make_users() {
        return;
    }
    let host = Host::new("bbbb");
    host.allocate(&[KEY]).await.unwrap();
    host.spawn("echo kept > ~/work").wait().unwrap();
    let steps = &mut Steps::new(no_points());
    host.driver.ensure_stopped(steps, &host.user, &[]).await.unwrap();
    let expiry = || {
        let shadow = std::fs::read_to_string("/etc/shadow").unwrap();
        let line = shadow.lines().find(|line| line.starts_with(&format!("{}:", host.user))).unwrap().to_owned();
        line.split(':').nth(7).unwrap().to_owned()
    };
    assert_eq!(expiry(), "1", "the account has ended long ago");
    host.allocate(&[KEY]).await.unwrap();
    assert_eq!(expiry(), "");
    assert_eq!(std::fs::read_to_string(host.home().join("work")).unwrap(), "kept\n");
    let other = KEY.replace("a@b", "c@d");
    let steps = &mut Steps::new(no_points());
    host.driver.ensure_keys(steps, &host.user, std::slice::from_ref(&other)).await.unwrap();
    let keys = std::fs::read_to_string(host.home().join(".ssh/authorized_keys")).unwrap();
    assert_eq!(keys, format!("{other}\n"));
    host.release().await;
}

#[tokio::test]
async fn what_a_user_links_to_is_not_written_or_removed_by_root() {
    if !can_make_users() {
        return;
    }
    let host = Host::new("cccc");
    host.allocate(&[KEY]).await.unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("precious"), "x").unwrap();
    let link = format!("rm -rf ~/.ssh; ln -s {0} ~/.ssh; ln -s {0} ~/link", outside.path().display());
    host.spawn(&link).wait().unwrap();
    let steps = &mut Steps::new(no_points());
    let written = host.driver.ensure_keys(steps, &host.user, &[KEY.to_owned()]).await;
    assert!(written.is_err_and(|failure| failure.code == "keys"));
    assert!(!outside.path().join("authorized_keys").exists());
    host.release().await;
    assert!(outside.path().join("precious").exists());
}

#[tokio::test]
async fn users_that_the_agent_did_not_make_are_left_alone() {
    if !can_make_users() {
        return;
    }
    let host = Host::new("dddd");
    for user in ["root", "daemon"] {
        let steps = &mut Steps::new(no_points());
        let refused = host.driver.ensure_gone(steps, user, &[], Isolation::UserRevoke).await;
        assert!(refused.is_err_and(|failure| failure.code == "foreign_user"), "{user}");
        let steps = &mut Steps::new(no_points());
        let refused = host.driver.ensure_keys(steps, user, &[]).await;
        assert!(refused.is_err_and(|failure| failure.code == "foreign_user"), "{user}");
    }
    let steps = &mut Steps::new(no_points());
    let refused = host.driver.ensure_gone(steps, "../etc", &[], Isolation::UserRevoke).await;
    assert!(refused.is_err_and(|failure| failure.code == "bad_login"));
}

#[tokio::test]
async fn a_gpu_that_is_elsewhere_or_missing_is_not_handed_over() {
    let host = Host::new("eeee");
    let mut gpus = host.gpus().await;
    gpus[0].pci = "00000000:ff:00.0".into();
    let login = Login { user: host.user.clone(), keys: vec![] };
    for wanted in [&gpus[..1], &[GpuRef { uuid: "GPU-none".into(), pci: "0".into() }]] {
        let wanted = Allocation { shape: Shape::GpuSlice, gpus: wanted, login: &login, self_test: true };
        let refused = host.driver.ensure_allocation(&mut Steps::new(no_points()), wanted).await;
        assert!(refused.is_err_and(|failure| failure.code == "missing_gpu"));
    }
    let wanted = Allocation { shape: Shape::MigSlice, gpus: &[], login: &login, self_test: true };
    let refused = host.driver.ensure_allocation(&mut Steps::new(no_points()), wanted).await;
    assert!(refused.is_err_and(|failure| failure.code == "unsupported_shape"));
    assert!(host.account().is_none());
}
