//! Bytes both ways as they come: a port of the user's, or a program that serves
//! files. Each half ends by itself.

use super::clock::Deadline;
use super::processes;
use super::refusal::Refused;
use super::registry::Entry;
use super::shell::PortRoute;
use super::wire::{Incoming, Outgoing};
use bytes::Bytes;
use jiff::Timestamp;
use protocol::stream::{MAX_DATA_BYTES, refusals};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::Child;

const LISTENS: Duration = Duration::from_secs(60); // bound: after its last word

/// The host's end, open.
pub struct Pipe {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    child: Option<Child>,
}

impl Pipe {
    pub fn open(way: PortRoute) -> Result<Self, Refused> {
        let failed = |detail: String| Refused::new(refusals::FAILED, detail);
        match way {
            PortRoute::Socket(socket) => {
                let _ = socket.set_nodelay(true);
                let (reader, writer) = socket.into_split();
                Ok(Self { reader: Box::new(reader), writer: Box::new(writer), child: None })
            }
            PortRoute::Program(mut command) => {
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
                let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
                let (Some(writer), Some(reader)) = (child.stdin.take(), child.stdout.take()) else {
                    return Err(failed("it has no input or output".into()));
                };
                Ok(Self { reader: Box::new(reader), writer: Box::new(writer), child: Some(child) })
            }
        }
    }
}

/// Carries bytes until both halves ended, or it must end.
pub async fn serve(pipe: Pipe, until: Timestamp, mut entry: Entry, mut incoming: Incoming, mut outgoing: Outgoing) {
    let Pipe { mut reader, writer, mut child } = pipe;
    let deadline = Deadline::of(&entry.sessions().judge().clock, until).left();
    let is_whole = tokio::select! {
        is_whole = carry(&mut reader, writer, &mut incoming, &mut outgoing) => is_whole,
        _ = entry.must_end() => false,
        () = tokio::time::sleep(deadline) => false,
    };
    if !is_whole {
        outgoing.cut();
    }
    drop(reader);
    if let Some(child) = &mut child {
        processes::end(child).await;
    }
}

/// Whether the host's half ended in order.
async fn carry(
    reader: &mut (dyn AsyncRead + Send + Unpin),
    mut writer: Box<dyn AsyncWrite + Send + Unpin>,
    incoming: &mut Incoming,
    outgoing: &mut Outgoing,
) -> bool {
    // The writer goes with its half: a pipe ends when it is closed.
    let inward = async move {
        while let Ok(Some((bytes, room))) = incoming.bytes().await {
            if writer.write_all(&bytes).await.is_err() {
                // It reads no more and may still answer.
                return;
            }
            drop(room);
        }
        let _ = writer.shutdown().await;
    };
    let outward = async {
        let mut buffer = vec![0; MAX_DATA_BYTES];
        loop {
            let count = tokio::select! {
                count = reader.read(&mut buffer) => count,
                () = outgoing.given_up() => return false,
            };
            match count {
                Ok(0) => {
                    outgoing.end();
                    return true;
                }
                Ok(count) if outgoing.send(Bytes::copy_from_slice(&buffer[..count])).await.is_ok() => {}
                _ => return false,
            }
        }
    };
    tokio::pin!(inward, outward);
    tokio::select! {
        () = &mut inward => outward.await,
        is_whole = &mut outward => {
            // It says no more and may still listen.
            is_whole && tokio::time::timeout(LISTENS, inward).await.is_ok()
        }
    }
}
