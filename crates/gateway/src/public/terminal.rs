//! A terminal: frames between a WebSocket and a host. Output is acknowledged to
//! the host when the client's socket has taken it (and the recording has it), so
//! that a reader who stalls costs one window and nothing grows.

use super::Visitor;
use super::batch::Batch;
use super::closing::{self, CloseReason};
use super::offer::Offer;
use super::websocket::{self, Socket};
use crate::Gateway;
use crate::agents::{FrameReader, FrameWriter};
use crate::recorder::{Event, Recorder};
use crate::sessions::{OpenError, Session, SessionEnd, Surface};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use protocol::gateway::RecordingOrder;
use protocol::stream::{Closing, Frame, StreamOpened};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::{self, Message};

const FIRST_FRAME: Duration = Duration::from_secs(15); // bound: starting a shell on a loaded host
const KEEPALIVE: Duration = Duration::from_secs(30); // bound: proxies close silent connections after a minute
const UNHEARD: Duration = Duration::from_secs(75); // bound: two pings without an answer
const STALL: Duration = Duration::from_millis(250); // bound: slower than that is a reader who makes others wait
const LONGEST_STALL: Duration = Duration::from_secs(600); // bound: then nobody looks any more; the shell goes on
const HANGUP: Duration = Duration::from_secs(2); // bound: for the host to say how it ended
const MAX_PING: usize = 125; // bound: as WebSocket's own

/// How it ended, and how the client is told.
enum End {
    Exit(i32),
    Closed(Closing),
    /// The client does not take leave, or already has.
    ClientLeft,
    BadFrame(&'static str),
}

/// Serves a terminal from ticket to farewell.
pub async fn serve(gateway: Arc<Gateway>, socket: Socket, visitor: &Visitor, offer: Offer) {
    let began = Instant::now();
    let opened = Box::pin(open(&gateway, visitor, &offer)).await;
    let (session, order, (mut reader, writer)) = match opened {
        Ok(opened) => opened,
        Err(farewell) => return websocket::refuse(socket, farewell).await,
    };
    let first = match Box::pin(tokio::time::timeout(FIRST_FRAME, reader.next())).await {
        Ok(Ok(Some(Frame::Opened(opened)))) => opened,
        refused => {
            let closing = match refused {
                Ok(Ok(Some(Frame::Close(closing)))) => closing,
                _ => Closing::HostGone,
            };
            session.part(SessionEnd::closed(closing));
            return websocket::refuse(socket, closing::of(closing)).await;
        }
    };
    metrics::histogram!("gpuaas_gateway_open_seconds").record(began.elapsed().as_secs_f64());
    let recorder = match Box::pin(begin_recording(&gateway, &session, order, &first)).await {
        Ok(recorder) => recorder,
        Err(Unrecorded) => {
            session.part(SessionEnd::closed(Closing::Unrecorded));
            return websocket::refuse(socket, closing::UNRECORDED).await;
        }
    };
    let (socket, end) = bridge(&session, socket, (reader, writer), (first, began), recorder.as_ref()).await;
    if let Some(recorder) = recorder {
        recorder.finish().await;
    }
    let farewell = match end {
        End::Exit(code) => {
            session.part(SessionEnd::exit(code));
            closing::NORMAL
        }
        End::Closed(closing) => {
            session.part(SessionEnd::closed(closing));
            closing::of(closing)
        }
        End::ClientLeft => return,
        End::BadFrame(what) => {
            tracing::info!(session = %session.id, what, "a client violated the protocol");
            session.part(SessionEnd::closed(Closing::BadFrame));
            super::refused(closing::BAD_FRAME.reason);
            closing::BAD_FRAME
        }
    };
    drop(session);
    websocket::close(socket, farewell).await;
}

async fn open(
    gateway: &Arc<Gateway>,
    visitor: &Visitor,
    offer: &Offer,
) -> Result<(Arc<Session>, Option<RecordingOrder>, (FrameReader, FrameWriter)), CloseReason> {
    let answer = websocket::exchange(gateway, visitor, offer).await?;
    let Some(grant) = &answer.grant else { return Err(closing::TICKET) };
    let session = Session::begin(gateway, Surface::Terminal, &answer);
    match session.open_granted(grant).await {
        Ok(stream) => Ok((session, answer.recording, stream.framed())),
        Err(error) => {
            tracing::info!(session = %session.id, node = %session.node, %error, "a terminal could not be opened");
            // A shell that never began is not waited for; one that runs may be there when its host is back.
            let is_refused =
                matches!(&error, OpenError::Host(problem) if closing::of_host(problem) != closing::HOST_GONE);
            let is_over = is_refused || answer.is_new;
            session.part(SessionEnd { is_over, reason: closing::of_open(&error).reason.into(), exit_code: None });
            Err(closing::of_open(&error))
        }
    }
}

/// A session that must be recorded cannot be.
struct Unrecorded;

async fn begin_recording(
    gateway: &Arc<Gateway>,
    session: &Session,
    order: Option<RecordingOrder>,
    opened: &StreamOpened,
) -> Result<Option<Recorder>, Unrecorded> {
    let Some(order) = order else { return Ok(None) };
    match Recorder::begin(gateway, &order, opened, &session.title).await {
        Ok((recorder, done)) => {
            session.await_recording(done);
            Ok(Some(recorder))
        }
        Err(error) => {
            recording_failed(session, &error);
            if order.is_required { Err(Unrecorded) } else { Ok(None) }
        }
    }
}

fn recording_failed(session: &Session, error: &std::io::Error) {
    tracing::error!(session = %session.id, %error, "a session cannot be recorded; free disk space in the data directory of the gateway");
    metrics::counter!("gpuaas_gateway_recording_failures_total").increment(1);
}

/// Carries frames until one side ends it. The socket comes back for the farewell.
async fn bridge(
    session: &Session,
    socket: Socket,
    (mut reader, writer): (FrameReader, FrameWriter),
    (first, began): (StreamOpened, Instant),
    recorder: Option<&Recorder>,
) -> (Socket, End) {
    let (sink, stream) = socket.split();
    let (ping, pings) = watch::channel(Bytes::new());
    let heard = LastHeard::new();
    let first_byte = Some(began);
    let mut outbound = Outbound { session, writer: &writer, sink, pings, heard: &heard, first_byte, recorder };
    let mut inbound = Inbound { session, writer: &writer, stream, ping, heard: &heard, recorder };
    let end = tokio::select! {
        biased;
        closing = session.ended() => End::Closed(closing),
        end = outbound.run(&mut reader, first) => end,
        end = inbound.run() => end,
    };
    if let End::Closed(closing) = end {
        // What the host closed was told already; a second time does no harm.
        let told = outbound.sink.send(message(&Frame::Close(closing)));
        let _ = tokio::time::timeout(STALL, told).await;
        if SessionEnd::closed(closing).is_over {
            hang_up(&mut reader, &writer).await;
        }
    }
    let (sink, stream) = (outbound.sink, inbound.stream);
    (sink.reunite(stream).expect("both are halves of one socket"), end)
}

/// Ends the shell too, and waits until the host says so.
async fn hang_up(reader: &mut FrameReader, writer: &FrameWriter) {
    let goodbye = async {
        if writer.send_now(&Frame::Hangup).is_ok() {
            while let Ok(Some(frame)) = reader.next().await {
                if matches!(frame, Frame::Exit(_) | Frame::Close(_)) {
                    return;
                }
            }
        }
    };
    let _ = tokio::time::timeout(HANGUP, goodbye).await;
}

fn message(frame: &Frame) -> Message {
    Message::Binary(frame.to_bytes())
}

/// When the client was last heard.
struct LastHeard {
    since: Instant,
    at_ms: AtomicU64,
}

impl LastHeard {
    fn new() -> Self {
        Self { since: Instant::now(), at_ms: AtomicU64::new(0) }
    }

