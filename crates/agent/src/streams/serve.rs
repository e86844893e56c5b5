//! A connection to a gateway, on which this side is the HTTP/2 server: each request
//! carries a grant and becomes a stream, or is answered with why not.

use super::refusal::Refused;
use super::registry::Sessions;
use super::shell::{PortRoute, Program};
use super::terminal::{self, AttachOptions, Joined};
use super::wire::{Incoming, Outgoing};
use super::{exec, raw};
use crate::workloads::Workloads;
use bytes::Bytes;
use h2::server::{Builder, Connection, SendResponse};
use h2::{Ping, RecvStream};
use http::{Method, Request, Response};
use protocol::stream::{ENVIRONMENT_HEADER, Environment, GRANT_HEADER, Grant, Kind, PATH, WINDOW_BYTES, refusals};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The library keeps a stream above its own limit waiting, without a word. So it is
/// given a little more, and what is above ours is refused.
pub const STREAMS: u32 = 256; // bound: streams that one gateway has to one host
const REFUSED: u32 = 32; // bound: those that are being refused, each for a moment
const WINDOW: u32 = 256 * 1024; // bound: input of one stream that nobody has read yet
const ALL_WINDOWS: u32 = 64 * WINDOW; // bound: the same for all streams together
const FRAME: u32 = 64 * 1024; // bound: a whole piece of a file in one frame
const HEADERS: u32 = 32 * 1024; // bound: a grant and little else
const PING_EVERY: Duration = Duration::from_secs(10); // bound: a dead line is noticed in twice that
const HANDSHAKE: Duration = Duration::from_secs(10); // bound: the gateway speaks first, and at once

const _: () = assert!(WINDOW as u64 == WINDOW_BYTES);

/// Whose streams are served, and to whom.
#[derive(Clone)]
pub struct Server {
    pub workloads: Workloads,
    pub sessions: Sessions,
    pub gateway: String,
}

/// When a connection that works is given up.
#[derive(Clone)]
pub struct Ends {
    /// No new streams are taken, and it ends with the last one.
    pub drain: CancellationToken,
    /// It ends as soon as it has no stream, to be dialled anew.
    pub renew: CancellationToken,
}

/// Serves until the connection breaks or is given up.
pub async fn serve<T>(server: Server, line: T, ends: Ends) -> Result<(), h2::Error>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut builder = Builder::new();
    builder
        .initial_window_size(WINDOW)
        .initial_connection_window_size(ALL_WINDOWS)
        .max_concurrent_streams(STREAMS + REFUSED)
        .max_frame_size(FRAME)
        .max_header_list_size(HEADERS);
    let mut connection: Connection<T, Bytes> = match tokio::time::timeout(HANDSHAKE, builder.handshake(line)).await {
        Ok(connection) => connection?,
        Err(_) => return Err(h2::Reason::CONNECT_ERROR.into()),
    };
    let mut pings = connection.ping_pong();
    let mut tick = tokio::time::interval(PING_EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut is_draining, mut is_awaited) = (false, false);
    let open = TaskTracker::new();
    loop {
        tokio::select! {
            accepted = connection.accept() => match accepted {
                None => return Ok(()),
                Some(accepted) => {
                    let (request, respond) = accepted?;
                    let most = server.sessions.most_streams();
                    if open.len() < most {
                        open.spawn(answer(server.clone(), request, respond));
                    } else {
                        // Before its grant is spent: it can be used when there is room.
                        refuse(&server, Refused::new(refusals::TOO_MANY_STREAMS, full(most)), respond);
                    }
                }
            },
            _ = tick.tick() => if let Some(pings) = &mut pings {
                if is_awaited {
                    // The ping of ten seconds ago was not answered.
                    return Err(h2::Reason::SETTINGS_TIMEOUT.into());
                }
                is_awaited = pings.send_ping(Ping::opaque()).is_ok();
            },
            pong = pong(pings.as_mut()), if is_awaited => {
                pong?;
                is_awaited = false;
            }
            () = idle(&open, &ends.renew) => return Ok(()),
            () = ends.drain.cancelled(), if !is_draining => {
                is_draining = true;
                connection.graceful_shutdown();
            }
        }
    }
}

fn full(most: usize) -> String {
    format!("this host has reached the limit of {most} streams for this gateway")
}

/// Waits until it is time, and then for a moment without a stream.
async fn idle(open: &TaskTracker, renew: &CancellationToken) {
    renew.cancelled().await;
    open.close();
    open.wait().await;
}

