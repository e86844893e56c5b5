//! A remote shell in this terminal: what is typed goes there, what it prints comes
//! here, and a lost connection is picked up where it was.

mod escape;
mod raw;

pub use raw::size;

use std::{io::Write, time::Duration};

use bytes::Bytes;
use client::{
    ClientError,
    stream::{self, BROKEN, Hello, Receiver, Sender, StreamMessage},
};
use protocol::stream::{Frame, MAX_DATA_BYTES, StreamEnded};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    signal::unix::{SignalKind, signal},
    time::{Instant, interval_at, sleep, timeout},
};

use crate::failure::{Class, Done, Failure};
use escape::{Escape, InputAction};
use raw::Raw;

/// Leave to open a stream, once.
pub struct Ticket {
    /// Of the gateway.
    pub url: String,
    pub ticket: String,
    /// What to ask for to come back.
    pub session: String,
    /// Where the web service is, for tickets of one.
    pub web_url: Option<String>,
}

const PING_EVERY: Duration = Duration::from_secs(15);
const SILENCE: Duration = Duration::from_secs(60); // bound: four pings without an answer
const FIRST_PAUSE: Duration = Duration::from_millis(300);
const LONGEST_PAUSE: Duration = Duration::from_secs(7); // bound: stays below the tickets of a minute
const COME_BACK: Duration = Duration::from_secs(300); // bound: a shell waits no longer by default
const FIRST_TRIES: u32 = 4; // bound: a host that was away for a moment is there by then
const TRIES: u32 = 60; // bound: with the pauses between them, longer than a shell waits
const STEADY: Duration = Duration::from_secs(10); // bound: a conversation that lasted was no failed try

/// How a conversation ended.
enum ConversationEnd {
    Exit(StreamEnded),
    Closed(u16, String),
    Lost,
    Left,
}

/// Opens a shell and stays until it ends. `mint` is called for a ticket, and for
/// one that resumes a session after the connection was lost.
pub async fn run(mint: impl AsyncFn(Option<&str>) -> Result<Ticket, Failure>) -> Done {
    let mut ticket = mint(None).await?;
    let raw = Raw::start().map_err(Failure::from)?;
    let is_raw = raw.is_some();
    let (mut seen, mut tries) = (None, 0);
    let mut keys =
        Keys { input: tokio::io::stdin(), escape: is_raw.then(Escape::default), is_over: false, has_ended: false };
    let over = loop {
        let began = Instant::now();
        let over = match connect(&ticket, seen).await {
            Ok((to, from)) => converse(to, from, &mut keys, &mut seen).await,
            Err(error) if seen.is_none() => return Err(error.into()),
            Err(_) => ConversationEnd::Lost,
        };
        let reason = match &over {
            ConversationEnd::Lost => "connection lost",
            ConversationEnd::Closed(1001 | BROKEN | 4503, _) => "gateway unavailable",
            ConversationEnd::Closed(4404, _) if seen.is_none() => "host not connected yet",
            _ => break over,
        };
        tries = if began.elapsed() < STEADY { tries + 1 } else { 1 };
        if tries > if seen.is_some() { TRIES } else { FIRST_TRIES } {
            break over;
        }
        // A shell that never began is not come back to: a new one is begun.
        let begun = seen.map(|_| ticket.session.as_str());
        let doing = if begun.is_some() { "resuming the shell" } else { "retrying" };
        notice(is_raw, &format!("{reason}; {doing} …"));
        let pause = FIRST_PAUSE * 2_u32.pow(tries.min(5) - 1);
        ticket = come_back(&mint, begun, pause).await?;
    };
    drop(raw);
    match over {
        ConversationEnd::Exit(ended) if ended.code == 0 => Ok(()),
        ConversationEnd::Exit(ended) => Err(Failure::exited(ended.code)),
        ConversationEnd::Left => {
            notice(false, &format!("detached; resume the shell with --resume {}", ticket.session));
            Ok(())
        }
        ConversationEnd::Closed(..) if keys.has_ended => Ok(()),
        ConversationEnd::Lost => Err(closed(BROKEN, "")),
        ConversationEnd::Closed(code, reason) => Err(closed(code, &reason)),
    }
}

