//! From a request to `active`, with simulated hosts that take no time: how long
//! at a steady rate, and how many a second when nothing holds back.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::super::daemon::Daemon;
use super::super::figure::Unit;
use super::super::http::{Connection, request};
use super::super::pgbench::Database;
use super::super::report::Report;
use super::super::sample::Sample;
use super::agents::Agents;

const NODES: u16 = 400;
/// Requests a second, and for how long.
const RATE: u32 = 50;
const LASTING: Duration = Duration::from_secs(20);
/// How many are asked for at once when the rate is not held back, and by how many callers.
const BURST: usize = 1500;
const CALLERS: usize = 16;
// bound: nothing measured here takes longer on a machine that works
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_AGAIN: Duration = Duration::from_millis(4);

pub async fn measure(report: &mut Report) -> Result<(), String> {
    // One simulated node brings the demo pool, which the others join.
    let mut daemon = Daemon::start(1).await?;
    daemon.raise_limits().await?;
    daemon.grant_credit().await?;
    let mut session = Database::of(&daemon)?.session()?;
    let agents = Agents::start(&daemon, NODES).await?;
    session.wait("SELECT count(*) FROM nodes WHERE state = 'ready' AND health = 'ok'", NODES.into()).await?;
    let asking = Asking::of(&daemon)?;
    burst(&asking, CALLERS).await?;
    steady(&asking, report).await?;
    let before: u64 = session.ask(ACTIVE)?.parse().map_err(|_| "psql printed no number")?;
    let started = Instant::now();
    burst(&asking, BURST).await?;
    let created = started.elapsed().as_secs_f64();
    session.wait(ACTIVE, before + BURST as u64).await?;
    let active = started.elapsed().as_secs_f64();
    report.value("allocations_created_per_second", Unit::PerSecond, BURST as f64 / created);
    report.value("allocations_active_per_second", Unit::PerSecond, BURST as f64 / active);
    drop(agents);
    daemon.stop().await
}

const ACTIVE: &str = "SELECT count(*) FROM allocations WHERE state = 'active'";

/// Who asks, where, and for what.
#[derive(Clone)]
pub struct Asking {
    pub address: SocketAddr,
    pub token: String,
    pub project: String,
    pub sku: &'static str,
}

impl Asking {
    pub fn of(daemon: &Daemon) -> Result<Self, String> {
        let setting = |name: &str| daemon.setting(name).ok_or(format!("dev.env does not set {name}"));
        Ok(Self {
            address: daemon.address(),
            token: setting("GPUAAS_TOKEN")?,
            project: setting("GPUAAS_PROJECT")?,
            sku: "h200-slice",
        })
    }

    /// Asks for one GPU; the allocation's id.
    pub async fn create(&self, connection: &mut Connection) -> Result<String, String> {
        let path = format!("/v1/projects/{}/allocations", self.project);
        let key = format!("idempotency-key: {}\r\n", uuid::Uuid::now_v7().simple());
        let body = format!("{{\"sku\":\"{}\",\"gpus\":1}}", self.sku);
        let answer = connection.ask(request("POST", &path, &self.token, &key, &body).as_bytes()).await?;
        answer["id"].as_str().map(str::to_owned).ok_or("the answer names no allocation".to_owned())
    }

    /// Waits until its state is one of those.
    pub async fn until(&self, connection: &mut Connection, id: &str, states: &[&str]) -> Result<(), String> {
        let path = format!("/v1/projects/{}/allocations/{id}", self.project);
        let started = Instant::now();
        loop {
            let answer = connection.ask(request("GET", &path, &self.token, "", "").as_bytes()).await?;
            let state = answer["state"].as_str().unwrap_or_default();
            if states.contains(&state) {
                return Ok(());
            }
            if state == "failed" || started.elapsed() > PATIENCE {
                return Err(format!("allocation {id} is {state}: {}", answer["reason"]));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

/// A request every so often, whether or not the last one is done.
async fn steady(asking: &Asking, report: &mut Report) -> Result<(), String> {
    let latencies = at_rate(asking, RATE, LASTING, &["active"]).await?;
    let sample = Sample::new(latencies.len(), LASTING.as_secs_f64(), latencies);
    report.fact("allocation_requests_per_second", Unit::PerSecond, sample.per_second);
    report.value("request_to_active_p50_ms", Unit::Milliseconds, sample.p50_ms);
    report.value("request_to_active_p99_ms", Unit::Milliseconds, sample.p99_ms);
    Ok(())
}

/// Microseconds from each request to one of the states.
pub async fn at_rate(
    asking: &Asking,
    rate: u32,
    lasting: Duration,
    states: &'static [&'static str],
) -> Result<Vec<u32>, String> {
    let mut tick = tokio::time::interval(Duration::from_secs(1) / rate);
    let mut running: JoinSet<Result<u32, String>> = JoinSet::new();
    for _ in 0..lasting.as_secs() * u64::from(rate) {
        tick.tick().await;
        let asking = asking.clone();
        running.spawn(async move {
            let mut connection = Connection::open(asking.address).await?;
            let asked = Instant::now();
            let id = asking.create(&mut connection).await?;
            asking.until(&mut connection, &id, states).await?;
            Ok(u32::try_from(asked.elapsed().as_micros()).unwrap_or(u32::MAX))
        });
    }
    let mut latencies = Vec::new();
    while let Some(done) = running.join_next().await {
        latencies.push(done.map_err(|error| format!("a caller failed: {error}"))??);
    }
    Ok(latencies)
}

/// So many as fast as they are taken, by a few callers.
pub async fn burst(asking: &Asking, count: usize) -> Result<(), String> {
    let mut running: JoinSet<Result<(), String>> = JoinSet::new();
    for caller in 0..CALLERS {
        let asking = asking.clone();
        running.spawn(async move {
            let mut connection = Connection::open(asking.address).await?;
            for _ in (caller..count).step_by(CALLERS) {
                asking.create(&mut connection).await?;
            }
            Ok(())
        });
    }
    while let Some(done) = running.join_next().await {
        done.map_err(|error| format!("a caller failed: {error}"))??;
    }
    Ok(())
}
