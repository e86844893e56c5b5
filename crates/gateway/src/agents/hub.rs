//! The hosts that are connected, and how a stream is opened on one. On these
//! connections the host is the HTTP/2 server.

use super::stream::Stream;
use crate::locked;
use bytes::Bytes;
use h2::Ping;
use h2::client::{Builder, SendRequest};
use http::{Method, Request, StatusCode};
use protocol::Problem;
use protocol::stream::{ENVIRONMENT_HEADER, Environment, GRANT_HEADER, PATH, SignedGrant, refusals};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How much a host may send on a stream before somebody took it.
pub const STREAM_WINDOW: u32 = 256 * 1024; // bound: what a stalled reader costs here
// bound: every stream's window fits, so that stalled ones cannot stop the others
const CONNECTION_WINDOW: u32 = 256 * STREAM_WINDOW;
const FRAME_BYTES: u32 = 64 * 1024; // bound: the turn of one stream on the connection
const SEND_BUFFER: usize = 256 * 1024; // bound: what waits for a host that does not read
const PING: Duration = Duration::from_secs(10); // bound: a dead line is noticed before people give up
const PONG: Duration = Duration::from_secs(20); // bound: then the host is gone
const OPEN: Duration = Duration::from_secs(15); // bound: starting a shell on a loaded host
const ARRIVAL: Duration = Duration::from_secs(3); // bound: a host that was just added, or dials again, is here by then
const GREET: Duration = Duration::from_secs(10); // bound: settings come at once from an honest host
const MAX_PROBLEM: usize = 16 * 1024; // bound: a refusal is a few sentences

/// Why a stream was not opened, when not the host but this gateway says so.
pub mod codes {
    pub const HOST_GONE: &str = "host_not_connected";
    pub const HOST_SILENT: &str = "host_does_not_answer";
}

/// What hosts say no with that somebody should know of; the rest is counted as one.
const COUNTED: &[&str] = &[
    refusals::MALFORMED,
    refusals::FORGED,
    refusals::OTHER_NODE,
    refusals::OTHER_GATEWAY,
    refusals::EXPIRED,
    refusals::USED,
    refusals::OLD_EPOCH,
    refusals::NO_ALLOCATION,
    refusals::NO_SESSION,
    refusals::TOO_MANY,
    refusals::TOO_MANY_STREAMS,
    codes::HOST_SILENT,
];

#[derive(Default)]
pub struct Hub {
    hosts: Mutex<HashMap<String, Host>>,
    /// Rung when one has connected.
    arrived: Notify,
    counter: AtomicU64,
}

struct Host {
    number: u64,
    line: SendRequest<Bytes>,
    cut: CancellationToken,
}

impl Hub {
    /// How many hosts are connected.
    pub fn count(&self) -> usize {
        locked(&self.hosts).len()
    }

    /// Breaks the connection of a host, and every stream on it.
    pub fn cut(&self, node: &str) {
        if let Some(host) = locked(&self.hosts).remove(node) {
            tracing::info!(node, "a host was disconnected");
            host.cut.cancel();
        }
    }

    /// Opens a stream on a host with a grant for it, in an environment that a client
    /// set.
    pub async fn open(&self, node: &str, grant: &SignedGrant, environment: &Environment) -> Result<Stream, Problem> {
        let line = tokio::time::timeout(ARRIVAL, self.line_to(node)).await;
        let line = line.map_err(|_| gone(codes::HOST_GONE, "the host is not connected to this gateway"))?;
        let opened = tokio::time::timeout(OPEN, open(line, grant, environment)).await;
        let opened = opened.unwrap_or_else(|_| Err(gone(codes::HOST_SILENT, "the host did not respond in time")));
        opened.inspect_err(|problem| {
            let reason = COUNTED.iter().find(|it| **it == problem.code).unwrap_or(&"other");
            metrics::counter!("gpuaas_gateway_refused_streams_total", "reason" => *reason).increment(1);
        })
    }

