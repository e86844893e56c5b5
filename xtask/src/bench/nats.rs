//! A NATS server with JetStream on disk, on free ports and in a folder of its own,
//! gone when dropped.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::daemon::free_port;
use super::http::fetch;

pub struct Nats {
    process: Child,
    port: u16,
    monitor: SocketAddr,
    _folder: tempfile::TempDir,
}

/// How far the consumers of all streams are.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Backlog {
    pub consumers: u64,
    /// Messages that some consumer has not acknowledged, once for each such consumer.
    pub unacknowledged: u64,
}

const PROGRAM: &str = "nats-server";
const PATIENCE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(10);

impl Nats {
    pub async fn start() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("cannot make a folder for NATS: {error}"))?;
        let (port, monitor) = (free_port()?, free_port()?);
        let mut command = Command::new(find(PROGRAM));
        command.args(["-a", "127.0.0.1", "-p", &port.to_string(), "-m", &monitor.to_string(), "-js", "-sd"]);
        command.arg(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn();
        let process = process.map_err(|error| format!("cannot start {PROGRAM}: {error}; `make bench` installs it"))?;
        let nats = Self { process, port, monitor: SocketAddr::from(([127, 0, 0, 1], monitor)), _folder: folder };
        let started = Instant::now();
        while let Err(error) = fetch(nats.monitor, "/jsz").await {
            if started.elapsed() > PATIENCE {
                return Err(format!("{PROGRAM} did not answer within {PATIENCE:?}: {error}"));
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(nats)
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub async fn backlog(&self) -> Result<Backlog, String> {
        Ok(Backlog::of(&fetch(self.monitor, "/jsz?consumers=true").await?))
    }
}

impl Backlog {
    fn of(answer: &Value) -> Self {
        let list = |it: &'static str| move |of: &Value| of[it].as_array().cloned().unwrap_or_default();
        let streams = list("account_details")(answer).into_iter().flat_map(|it| list("stream_detail")(&it));
        streams.flat_map(|it| list("consumer_detail")(&it)).fold(Self::default(), |all, it| {
            let count = |name: &str| it[name].as_u64().unwrap_or_default();
            let left = count("num_pending") + count("num_ack_pending");
            Self { consumers: all.consumers + 1, unacknowledged: all.unacknowledged + left }
        })
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Debian puts servers where only root's path leads.
fn find(program: &str) -> PathBuf {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/local/sbin:/usr/sbin:/sbin";
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(program));
    places.find(|it| it.exists()).unwrap_or_else(|| program.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn backlog_adds_up_over_all_consumers() {
        let consumer = |pending: u64, acked: u64| json!({ "num_pending": pending, "num_ack_pending": acked });
        let stream = json!({ "name": "A", "consumer_detail": [consumer(7, 1), consumer(0, 0)] });
        let answer = json!({ "account_details": [{ "stream_detail": [stream, { "name": "B" }] }] });
        assert_eq!(Backlog::of(&answer), Backlog { consumers: 2, unacknowledged: 8 });
        assert_eq!(Backlog::of(&json!({})), Backlog::default());
    }
}
