//! Channels whose bytes are nobody's business: the SFTP protocol, and connections
//! to a port.

use super::feed::{Event, Feed};
use super::write::Writer;
use super::{closing, may_open};
use crate::agents::{RawReader, RawWriter, Stream};
use crate::sessions::Session;
use protocol::stream::{Kind, StreamEnded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio::io::AsyncWriteExt;

/// Copies files until either side has had enough.
pub async fn files(session: Arc<Session>, writer: Writer, feed: Feed) {
    if !may_open(&session, &Kind::File) {
        writer.tell(&session, &closing::not_allowed(Kind::File.name())).await;
        return fail(&writer).await;
    }
    match session.open(Kind::File).await {
        Ok((stream, _)) => {
            let is_whole = carry(&session, stream, &writer, feed, HalfClose::Ends).await;
            if is_whole {
                writer.exit(&StreamEnded { code: 0, signal: None }).await;
            }
            writer.close().await;
        }
        Err(error) => {
            tracing::info!(session = %session.id, %error, "a client's files could not be opened");
            writer.tell(&session, &closing::of_open(&error)).await;
            fail(&writer).await;
        }
    }
}

/// Carries one connection to a port.
pub async fn port(session: Arc<Session>, stream: Stream, writer: Writer, feed: Feed) {
    carry(&session, stream, &writer, feed, HalfClose::Stays).await;
    writer.close().await;
}

async fn fail(writer: &Writer) {
    writer.exit(&StreamEnded { code: 1, signal: None }).await;
    writer.close().await;
}

/// What becomes of the other direction when the host has said everything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HalfClose {
    Ends,
    /// The host may still listen.
    Stays,
}

/// Whether the host said all that it wanted to say.
async fn carry(session: &Session, stream: Stream, writer: &Writer, feed: Feed, half: HalfClose) -> bool {
    let (reader, host) = stream.raw().split();
    let talk = HalfClosed::default();
    let outward = outward(session, reader, writer);
    let inward = inward(session, host, feed, &talk);
    tokio::pin!(inward);
    tokio::select! {
        _ = session.ended() => false,
        () = &mut inward => false,
        is_whole = outward => {
            talk.host_ended.store(true, Relaxed);
            if is_whole && half == HalfClose::Stays && !talk.client_ended.load(Relaxed) {
                tokio::select! {
                    _ = session.ended() => (),
                    () = &mut inward => (),
                }
            }
            is_whole
        }
    }
}

/// Who has said everything.
#[derive(Default)]
struct HalfClosed {
    host_ended: AtomicBool,
    client_ended: AtomicBool,
}

async fn outward(session: &Session, mut reader: RawReader, writer: &Writer) -> bool {
    loop {
        match reader.piece().await {
            Ok(Some(piece)) => {
                let length = piece.len();
                if writer.output(session, piece).await.is_err() {
                    return false;
                }
                reader.taken(length);
            }
            Ok(None) => {
                writer.end().await;
                return true;
            }
            Err(_) => return false,
        }
    }
}

/// Until the client leaves, or has said everything and heard everything.
async fn inward(session: &Session, mut host: RawWriter, mut feed: Feed, talk: &HalfClosed) {
    let mut is_open = true;
    while let Some(held) = feed.next().await {
        match &held.event {
            Event::Data(bytes) if is_open => {
                session.count_in(bytes.len());
                // A host that takes no more may still have something to say.
                is_open = host.write_all(bytes).await.is_ok();
            }
            Event::End => {
                is_open = false;
                talk.client_ended.store(true, Relaxed);
                let _ = host.shutdown().await;
                if talk.host_ended.load(Relaxed) {
                    return;
                }
            }
            // There is nobody to catch it.
            Event::Signal(signal) if matches!(signal.name(), "HUP" | "TERM" | "KILL") => return,
            Event::Data(_) | Event::Resize(_) | Event::Signal(_) => (),
        }
    }
}
