//! A command without a terminal: its output and its errors apart, its input until
//! the sender ends it, and how it ended. It does not outlive its stream.

use super::clock::Deadline;
use super::processes;
use super::refusal::Refused;
use super::registry::Entry;
use super::shell::Prepared;
use super::terminal::ended;
use super::wire::{Incoming, Lost, Outgoing, ReceiveCredit};
use bytes::Bytes;
use jiff::Timestamp;
use protocol::stream::{Closing, Frame, MAX_DATA_BYTES, Size, StreamOpened, WINDOW_BYTES, refusals};
use std::collections::VecDeque;
use std::process::{ExitStatus, Stdio};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

/// A command that was started and is not served yet.
pub struct Running {
    child: Child,
    pipes: Pipes,
}

struct Pipes {
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

pub fn start(prepared: Prepared) -> Result<Running, Refused> {
    let failed = |detail: String| Refused::new(refusals::FAILED, detail);
    let mut command = prepared.command;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let stdin = child.stdin.take();
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(failed("it has no output".into()));
    };
    Ok(Running { child, pipes: Pipes { stdin, stdout, stderr } })
}

/// Why it is over.
enum ExitCause {
    Exited(ExitStatus),
    Closed(Closing),
    Left,
}

pub async fn serve(
    running: Running,
    until: Timestamp,
    mut entry: Entry,
    mut incoming: Incoming,
    mut outgoing: Outgoing,
) {
    let Running { mut child, pipes } = running;
    let opened = StreamOpened { offset: 0, resumed: false, size: Size::DEFAULT, shown_from: None, takes_signals: true };
    if outgoing.send_frame(&Frame::Opened(opened)).await.is_err() {
        return processes::end(&mut child).await;
    }
    let deadline = Deadline::of(&entry.sessions().judge().clock, until).left();
    let over = tokio::select! {
        over = carry(&mut child, pipes, &mut incoming, &mut outgoing) => over,
        closing = entry.must_end() => ExitCause::Closed(closing),
        () = tokio::time::sleep(deadline) => ExitCause::Closed(Closing::TimeLimit),
    };
    let last = match over {
        ExitCause::Exited(status) => Frame::Exit(ended(status)),
        ExitCause::Closed(closing) => {
            processes::end(&mut child).await;
            Frame::Close(closing)
        }
        ExitCause::Left => return processes::end(&mut child).await,
    };
    match outgoing.send_frame(&last).await {
        Ok(()) => outgoing.finish(),
        Err(_) => outgoing.cut(),
    }
}

async fn carry(child: &mut Child, pipes: Pipes, incoming: &mut Incoming, outgoing: &mut Outgoing) -> ExitCause {
    let Pipes { mut stdin, mut stdout, mut stderr } = pipes;
    let mut input: VecDeque<(Bytes, ReceiveCredit)> = VecDeque::new();
    let (mut out, mut errors) = (vec![0; MAX_DATA_BYTES], vec![0; MAX_DATA_BYTES / 4]);
    let (mut sent, mut acknowledged) = (0_u64, 0_u64);
    let (mut has_out, mut has_errors, mut has_input, mut no_more_input) = (true, true, true, false);
    let mut status = None;
    loop {
        if no_more_input && input.is_empty() {
            stdin = None;
        }
        if let Some(status) = status
            && !has_out
            && !has_errors
        {
            return ExitCause::Exited(status);
        }
        let credit = usize::try_from(WINDOW_BYTES.saturating_sub(sent - acknowledged)).unwrap_or(0);
        let most = credit.min(out.len());
        let front = input.front().map(|(bytes, _)| bytes.clone());
        let frame = tokio::select! {
            frame = incoming.frame(), if has_input => match frame {
                Ok((Frame::Input(bytes), room)) if !no_more_input => {
                    input.push_back((bytes, room));
                    continue;
                }
                Ok((Frame::Ack(offset), _)) => {
                    acknowledged = acknowledged.max(offset.min(sent));
                    continue;
                }
                Ok((Frame::EndOfInput, _)) => {
                    no_more_input = true;
                    continue;
                }
                Ok((Frame::Ping(bytes), _)) => Frame::Pong(bytes),
                Ok((Frame::Resize(_), _)) => continue,
                Ok((Frame::Signal(signal), _)) => {
                    // One that has ended is left alone: its number may be another's by now.
                    if let Some(pid) = child.id().filter(|_| status.is_none()) {
                        processes::signal(pid, signal);
                    }
                    continue;
                }
                Ok((Frame::Hangup, _)) => return ExitCause::Closed(Closing::Ended),
                Ok(_) | Err(Lost::Bad) => return ExitCause::Closed(Closing::BadFrame),
                Err(Lost::Gone) => return ExitCause::Left,
            },
            wrote = write_some(&mut stdin, front.as_deref()), if front.is_some() => {
                advance(&mut input, wrote);
                continue;
            }
            read = stdout.read(&mut out[..most]), if has_out && most > 0 => match read {
                Ok(count) if count > 0 => {
                    let offset = sent;
                    sent += count as u64;
                    Frame::Output(offset, Bytes::copy_from_slice(&out[..count]))
                }
                _ => {
                    has_out = false;
                    continue;
                }
            },
            read = stderr.read(&mut errors), if has_errors => match read {
                Ok(count) if count > 0 => Frame::ErrorOutput(Bytes::copy_from_slice(&errors[..count])),
                _ => {
                    has_errors = false;
                    continue;
                }
            },
            ended = child.wait(), if status.is_none() => {
                status = Some(ended.unwrap_or_default());
                continue;
            }
            () = outgoing.given_up() => return ExitCause::Left,
        };
        if outgoing.send_frame(&frame).await.is_err() {
            has_input = false;
            if status.is_none() {
                return ExitCause::Left;
            }
        }
    }
}

async fn write_some(stdin: &mut Option<ChildStdin>, bytes: Option<&[u8]>) -> std::io::Result<usize> {
    match (stdin, bytes) {
        (Some(stdin), Some(bytes)) => stdin.write(bytes).await,
        // Whoever closed its input does not want the rest.
        (None, Some(bytes)) => Ok(bytes.len()),
        (_, None) => std::future::pending().await,
    }
}

fn advance(input: &mut VecDeque<(Bytes, ReceiveCredit)>, wrote: std::io::Result<usize>) {
    let Some((bytes, _room)) = input.front_mut() else { return };
    match wrote {
        Ok(count) if count < bytes.len() => bytes::Buf::advance(bytes, count),
        _ => {
            input.pop_front();
        }
    }
}