    fn now(&self) {
        self.at_ms.store(self.since.elapsed().as_millis() as u64, Relaxed);
    }

    fn ago(&self) -> Duration {
        self.since.elapsed().saturating_sub(Duration::from_millis(self.at_ms.load(Relaxed)))
    }
}

struct Outbound<'a> {
    session: &'a Session,
    writer: &'a FrameWriter,
    sink: SplitSink<Socket, Message>,
    pings: watch::Receiver<Bytes>,
    heard: &'a LastHeard,
    /// Since when the first byte is waited for.
    first_byte: Option<Instant>,
    recorder: Option<&'a Recorder>,
}

impl Outbound<'_> {
    async fn run(&mut self, reader: &mut FrameReader, first: StreamOpened) -> End {
        // The client begins where it is shown something, wherever the recording does.
        let shown_from = first.shown_from.unwrap_or(first.offset);
        let first = StreamOpened { offset: shown_from, shown_from: None, ..first };
        if self.sink.send(message(&Frame::Opened(first))).await.is_err() {
            return End::ClientLeft;
        }
        let mut keepalive = tokio::time::interval(KEEPALIVE);
        keepalive.tick().await;
        loop {
            let batch = match Batch::take(reader, shown_from) {
                Ok(batch) => batch,
                Err(error) => {
                    tracing::warn!(session = %self.session.id, %error, "received a malformed frame from the host");
                    return End::Closed(Closing::HostGone);
                }
            };
            if batch.is_empty() {
                tokio::select! {
                    filled = reader.fill() => if !matches!(filled, Ok(true)) {
                        return End::Closed(Closing::HostGone);
                    },
                    _ = keepalive.tick() => {
                        if self.heard.ago() > UNHEARD || self.sink.send(Message::Ping(Bytes::new())).await.is_err() {
                            return End::ClientLeft;
                        }
                    }
                    Ok(()) = self.pings.changed() => {
                        let bytes = self.pings.borrow_and_update().clone();
                        if self.sink.send(message(&Frame::Pong(bytes))).await.is_err() {
                            return End::ClientLeft;
                        }
                    }
                }
                continue;
            }
            if let Some(end) = self.hand_on(reader, batch).await {
                return end;
            }
        }
    }

    /// Writes a batch to the client, reading on meanwhile, and acknowledges it.
    async fn hand_on(&mut self, reader: &mut FrameReader, mut batch: Batch) -> Option<End> {
        let mut may_read = true;
        let events = std::mem::take(&mut batch.events);
        let recorder = self.recorder;
        let recorded = async {
            match recorder {
                Some(recorder) => recorder.append(events).await,
                None => Ok(()),
            }
        };
        let (is_written, recorded) = {
            let written = async { tokio::join!(write(self.session, &mut self.sink, &batch), recorded) };
            tokio::pin!(written);
            loop {
                tokio::select! {
                    biased;
                    result = &mut written => break result,
                    filled = reader.fill(), if may_read && reader.has_room() => may_read = matches!(filled, Ok(true)),
                }
            }
        };
        if !is_written {
            return Some(End::ClientLeft);
        }
        if let Err(error) = recorded {
            recording_failed(self.session, &error);
            if self.recorder.take().is_some_and(Recorder::is_required) {
                return Some(End::Closed(Closing::Unrecorded));
            }
            let notice = Frame::Notice("the recording of this session stopped".into());
            if self.sink.send(message(&notice)).await.is_err() {
                return Some(End::ClientLeft);
            }
        }
        if let Some(offset) = batch.reaches {
            if let Some(began) = self.first_byte.take() {
                metrics::histogram!("gpuaas_gateway_first_byte_seconds").record(began.elapsed().as_secs_f64());
            }
            self.session.count_out(batch.output_bytes);
            // A host that is gone shows at the next read.
            let _ = self.writer.send_now(&Frame::Ack(offset));
        }
        for ping in &batch.pings {
            let _ = self.writer.send_now(&Frame::Pong(ping.clone()));
        }
        match batch.last? {
            Frame::Exit(ended) => Some(End::Exit(ended.code)),
            Frame::Close(closing) => Some(End::Closed(closing)),
            _ => None,
        }
    }
}