async fn connect(ticket: &Ticket, seen: Option<u64>) -> Result<(Sender, Receiver), ClientError> {
    stream::terminal(&ticket.url, &ticket.ticket, &Hello { seen, size: size() }).await
}

/// A ticket for the session that was lost, as soon as one is given.
async fn come_back(
    mint: &impl AsyncFn(Option<&str>) -> Result<Ticket, Failure>,
    session: Option<&str>,
    mut pause: Duration,
) -> Result<Ticket, Failure> {
    let began = Instant::now();
    loop {
        sleep(pause).await;
        match mint(session).await {
            Err(failure) if passes(failure.class) && began.elapsed() < COME_BACK => (),
            other => return other,
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn passes(class: Class) -> bool {
    matches!(class, Class::Unavailable | Class::Limited | Class::Server)
}

/// Both directions concurrently: a task that only reads or only writes could block
/// with the other side forever.
async fn converse(mut to: Sender, mut from: Receiver, keys: &mut Keys, seen: &mut Option<u64>) -> ConversationEnd {
    let over = tokio::select! {
        over = show(&mut from, seen) => over,
        over = keys.send(&mut to) => over,
    };
    to.close().await;
    over
}

/// Prints what comes until it ends.
async fn show(from: &mut Receiver, seen: &mut Option<u64>) -> ConversationEnd {
    let (mut out, mut err) = (tokio::io::stdout(), tokio::io::stderr());
    let mut exit = None;
    loop {
        let heard = match timeout(SILENCE, from.next_frame()).await {
            Ok(Ok(heard)) => heard,
            Ok(Err(_)) | Err(_) => return exit.map_or(ConversationEnd::Lost, ConversationEnd::Exit),
        };
        let written = match heard {
            StreamMessage::Frame(Frame::Opened(opened)) => {
                *seen = Some(opened.offset);
                Ok(())
            }
            StreamMessage::Frame(Frame::Output(offset, bytes)) => {
                let fresh = unseen(*seen, offset, &bytes);
                *seen = Some(offset + bytes.len() as u64);
                print(&mut out, fresh).await
            }
            StreamMessage::Frame(Frame::Screen(offset, bytes)) => {
                *seen = Some(offset);
                print(&mut out, &bytes).await
            }
            StreamMessage::Frame(Frame::ErrorOutput(bytes)) => print(&mut err, &bytes).await,
            StreamMessage::Frame(Frame::Notice(text)) => print(&mut err, format!("\r\n[{text}]\r\n").as_bytes()).await,
            StreamMessage::Frame(Frame::Exit(ended)) => {
                exit = Some(ended);
                Ok(())
            }
            StreamMessage::Closed(code, reason) => {
                return exit.map_or(ConversationEnd::Closed(code, reason), ConversationEnd::Exit);
            }
            _ => Ok(()),
        };
        if written.is_err() {
            return ConversationEnd::Left;
        }
    }
}

/// What of an output was not printed before.
fn unseen(seen: Option<u64>, offset: u64, bytes: &Bytes) -> &[u8] {
    let skip = seen.unwrap_or(offset).saturating_sub(offset);
    &bytes[usize::try_from(skip).unwrap_or(usize::MAX).min(bytes.len())..]
}

async fn print(out: &mut (impl tokio::io::AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    out.write_all(bytes).await?;
    out.flush().await
}

/// What is typed, or comes through a pipe.
struct Keys {
    input: tokio::io::Stdin,
    escape: Option<Escape>,
    /// Nothing more comes.
    is_over: bool,
    /// Somebody at the keys ended the shell.
    has_ended: bool,
}

impl Keys {
    /// Sends what is typed until somebody leaves or the connection breaks.
    async fn send(&mut self, to: &mut Sender) -> ConversationEnd {
        let Ok(mut resized) = signal(SignalKind::window_change()) else { return ConversationEnd::Lost };
        let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        let mut buffer = vec![0; MAX_DATA_BYTES / 4];
        loop {
            let sent = tokio::select! {
                read = self.input.read(&mut buffer), if !self.is_over => match read {
                    Ok(0) | Err(_) => {
                        self.is_over = true;
                        to.send_frame(&Frame::EndOfInput).await
                    }
                    Ok(count) => match self.pass_on(&buffer[..count], to).await {
                        Ok(None) => Ok(()),
                        Ok(Some(over)) => return over,
                        Err(error) => Err(error),
                    },
                },
                _ = resized.recv() => match size() {
                    Some(size) => to.send_frame(&Frame::Resize(size)).await,
                    None => Ok(()),
                },
                _ = ping.tick() => to.send_frame(&Frame::Ping(Bytes::new())).await,
            };
            if sent.is_err() {
                // The reading half knows why, unless the line is dead.
                sleep(SILENCE).await;
                return ConversationEnd::Lost;
            }
        }
    }

    async fn pass_on(&mut self, typed: &[u8], to: &mut Sender) -> Result<Option<ConversationEnd>, ClientError> {
        let Some(escape) = &mut self.escape else {
            to.send_frame(&Frame::Input(Bytes::copy_from_slice(typed))).await?;
            return Ok(None);
        };
        for it in escape.take(typed) {
            match it {
                InputAction::Bytes(bytes) => to.send_frame(&Frame::Input(bytes.into())).await?,
                InputAction::Leave => return Ok(Some(ConversationEnd::Left)),
                InputAction::End => {
                    self.has_ended = true;
                    to.send_frame(&Frame::Hangup).await?;
                }
                InputAction::Help => help(),
            }
        }
        Ok(None)
    }
}

fn notice(is_raw: bool, text: &str) {
    let end = if is_raw { "\r\n" } else { "\n" };
    // Nobody is left to be told when standard error is closed.
    let _ = write!(std::io::stderr().lock(), "{end}[gpuaas: {text}]{end}");
}

fn help() {
    let _ = std::io::stderr().lock().write_all(escape::HELP.as_bytes());
}

/// What a close that is no shell's end means to a person.
pub fn closed(code: u16, reason: &str) -> Failure {
    let (class, advice) = match code {
        4400 => (Class::Server, "Update this program: the gateway does not support its protocol."),
        4401 => (Class::SignedOut, "Run the command again: a ticket works once, within five minutes."),
        4403 => (Class::Forbidden, "Check the policies with `gpuaas policies list`, or ask an administrator."),
        4404 => (Class::NotFound, "Check that the allocation is active with `gpuaas allocations get`."),
        4408 => (Class::Conflict, "Open a new session. Sessions end after `access.session_hours`."),
        4409 => (Class::Conflict, "The session continues in another window."),
        4410 => (Class::Conflict, "The session or its allocation was ended."),
        4429 => (Class::Limited, "Close an unused session, or wait a minute."),
        _ => (Class::Unavailable, "Try again in a moment."),
    };
    let reason = if reason.is_empty() { "connection lost" } else { reason };
    Failure::new(class, format!("session ended: {reason}"), advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_output_is_not_printed_twice_after_a_reconnect() {
        let bytes = Bytes::from_static(b"abcdef");
        assert_eq!(unseen(None, 10, &bytes), b"abcdef");
        assert_eq!(unseen(Some(10), 10, &bytes), b"abcdef");
        assert_eq!(unseen(Some(13), 10, &bytes), b"def");
        assert_eq!(unseen(Some(99), 10, &bytes), b"");
        assert_eq!(unseen(Some(5), 10, &bytes), b"abcdef");
    }
}
