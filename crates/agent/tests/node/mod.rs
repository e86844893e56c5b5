//! The real program, started as a process with a folder of its own.
#![allow(dead_code, clippy::unwrap_used)]

use super::plane::{Plane, eventually};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

pub struct Node {
    pub folder: tempfile::TempDir,
    pub binary: PathBuf,
    pub id: String,
    child: Option<Child>,
}

impl Node {
    /// Enrolled by the fingerprint of the root, and not started yet.
    pub async fn enrolled(plane: &Plane, config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // A copy of its own: an update replaces the binary.
        let binary = folder.path().join("gpuaas-node");
        std::fs::copy(env!("CARGO_BIN_EXE_gpuaas-node"), &binary).unwrap();
        let mut node = Self { folder, binary, id: String::new(), child: None };
        std::fs::create_dir_all(node.data()).unwrap();
        std::fs::write(node.data().join("agent.toml"), config).unwrap();
        let token = plane.state().tokens.iter().next().cloned().unwrap();
        let fingerprint = plane.authority.fingerprint();
        let enrolled = node
            .tell(&["enroll", "--url", &plane.url, "--token", &token, "--ca-fingerprint", &fingerprint], true)
            .await;
        assert!(enrolled.status.success(), "{}", String::from_utf8_lossy(&enrolled.stderr));
        let said = String::from_utf8(enrolled.stdout).unwrap();
        node.id = said.strip_prefix("Enrolled as ").unwrap().split('.').next().unwrap().to_owned();
        node
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Runs a command to its end without blocking the plane.
    pub async fn tell(&self, arguments: &[&str], with_folder: bool) -> Output {
        let mut command = Command::new(&self.binary);
        command.args(arguments);
        if with_folder {
            command.arg("--data-dir").arg(self.data());
        }
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
    }

    pub fn start(&mut self, more: &[&str]) {
        self.kill();
        let log = std::fs::File::create(self.folder.path().join("log")).unwrap();
        let mut command = Command::new(&self.binary);
        command.args(["run", "--heartbeat-ms", "300", "--data-dir"]).arg(self.data()).args(more);
        self.child = Some(command.stderr(log).stdin(Stdio::null()).spawn().unwrap());
    }

    /// As `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Waits until the process has ended by itself.
    pub async fn ended(&mut self) {
        let child = self.child.as_mut().unwrap();
        eventually("the end of the process", || child.try_wait().unwrap()).await;
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("--- log of the node\n{}", self.log());
        }
    }
}

/// A script that adds a line to a file each time it runs.
pub fn counting_script(folder: &Path) -> (PathBuf, PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let (script, count) = (folder.join("wipe"), folder.join("count"));
    std::fs::write(&script, format!("#!/bin/sh\necho wiped >> {}\n", count.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    (script, count)
}

/// How many living processes `sleep` for that long.
pub fn children_named(seconds: &str) -> usize {
    let listed = Command::new("ps").args(["-eo", "stat=,args="]).output().unwrap();
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let wanted = format!("sleep {seconds}");
    let is_one =
        |line: &&str| !line.starts_with('Z') && line.split_once(' ').is_some_and(|(_, it)| it.trim() == wanted);
    text.lines().filter(is_one).count()
}

pub fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).unwrap_or_default().lines().count()
}