/// Whether the client's socket has taken all of it.
async fn write(session: &Session, sink: &mut SplitSink<Socket, Message>, batch: &Batch) -> bool {
    let all = async {
        for bytes in &batch.messages {
            sink.feed(Message::Binary(bytes.clone())).await?;
        }
        sink.flush().await
    };
    tokio::pin!(all);
    match tokio::time::timeout(STALL, &mut all).await {
        Ok(written) => written.is_ok(),
        Err(_) => {
            session.count_stall();
            matches!(tokio::time::timeout(LONGEST_STALL, all).await, Ok(Ok(())))
        }
    }
}

struct Inbound<'a> {
    session: &'a Session,
    writer: &'a FrameWriter,
    stream: SplitStream<Socket>,
    ping: watch::Sender<Bytes>,
    heard: &'a LastHeard,
    recorder: Option<&'a Recorder>,
}

impl Inbound<'_> {
    async fn run(&mut self) -> End {
        loop {
            let message = self.stream.next().await;
            self.heard.now();
            match message {
                Some(Ok(Message::Binary(bytes))) => {
                    if let Some(end) = self.accept(bytes).await {
                        return end;
                    }
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => (),
                Some(Ok(Message::Text(_))) => return End::BadFrame("a text message"),
                Some(Err(tungstenite::Error::Capacity(_))) => return End::BadFrame("a message that is too large"),
                Some(Err(tungstenite::Error::Protocol(ProtocolError::ResetWithoutClosingHandshake))) => {
                    return End::ClientLeft;
                }
                Some(Err(tungstenite::Error::Protocol(_) | tungstenite::Error::Utf8(_))) => {
                    return End::BadFrame("no WebSocket");
                }
                Some(Ok(Message::Close(_) | Message::Frame(_)) | Err(_)) | None => return End::ClientLeft,
            }
        }
    }

    /// Only what a person at a terminal can do goes on to the host.
    async fn accept(&mut self, bytes: Bytes) -> Option<End> {
        let frame = match Frame::parse(&bytes) {
            Ok(frame) => frame,
            Err(_) => return Some(End::BadFrame("a malformed frame")),
        };
        let sent = match frame {
            Frame::Input(input) => {
                self.session.count_in(input.len());
                self.record(Event::Input(input)).await;
                // The message is the frame: it goes on as it came.
                self.writer.send(bytes).await
            }
            Frame::Resize(size) => {
                self.record(Event::Resize(size.clamped())).await;
                self.writer.send(Frame::Resize(size.clamped()).to_bytes()).await
            }
            Frame::EndOfInput | Frame::Hangup => self.writer.send(bytes).await,
            Frame::Ack(_) => return None,
            Frame::Ping(bytes) if bytes.len() <= MAX_PING => {
                // Only the last of many is answered.
                self.ping.send_replace(bytes);
                return None;
            }
            _ => return Some(End::BadFrame("a frame type that only hosts may send")),
        };
        // Why the host does not take it is told by what it sends, or its silence.
        if sent.is_err() { std::future::pending().await } else { None }
    }

    /// A recording that fails shows at the next output.
    async fn record(&self, event: Event) {
        if let Some(recorder) = self.recorder
            && recorder.keeps(&event)
        {
            let _ = recorder.append(vec![event]).await;
        }
    }
}
