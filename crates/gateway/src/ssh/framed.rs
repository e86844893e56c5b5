//! Channels with a shell or a command: frames of the host on one side, SSH's
//! streams and requests on the other. Output is acknowledged to the host when the
//! client's window has taken it and the recording has it.

use super::feed::{Event, Feed};
use super::reel::{InputRecorder, Part, Reel, Unrecorded};
use super::write::{ClientGone, Writer};
use super::{closing, may_open};
use crate::Gateway;
use crate::agents::{FrameReader, FrameWriter, StreamError};
use crate::sessions::{Session, SessionEnd};
use bytes::Bytes;
use protocol::gateway::RecordingOrder;
use protocol::stream::{Closing, Environment, Frame, Kind, MAX_DATA_BYTES, Signal, StreamEnded, StreamOpened};
use std::sync::Arc;
use std::time::{Duration, Instant};

const FIRST_FRAME: Duration = Duration::from_secs(15); // bound: starting a shell on a loaded host
const HANGUP: Duration = Duration::from_secs(2); // bound: for the host to say how it ended

/// A shell or command, and whose.
pub struct Job {
    pub gateway: Arc<Gateway>,
    pub session: Arc<Session>,
    pub kind: Kind,
    pub environment: Environment,
    pub writer: Writer,
    pub feed: Feed,
    pub reel: Reel,
}

/// How a channel ended.
enum End {
    Exit(StreamEnded),
    Closed(Closing),
    ClientLeft,
    /// With a sentence for the person.
    Refused(String),
}

/// Runs a shell or a command from its grant to its exit.
pub async fn run(job: Job) {
    let Job { gateway, session, kind, environment, writer, feed, reel } = job;
    if !may_open(&session, &kind) {
        writer.tell(&session, &closing::not_allowed(kind.name())).await;
        return writer.close().await;
    }
    let began = Instant::now();
    let (stream, order) = match session.open_in(kind, &environment).await {
        Ok(opened) => opened,
        Err(error) => {
            tracing::info!(session = %session.id, %error, "a shell or command could not be opened");
            writer.tell(&session, &closing::of_open(&error)).await;
            return writer.close().await;
        }
    };
    let (mut reader, host) = stream.framed();
    let end = match tokio::time::timeout(FIRST_FRAME, reader.next()).await {
        Ok(Ok(Some(Frame::Opened(opened)))) => {
            metrics::histogram!("gpuaas_gateway_open_seconds").record(began.elapsed().as_secs_f64());
            match record(&gateway, &session, order, &opened, reel).await {
                Ok(part) => {
                    let host = Host { writer: &host, takes_signals: opened.takes_signals };
                    carry(&session, &mut reader, host, &writer, feed, part).await
                }
                Err(end) => end,
            }
        }
        Ok(Ok(Some(Frame::Close(closing)))) => End::Closed(closing),
        _ => End::Closed(Closing::HostGone),
    };
    match end {
        End::Exit(ended) => {
            session.part(SessionEnd::exit(ended.code));
            writer.exit(&ended).await;
        }
        End::Closed(closing) => {
            session.part(SessionEnd { is_over: true, ..SessionEnd::closed(closing) });
            writer.tell(&session, closing::words(closing)).await;
            hang_up(&mut reader, &host).await;
        }
        End::Refused(why) => {
            writer.tell(&session, &why).await;
            hang_up(&mut reader, &host).await;
        }
        // Nobody can come back to it, so nothing of it stays.
        End::ClientLeft => hang_up(&mut reader, &host).await,
    }
    writer.close().await;
}

async fn record(
    gateway: &Arc<Gateway>,
    session: &Session,
    order: Option<RecordingOrder>,
    opened: &StreamOpened,
    reel: Reel,
) -> Result<Option<Part>, End> {
    let Some(order) = order else { return Ok(None) };
    match Part::begin(gateway, session, &order, opened, reel).await {
        Ok(part) => Ok(Some(part)),
        Err(busy @ Unrecorded::Busy) => Err(End::Refused(busy.to_string())),
        Err(error) => {
            recording_failed(session, &error);
            if order.is_required { Err(End::Closed(Closing::Unrecorded)) } else { Ok(None) }
        }
    }
}

fn recording_failed(session: &Session, error: &dyn std::error::Error) {
    let error = crate::complete_error(error);
    tracing::error!(session = %session.id, error, "a session cannot be recorded; free disk space in the data directory of the gateway");
    metrics::counter!("gpuaas_gateway_recording_failures_total").increment(1);
}

/// Ends the shell too, and waits until the host says so.
async fn hang_up(reader: &mut FrameReader, host: &FrameWriter) {
    let goodbye = async {
        if host.send_now(&Frame::Hangup).is_ok() {
            while let Ok(Some(frame)) = reader.next().await {
                if matches!(frame, Frame::Exit(_) | Frame::Close(_)) {
                    return;
                }
            }
        }
    };
    let _ = tokio::time::timeout(HANGUP, goodbye).await;
}

/// Where frames go, and what is understood there.
#[derive(Clone, Copy)]
struct Host<'a> {
    writer: &'a FrameWriter,
    takes_signals: bool,
}

