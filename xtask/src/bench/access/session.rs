//! Shells on the demo's simulated node, through its gateway.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use client::stream::{self, Hello, Receiver, Sender, StreamMessage};
use protocol::stream::Frame;
use serde_json::{Value, json};

use super::super::daemon::Daemon;
use super::super::http::{Connection, request};

const PATIENCE: Duration = Duration::from_secs(120);
const OPEN: Duration = Duration::from_secs(20);
/// Idle shells are spread: a host takes so many streams from one gateway, and no more.
pub const HOSTS: u16 = 4;

/// Allocations to open shells on, each a whole host.
pub struct Bench {
    address: std::net::SocketAddr,
    token: String,
    operator: String,
    paths: Vec<String>,
    turn: AtomicUsize,
}

pub struct Shell {
    to: Sender,
    from: Receiver,
}

impl Bench {
    pub async fn start(daemon: &Daemon) -> Result<Self, String> {
        let setting = |name: &str| daemon.setting(name).ok_or(format!("dev.env does not set {name}"));
        let project = setting("GPUAAS_PROJECT")?;
        let bench = Bench {
            address: daemon.address(),
            token: setting("GPUAAS_TOKEN")?,
            operator: setting("GPUAAS_OPERATOR_TOKEN")?,
            paths: Vec::new(),
            turn: AtomicUsize::new(0),
        };
        for (key, value) in [
            ("rate_limit.terminal_per_minute", "10000000"),
            ("rate_limit.terminal_ticket_per_minute", "10000000"),
            ("access.sessions_per_allocation", "1000"),
        ] {
            bench.set(key, value).await?;
        }
        let all = format!("/v1/projects/{project}/allocations");
        let mut paths = Vec::with_capacity(HOSTS.into());
        for _ in 0..HOSTS {
            let made = bench.post(&all, &json!({ "sku": "h200-slice", "gpus": 8 })).await?;
            paths.push(format!("{all}/{}", made["id"].as_str().ok_or("the allocation has no id")?));
        }
        for path in &paths {
            bench.wait_until_active(path).await?;
        }
        Ok(Bench { paths, ..bench })
    }

    async fn wait_until_active(&self, path: &str) -> Result<(), String> {
        let started = Instant::now();
        while self.get(path).await?["state"] != "active" {
            if started.elapsed() > PATIENCE {
                return Err("the allocation did not become active".to_owned());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    pub async fn set(&self, key: &str, value: &str) -> Result<(), String> {
        let mut connection = Connection::open(self.address).await?;
        let body = json!({ "value": value }).to_string();
        let path = format!("/v1/platform/policies/{key}");
        connection.send(request("PUT", &path, &self.operator, "", &body).as_bytes()).await
    }

    /// Whether sessions are recorded from now on.
    pub async fn record(&self, is_on: bool) -> Result<(), String> {
        self.set("access.recording", if is_on { "on" } else { "off" }).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.post_as(&self.token, path, body).await
    }

    pub async fn post_as_operator(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.post_as(&self.operator, path, body).await
    }

    async fn post_as(&self, token: &str, path: &str, body: &Value) -> Result<Value, String> {
        let mut connection = Connection::open(self.address).await?;
        let key = format!("idempotency-key: {}\r\n", uuid::Uuid::now_v7());
        connection.ask(request("POST", path, token, &key, &body.to_string()).as_bytes()).await
    }

    pub async fn get_as_operator(&self, path: &str) -> Result<Value, String> {
        let mut connection = Connection::open(self.address).await?;
        connection.ask(request("GET", path, &self.operator, "", "").as_bytes()).await
    }

    async fn get(&self, path: &str) -> Result<Value, String> {
        let mut connection = Connection::open(self.address).await?;
        connection.ask(request("GET", path, &self.token, "", "").as_bytes()).await
    }

    /// A shell that runs a command, through the gateway that the ticket names.
    pub async fn open(&self, command: &str) -> Result<Shell, String> {
        bounded(self.open_shell(&self.paths[0], None, command)).await
    }

    /// The same through a gateway of choice, on each host in turn: a ticket is good
    /// at every gateway.
    pub async fn open_at(&self, gateway: &str, command: &str) -> Result<Shell, String> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.paths.len();
        bounded(self.open_shell(&self.paths[turn], Some(gateway), command)).await
    }

    async fn open_shell(&self, path: &str, gateway: Option<&str>, command: &str) -> Result<Shell, String> {
        let spec = json!({ "kind": "terminal", "command": command });
        let ticket = self.post(&format!("{path}/access-tickets"), &spec).await?;
        let text = |name: &str| ticket[name].as_str().unwrap_or_default().to_owned();
        let url = gateway.map_or_else(|| text("url"), str::to_owned);
        let (to, from) = stream::terminal(&url, &text("ticket"), &Hello::default()).await.map_err(super::text)?;
        let mut shell = Shell { to, from };
        match shell.from.next_frame().await.map_err(super::text)? {
            StreamMessage::Frame(Frame::Opened(_)) => Ok(shell),
            other => Err(format!("the shell did not open: {other:?}")),
        }
    }

    /// Millions of bytes in a second that a command's output comes with.
    pub async fn flood(&self, command: &str) -> Result<f64, String> {
        let mut shell = self.open(command).await?;
        let (mut count, mut began) = (0, None);
        loop {
            match shell.from.next_frame().await.map_err(super::text)? {
                StreamMessage::Frame(Frame::Output(_, bytes)) => {
                    began.get_or_insert_with(Instant::now);
                    count += bytes.len();
                }
                StreamMessage::Frame(Frame::Exit(_)) => break,
                StreamMessage::Closed(code, reason) => return Err(format!("closed with {code} {reason}")),
                _ => (),
            }
        }
        let seconds = began.map_or(f64::MAX, |it: Instant| it.elapsed().as_secs_f64());
        Ok(count as f64 / 1e6 / seconds)
    }
}

impl Shell {
    /// Types a letter and waits until the terminal shows it.
    pub async fn echo(&mut self) -> Result<(), String> {
        self.to.send_frame(&Frame::Input(bytes::Bytes::from_static(b"x"))).await.map_err(super::text)?;
        loop {
            match self.from.next_frame().await.map_err(super::text)? {
                StreamMessage::Frame(Frame::Output(..)) => return Ok(()),
                StreamMessage::Closed(code, reason) => return Err(format!("closed with {code} {reason}")),
                _ => (),
            }
        }
    }

    pub async fn end(mut self) -> Result<(), String> {
        self.to.send_frame(&Frame::Hangup).await.map_err(super::text)
    }
}

async fn bounded(opening: impl Future<Output = Result<Shell, String>>) -> Result<Shell, String> {
    tokio::time::timeout(OPEN, opening).await.unwrap_or_else(|_| Err("a shell did not open in time".to_owned()))
}
