//! How much one `gpuaasd` costs that holds many agents: a thousand and five
//! thousand, so that growth shows. They heartbeat every ten seconds and work.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::super::cpu::Used;
use super::super::daemon::{Daemon, programs};
use super::super::figure::Unit;
use super::super::http::{Connection, request};
use super::super::pgbench::Database;
use super::super::report::Report;
use super::allocations::{Asking, at_rate};

const HEARTBEAT_MS: u32 = 10_000;
/// How long the cost is measured, with so many allocations a second flowing.
const MEASURED: Duration = Duration::from_secs(30);
const FLOW: u32 = 5;

pub async fn measure(report: &mut Report) -> Result<(), String> {
    for count in [1000_u16, 5000] {
        let (cores, memory_mib) = hold(count).await?;
        report.value(&format!("agents_{count}_cores"), Unit::Cores, cores);
        report.value(&format!("agents_{count}_memory_mib"), Unit::Mebibytes, memory_mib);
    }
    Ok(())
}

async fn hold(count: u16) -> Result<(f64, f64), String> {
    // One simulated node brings the demo pool, which the others join.
    let mut daemon = Daemon::start(1).await?;
    daemon.raise_limits().await?;
    let database = Database::of(&daemon)?;
    let agents = Agents::start(&daemon, count).await?;
    let ready = "SELECT count(*) FROM nodes WHERE state = 'ready' AND health = 'ok'";
    database.session()?.wait(ready, u64::from(count)).await?;
    // Heartbeats of hosts that enrolled together spread out.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let asking = Asking::of(&daemon)?;
    let (before, started) = (Used::so_far(daemon.process(), database.postmaster()), Instant::now());
    at_rate(&asking, FLOW, MEASURED, &["active"]).await?;
    let after = Used::so_far(daemon.process(), database.postmaster());
    let cores = (after.server_us - before.server_us) / started.elapsed().as_micros() as f64;
    let memory = daemon.memory_mib()?;
    drop(agents);
    daemon.stop().await?;
    Ok((cores, memory))
}

/// The process that plays the agents; it ends with this value.
pub struct Agents {
    process: Child,
}

impl Agents {
    pub async fn start(daemon: &Daemon, count: u16) -> Result<Self, String> {
        let folder = daemon.folder();
        let (tokens, url) = tokens(daemon, count).await?;
        let list = folder.join("bench-tokens");
        fs::write(&list, tokens.join("\n")).map_err(|error| format!("cannot write tokens: {error}"))?;
        let mut command = Command::new(programs()?.join("gpuaas-node"));
        command.arg("sim").args(["--url", &url, "--name", "bench"]).arg("--tokens").arg(&list);
        command.arg("--ca-file").arg(folder.join("sim/roots.pem")).args(["--nodes", &count.to_string()]);
        command.args(["--heartbeat-ms", &HEARTBEAT_MS.to_string()]).arg("--until-stdin-closes");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).env("GPUAAS_NODE_LOG", "error");
        let process = command.spawn().map_err(|error| format!("cannot start gpuaas-node: {error}"))?;
        Ok(Self { process })
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// A token for each, and where they enroll.
async fn tokens(daemon: &Daemon, count: u16) -> Result<(Vec<String>, String), String> {
    let token = daemon.setting("GPUAAS_OPERATOR_TOKEN").ok_or("dev.env names no operator token")?;
    let mut connection = Connection::open(daemon.address()).await?;
    let pools = connection.ask(request("GET", "/v1/platform/pools?name=sim", &token, "", "").as_bytes()).await?;
    let body = json!({ "pool_id": pools["items"][0]["id"], "lifetime_minutes": 60 }).to_string();
    let (mut tokens, mut url) = (Vec::new(), String::new());
    for _ in 0..count {
        let key = format!("idempotency-key: {}\r\n", uuid::Uuid::now_v7().simple());
        let ask = request("POST", "/v1/platform/enrollment-tokens", &token, &key, &body);
        let answer = connection.ask(ask.as_bytes()).await?;
        tokens.push(answer["secret"].as_str().ok_or("the answer shows no token")?.to_owned());
        url = answer["node_url"].as_str().ok_or("the answer names no address")?.to_owned();
    }
    Ok((tokens, url))
}