impl Host<'_> {
    /// An older agent gets what comes closest: a key, or the end.
    async fn signal(self, signal: Signal) -> Result<(), StreamError> {
        let frame = match signal.name() {
            _ if self.takes_signals => Frame::Signal(signal),
            "INT" => Frame::Input(Bytes::from_static(b"\x03")),
            "QUIT" => Frame::Input(Bytes::from_static(b"\x1c")),
            "HUP" | "TERM" | "KILL" => Frame::Hangup,
            _ => return Ok(()),
        };
        self.writer.send(frame.to_bytes()).await
    }
}

async fn carry(
    session: &Session,
    reader: &mut FrameReader,
    host: Host<'_>,
    writer: &Writer,
    feed: Feed,
    part: Option<Part>,
) -> End {
    let typist = part.as_ref().map(Part::typist);
    let mut outward = Outward { session, host: host.writer, writer, part };
    let end = tokio::select! {
        biased;
        closing = session.ended() => End::Closed(closing),
        end = outward.run(reader) => end.unwrap_or(End::ClientLeft),
        end = inward(session, host, feed, typist) => end,
    };
    if let Some(part) = outward.part {
        part.finish().await;
    }
    end
}

struct Outward<'a> {
    session: &'a Session,
    host: &'a FrameWriter,
    writer: &'a Writer,
    part: Option<Part>,
}

impl Outward<'_> {
    async fn run(&mut self, reader: &mut FrameReader) -> Result<End, ClientGone> {
        loop {
            let frame = match reader.next().await {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(End::Closed(Closing::HostGone)),
                Err(error) => {
                    tracing::info!(session = %self.session.id, %error, "a host closed a stream unexpectedly");
                    return Ok(End::Closed(Closing::HostGone));
                }
            };
            if let Some(end) = self.hand_on(frame).await? {
                return Ok(end);
            }
        }
    }

    async fn hand_on(&mut self, frame: Frame) -> Result<Option<End>, ClientGone> {
        match frame {
            Frame::Output(offset, bytes) => {
                let reaches = offset + bytes.len() as u64;
                let recorded = async {
                    match &mut self.part {
                        Some(part) => part.output(offset, bytes.clone()).await,
                        None => Ok(()),
                    }
                };
                let (written, recorded) = tokio::join!(self.writer.output(self.session, bytes.clone()), recorded);
                written?;
                if let Some(end) = self.judge(recorded).await {
                    return Ok(Some(end));
                }
                // A host that is gone shows at the next read.
                let _ = self.host.send_now(&Frame::Ack(reaches));
            }
            Frame::ErrorOutput(bytes) => {
                let recorded = match &self.part {
                    Some(part) => part.error_output(bytes.clone()).await,
                    None => Ok(()),
                };
                if let Some(end) = self.judge(recorded).await {
                    return Ok(Some(end));
                }
                self.writer.error_output(self.session, bytes).await?;
            }
            Frame::Notice(text) => self.writer.tell(self.session, &text).await,
            Frame::Ping(bytes) => {
                let _ = self.host.send_now(&Frame::Pong(bytes));
            }
            Frame::Exit(ended) => return Ok(Some(End::Exit(ended))),
            Frame::Close(closing) => return Ok(Some(End::Closed(closing))),
            _ => (),
        }
        Ok(None)
    }

    /// What becomes of a session whose recording failed.
    async fn judge(&mut self, recorded: std::io::Result<()>) -> Option<End> {
        let Err(error) = recorded else { return None };
        recording_failed(self.session, &error);
        if self.part.take().is_some_and(|it| it.is_required()) {
            return Some(End::Closed(Closing::Unrecorded));
        }
        self.writer.tell(self.session, "the recording of this session stopped").await;
        None
    }
}

async fn inward(session: &Session, host: Host<'_>, mut feed: Feed, typist: Option<InputRecorder>) -> End {
    while let Some(held) = feed.next().await {
        let sent = match &held.event {
            Event::Data(bytes) => {
                session.count_in(bytes.len());
                if let Some(typist) = &typist {
                    typist.input(bytes.clone()).await;
                }
                input(host.writer, bytes.clone()).await
            }
            Event::End => host.writer.send(Frame::EndOfInput.to_bytes()).await,
            Event::Resize(size) => {
                if let Some(typist) = &typist {
                    typist.resize(size.clamped()).await;
                }
                host.writer.send(Frame::Resize(size.clamped()).to_bytes()).await
            }
            Event::Signal(signal) => host.signal(*signal).await,
        };
        if sent.is_err() {
            // Why the host does not take it is told by what it sends, or its silence.
            return std::future::pending().await;
        }
    }
    End::ClientLeft
}

async fn input(host: &FrameWriter, mut bytes: Bytes) -> Result<(), StreamError> {
    while !bytes.is_empty() {
        let piece = bytes.split_to(bytes.len().min(MAX_DATA_BYTES));
        host.send(Frame::Input(piece).to_bytes()).await?;
    }
    Ok(())
}