    /// The line to a host, as soon as there is one.
    async fn line_to(&self, node: &str) -> SendRequest<Bytes> {
        loop {
            // Before looking, so that nobody who comes in between is missed.
            let arrived = self.arrived.notified();
            tokio::pin!(arrived);
            arrived.as_mut().enable();
            if let Some(host) = locked(&self.hosts).get(node) {
                return host.line.clone();
            }
            arrived.await;
        }
    }

    /// Serves a host's connection until it ends. A newer one replaces an older.
    pub(super) async fn keep<T>(&self, node: &str, stream: T)
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let mut builder = Builder::new();
        builder
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME_BYTES)
            .max_send_buffer_size(SEND_BUFFER)
            .enable_push(false);
        let (line, mut connection) = match tokio::time::timeout(GREET, builder.handshake(stream)).await {
            Ok(Ok(shaken)) => shaken,
            Ok(Err(error)) => return tracing::info!(node, %error, "a host does not speak HTTP/2"),
            Err(_) => return tracing::info!(node, "a host did not send its greeting in time"),
        };
        let pings = connection.ping_pong();
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        let cut = CancellationToken::new();
        let host = Host { number, line, cut: cut.clone() };
        if let Some(older) = locked(&self.hosts).insert(node.to_owned(), host) {
            tracing::info!(node, "a host connected again");
            older.cut.cancel();
        }
        self.arrived.notify_waiters();
        let gauge = metrics::gauge!("gpuaas_gateway_nodes");
        gauge.set(self.count() as f64);
        tracing::info!(node, "a host is connected");
        let heartbeat = async {
            match pings {
                Some(pings) => heartbeat(pings).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            ended = connection => tracing::info!(node, error = ?ended.err(), "a host's connection ended"),
            () = heartbeat => tracing::info!(node, "a host no longer responds"),
            () = cut.cancelled() => (),
        }
        let mut hosts = locked(&self.hosts);
        if hosts.get(node).is_some_and(|host| host.number == number) {
            hosts.remove(node);
        }
        gauge.set(hosts.len() as f64);
    }
}

/// Returns when the other side is silent for too long.
async fn heartbeat(mut pings: h2::PingPong) {
    loop {
        tokio::time::sleep(PING).await;
        match tokio::time::timeout(PONG, pings.ping(Ping::opaque())).await {
            Ok(Ok(_)) => (),
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

async fn open(line: SendRequest<Bytes>, grant: &SignedGrant, environment: &Environment) -> Result<Stream, Problem> {
    let lost = |error: &dyn std::fmt::Display| gone(codes::HOST_GONE, &format!("the connection was lost: {error}"));
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(format!("https://host{PATH}"))
        .header(GRANT_HEADER, grant.to_header());
    if let Some(environment) = environment.to_header() {
        request = request.header(ENVIRONMENT_HEADER, environment);
    }
    let request = request.body(()).map_err(|error| lost(&error))?;
    let mut line = line.ready().await.map_err(|error| lost(&error))?;
    let (answer, send) = line.send_request(request, false).map_err(|error| lost(&error))?;
    let (head, mut body) = answer.await.map_err(|error| lost(&error))?.into_parts();
    if head.status == StatusCode::OK {
        return Ok(Stream { send, receive: body });
    }
    let mut text = Vec::new();
    while let Some(Ok(piece)) = body.data().await {
        let _ = body.flow_control().release_capacity(piece.len());
        text.extend_from_slice(&piece);
        if text.len() > MAX_PROBLEM {
            break;
        }
    }
    let problem: Problem = serde_json::from_slice(&text).unwrap_or_default();
    if problem.code.is_empty() {
        Err(gone(refusals::FAILED, "the host refused without a reason"))
    } else {
        Err(problem)
    }
}

fn gone(code: &str, detail: &str) -> Problem {
    Problem {
        code: code.into(),
        title: "the stream could not be opened".into(),
        detail: detail.into(),
        advice: "try again in a moment; if the error persists, check the host with `gpuaas nodes get`".into(),
    }
}
