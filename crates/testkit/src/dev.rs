//! `gpuaasd dev` as people run it: a data folder, one process, simulated hosts.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};

use crate::process::{Daemon, command};

/// A folder that the account which runs PostgreSQL for root can pass.
pub fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
    folder
}

pub struct Dev {
    pub daemon: Daemon,
    said: Lines<BufReader<tokio::process::ChildStdout>>,
    data: PathBuf,
}

impl Dev {
    pub async fn start(data: &Path, more: &[&str]) -> Dev {
        let arguments = [&["dev", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()], more].concat();
        let mut child =
            command(&arguments, "").env_remove("GPUAAS_DATABASE_URL").stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = tokio::time::timeout(Duration::from_secs(60), said.next_line()).await.unwrap().unwrap().unwrap();
        let base = first.strip_prefix("gpuaas is ready at ").expect("it says where it is").to_owned();
        let dev = Dev { daemon: Daemon { child, base }, said, data: data.to_owned() };
        dev.daemon.ready(Duration::from_secs(10)).await;
        dev
    }

    /// What it has said since, until it says how to stop it.
    pub async fn rest(&mut self) -> String {
        let mut text = String::new();
        while let Some(line) = self.said.next_line().await.unwrap() {
            text += &line;
            text.push('\n');
            if line.starts_with("Ctrl-C") {
                break;
            }
        }
        text
    }

    /// What `dev.env` sets.
    pub fn env(&self) -> HashMap<String, String> {
        let text = fs::read_to_string(self.data.join("dev.env")).unwrap();
        let pairs = text.lines().filter_map(|it| it.strip_prefix("export ")?.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}
