//! A host as a script. What a terminal does is told by its command:
//! `echo` sends back what is typed, `flood N` prints N bytes, `say TEXT` prints
//! and exits, `refuse CODE` is refused, `silent` does nothing, `older` knows no
//! signals.

use super::ca::{Ca, Pair};
use super::plane::key;
use super::programs;
use bytes::{Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use http::{Request, Response};
use protocol::Problem;
use protocol::stream::*;
use rustls::pki_types::ServerName;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

/// What a host saw.
#[derive(Default)]
pub struct HostObservations {
    /// Frames that clients sent, in their order.
    pub frames: Mutex<Vec<Frame>>,
    /// The furthest that output was sent, and acknowledged.
    pub sent: AtomicU64,
    pub acknowledged: AtomicU64,
}

impl HostObservations {
    pub fn frames(&self) -> Vec<Frame> {
        self.frames.lock().unwrap().clone()
    }
}

pub struct Host {
    pub seen: Arc<HostObservations>,
    task: JoinHandle<()>,
    open: watch::Receiver<bool>,
}

impl Drop for Host {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Host {
    /// Connects as whoever the certificate says; an error when TLS is refused.
    pub async fn dial(address: SocketAddr, pair: Pair, trusted: &Ca) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let tls = TlsConnector::from(trusted.client_config(pair, ALPN));
        let stream = tls.connect(ServerName::try_from("localhost").unwrap(), stream).await?;
        let seen = Arc::new(HostObservations::default());
        let (opened, open) = watch::channel(false);
        let shared = seen.clone();
        let task = tokio::spawn(async move {
            let mut builder = h2::server::Builder::new();
            builder
                .initial_window_size(256 * 1024)
                .initial_connection_window_size(16 << 20)
                .max_concurrent_streams(256);
            builder.max_header_list_size(64 * 1024);
            let Ok(mut connection) = builder.handshake::<_, Bytes>(stream).await else { return };
            opened.send_replace(true);
            while let Some(Ok((request, respond))) = connection.accept().await {
                tokio::spawn(serve(shared.clone(), request, respond));
            }
        });
        Ok(Self { seen, task, open })
    }

    /// Waits until the gateway speaks HTTP/2 with it.
    pub async fn is_open(&self) {
        let mut open = self.open.clone();
        let opened = tokio::time::timeout(Duration::from_secs(10), open.wait_for(|it| *it)).await;
        opened.expect("the gateway greets").expect("the connection stays");
        // pause: the gateway lists it a moment later, which nobody outside sees
        tokio::time::sleep(Duration::from_millis(30)).await;
    }

    /// Waits until the gateway has closed the connection.
    pub async fn is_closed(&mut self) {
        tokio::time::timeout(Duration::from_secs(10), &mut self.task).await.expect("it is closed").unwrap();
    }
}

async fn serve(seen: Arc<HostObservations>, request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
    let header = request.headers().get(GRANT_HEADER).unwrap().to_str().unwrap();
    let grant = SignedGrant::from_header(header).unwrap().verify(&[key().public()]).unwrap();
    assert_eq!(request.uri().path(), PATH);
    let environment = request.headers().get(ENVIRONMENT_HEADER).map(|it| it.to_str().unwrap());
    let environment = environment.map(Environment::from_header).unwrap_or_default();
    let refuse = |respond: &mut SendResponse<Bytes>, code: &str| {
        let mut response = Response::new(());
        *response.status_mut() = http::StatusCode::FORBIDDEN;
        let problem = Problem { code: code.into(), ..Problem::default() };
        let mut send = respond.send_response(response, false).unwrap();
        send.send_data(serde_json::to_vec(&problem).unwrap().into(), true).unwrap();
    };
    match grant.kind {
        Kind::Terminal { command, size, .. } => {
            let command = command.unwrap_or_default();
            if let Some(code) = command.strip_prefix("refuse ") {
                return refuse(&mut respond, code);
            }
            let send = respond.send_response(Response::new(()), false).unwrap();
            terminal(seen, &command, size, request.into_body(), send).await;
        }
        Kind::Tcp { port } => match TcpStream::connect(("127.0.0.1", port)).await {
            Ok(stream) => tcp(stream, request.into_body(), respond).await,
            Err(_) => refuse(&mut respond, refusals::NOTHING_LISTENS),
        },
        Kind::Exec { command } => {
            let send = respond.send_response(Response::new(()), false).unwrap();
            programs::command(&command, &environment, request.into_body(), send).await;
        }
        Kind::File => {
            let send = respond.send_response(Response::new(()), false).unwrap();
            programs::files(request.into_body(), send).await;
        }
        Kind::Serial { .. } => refuse(&mut respond, refusals::UNSUPPORTED),
    }
}

async fn terminal(
    seen: Arc<HostObservations>,
    command: &str,
    size: Size,
    mut body: RecvStream,
    mut send: SendStream<Bytes>,
) {
    // `from 7 text` is somebody who comes back; `from 7-9 text` is shown from 9 on.
    let offsets = command.strip_prefix("from ").and_then(|it| it.split(' ').next()).unwrap_or("0");
    let (offset, shown_from) = offsets.split_once('-').map_or((offsets, None), |(from, shown)| (from, Some(shown)));
    let (offset, shown_from) = (offset.parse().unwrap_or(0), shown_from.and_then(|it| it.parse().ok()));
    // An agent of an earlier release does not know signals.
    let takes_signals = command != "older";
    let opened = Frame::Opened(StreamOpened { offset, resumed: offset > 0, size, shown_from, takes_signals });
    push(&mut send, opened.to_bytes()).await;
    let (acknowledged, mut credit) = watch::channel(offset);
    let (typed, mut input) = tokio::sync::mpsc::channel::<Frame>(1000);
    let shared = seen.clone();
    let reading = async move {
        let mut buffer = BytesMut::new();
        while let Some(Ok(piece)) = body.data().await {
            buffer.extend_from_slice(&piece);
            let _ = body.flow_control().release_capacity(piece.len());
            while let Some(frame) = Frame::take(&mut buffer).unwrap() {
                if let Frame::Ack(offset) = frame {
                    shared.acknowledged.store(offset, SeqCst);
                    acknowledged.send_replace(offset);
                } else {
                    shared.frames.lock().unwrap().push(frame.clone());
                    let _ = typed.send(frame).await;
                }
            }
        }
    };
    let shared = seen.clone();
    let acting = async move {
        let mut offset = offset;
        if let Some(text) = command.strip_prefix("say ") {
            let (text, code) = text.split_once('|').unwrap_or((text, "0"));
            push(&mut send, Frame::Output(offset, Bytes::copy_from_slice(text.as_bytes())).to_bytes()).await;
            let exit = Frame::Exit(StreamEnded { code: code.parse().unwrap(), signal: None });
            push(&mut send, exit.to_bytes()).await;
            let _ = send.send_data(Bytes::new(), true);
            return;
        }
        if let Some(count) = command.strip_prefix("flood ") {
            let mut left: u64 = count.parse().unwrap();
            let line = Bytes::from("all work and no play makes the reader stall\r\n".repeat(1500)).slice(..64 * 1024);
            while left > 0 {
                let length = left.min(line.len() as u64);
                if credit.wait_for(|acked| offset + length <= acked + WINDOW_BYTES).await.is_err() {
                    return;
                }
                let frame = Frame::Output(offset, line.slice(..length as usize));
                push(&mut send, frame.to_bytes()).await;
                offset += length;
                left -= length;
                shared.sent.store(offset, SeqCst);
            }
            push(&mut send, Frame::Exit(StreamEnded { code: 0, signal: None }).to_bytes()).await;
            let _ = send.send_data(Bytes::new(), true);
            return;
        }
        if let Some(text) = command.strip_prefix("from ").and_then(|it| Some(it.split_once(' ')?.1)) {
            push(&mut send, Frame::Output(offset, Bytes::copy_from_slice(text.as_bytes())).to_bytes()).await;
            offset += text.len() as u64;
        }
        while let Some(frame) = input.recv().await {
            match frame {
                Frame::Input(bytes) if command != "silent" => {
                    let length = bytes.len() as u64;
                    push(&mut send, Frame::Output(offset, bytes).to_bytes()).await;
                    offset += length;
                }
                Frame::Hangup => {
                    push(&mut send, Frame::Close(Closing::Ended).to_bytes()).await;
                    let _ = send.send_data(Bytes::new(), true);
                    return;
                }
                _ => (),
            }
        }
    };
    tokio::join!(reading, acting);
}

async fn tcp(stream: TcpStream, mut body: RecvStream, mut respond: SendResponse<Bytes>) {
    let mut send = respond.send_response(Response::new(()), false).unwrap();
    let (mut from, mut to) = stream.into_split();
    let up = async {
        while let Some(Ok(piece)) = body.data().await {
            if to.write_all(&piece).await.is_err() {
                break;
            }
            let _ = body.flow_control().release_capacity(piece.len());
        }
        let _ = to.shutdown().await;
    };
    let down = async {
        let mut buffer = vec![0; 32 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            push(&mut send, Bytes::copy_from_slice(&buffer[..length])).await;
        }
        let _ = send.send_data(Bytes::new(), true);
    };
    tokio::join!(up, down);
}

/// Sends as the other side makes room.
pub async fn push(send: &mut SendStream<Bytes>, mut bytes: Bytes) {
    while !bytes.is_empty() {
        send.reserve_capacity(bytes.len());
        if send.capacity() == 0 {
            match std::future::poll_fn(|context| send.poll_capacity(context)).await {
                Some(Ok(_)) => continue,
                _ => return,
            }
        }
        let now = bytes.split_to(send.capacity().min(bytes.len()));
        if send.send_data(now, false).is_err() {
            return;
        }
    }
}
