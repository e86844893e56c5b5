//! A gateway as a process of its own, to be weighed and killed.

use super::{bind, settings};
use gateway::Listeners;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

const FOLDER: &str = "GPUAAS_TEST_GATEWAY_FOLDER";

pub struct Process {
    child: Child,
    pub agents: SocketAddr,
    pub public: SocketAddr,
}

impl Process {
    /// This test program again, as a gateway that keeps its files there.
    pub async fn start(folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "stage::process::a_gateway_serves_until_it_is_killed", "--nocapture"])
            .env(FOLDER, folder)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let reading = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if let Some((_, addresses)) = line.split_once("LISTEN ") {
                    let (agents, public) = addresses.split_once(' ').unwrap();
                    return (agents.parse().unwrap(), public.parse().unwrap());
                }
            }
            panic!("the gateway did not start");
        };
        let (agents, public) = tokio::time::timeout(Duration::from_secs(20), reading).await.unwrap();
        Self { child, agents, public }
    }

    /// Without a warning, as by `kill -9`.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Resident memory in KiB.
    pub fn memory_kib(&self) -> i64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id().unwrap())).unwrap();
        let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

#[test]
#[ignore = "started by other tests"]
fn a_gateway_serves_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (agents, public) = (bind().await, bind().await);
        println!("LISTEN {} {}", agents.local_addr().unwrap(), public.local_addr().unwrap());
        let listeners = Listeners { agents, public, ssh: None, ops: None };
        gateway::run(settings(Path::new(&folder)), listeners, CancellationToken::new()).await.unwrap();
    });
}