async fn pong(pings: Option<&mut h2::PingPong>) -> Result<h2::Pong, h2::Error> {
    match pings {
        Some(pings) => std::future::poll_fn(|context| pings.poll_pong(context)).await,
        None => std::future::pending().await,
    }
}

/// What is ready to be served.
enum Open {
    Viewer(Joined),
    Command(exec::Running, super::registry::Entry),
    Pipe(raw::Pipe, super::registry::Entry),
}

async fn answer(server: Server, request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
    let (head, body) = request.into_parts();
    let opened = open(&server, &head).await;
    let (grant, open) = match opened {
        Ok(opened) => opened,
        Err(refused) => return refuse(&server, refused, respond),
    };
    let Ok(stream) = respond.send_response(Response::new(()), false) else { return };
    let (incoming, outgoing) = (Incoming::new(body), Outgoing::new(stream));
    let until = grant.limits.until;
    match open {
        Open::Viewer(joined) => terminal::serve(joined, incoming, outgoing).await,
        Open::Command(running, entry) => exec::serve(running, until, entry, incoming, outgoing).await,
        Open::Pipe(pipe, entry) => raw::serve(pipe, until, entry, incoming, outgoing).await,
    }
}

fn refuse(server: &Server, refused: Refused, mut respond: SendResponse<Bytes>) {
    server.sessions.count(refused.code);
    tracing::warn!(reason = refused.code, gateway = server.gateway, detail = refused.detail, "refused a stream");
    let status = refused.status();
    let body = serde_json::to_vec(&refused.problem()).unwrap_or_default();
    let head = Response::builder().status(status).header(http::header::CONTENT_TYPE, "application/json").body(());
    if let Ok(head) = head
        && let Ok(mut stream) = respond.send_response(head, false)
    {
        let _ = stream.send_data(body.into(), true);
    }
}

async fn open(server: &Server, head: &http::request::Parts) -> Result<(Grant, Open), Refused> {
    if head.method != Method::POST || head.uri.path() != PATH {
        return Err(Refused::new(refusals::MALFORMED, format!("streams are opened with POST {PATH}")));
    }
    let header = head.headers.get(GRANT_HEADER).and_then(|value| value.to_str().ok());
    let grant = server.sessions.spend(header, &server.gateway)?;
    let environment = head.headers.get(ENVIRONMENT_HEADER).and_then(|value| value.to_str().ok());
    let environment = environment.map(Environment::from_header).unwrap_or_default();
    let open = open_kind(server, &grant, &environment).await?;
    tracing::info!(session = %grant.session, allocation = grant.allocation, kind = grant.kind.name(), "opened a stream");
    Ok((grant, open))
}

async fn open_kind(server: &Server, grant: &Grant, environment: &Environment) -> Result<Open, Refused> {
    let (workloads, workload) = (&server.workloads, &grant.workload);
    match &grant.kind {
        Kind::Terminal { size, term, command, resume, from, recorded, watch } => {
            let wish = AttachOptions {
                size: *size,
                from: *from,
                recorded: *recorded,
                is_watching: *watch,
                limits: grant.limits,
            };
            if *resume || *watch {
                let shell = server.sessions.shell(grant);
                let shell = shell.ok_or_else(|| Refused::new(refusals::NO_SESSION, "the shell has ended"))?;
                return Joined::new(&shell, wish).map(Open::Viewer);
            }
            let entry = server.sessions.enter(grant)?;
            let program = Program::Shell { term: super::shell::plain_term(term), command: command.as_deref() };
            let prepared = workloads.open_stream(workload, program).await?.with(environment);
            terminal::start(prepared, wish, entry).map(Open::Viewer)
        }
        Kind::Exec { command } => {
            let entry = server.sessions.enter(grant)?;
            let prepared = workloads.open_stream(workload, Program::Command(command)).await?.with(environment);
            Ok(Open::Command(exec::start(prepared)?, entry))
        }
        Kind::File => {
            let entry = server.sessions.enter(grant)?;
            let prepared = workloads.open_stream(workload, Program::Files).await?;
            Ok(Open::Pipe(raw::Pipe::open(PortRoute::Program(Box::new(prepared.command)))?, entry))
        }
        Kind::Tcp { port } => {
            let entry = server.sessions.enter(grant)?;
            Ok(Open::Pipe(raw::Pipe::open(workloads.reach_port(workload, *port).await?)?, entry))
        }
        Kind::Serial { .. } => Err(Refused::new(refusals::UNSUPPORTED, "this host does not offer a serial console")
            .advise("open a terminal instead")),
    }
}
