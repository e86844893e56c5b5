//! What keeps a shell going: its output into the ring as long as there is room,
//! its input as it comes, its limits, and its end.

use super::{AttachOptions, Joined, Terminal, ended};
use crate::locked;
use crate::streams::clock::Deadline;
use crate::streams::processes;
use crate::streams::pty::Pty;
use crate::streams::refusal::Refused;
use crate::streams::registry::Entry;
use crate::streams::shell::Prepared;
use protocol::stream::{Closing, Frame, MAX_DATA_BYTES, refusals};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::process::Child;

const REST: Duration = Duration::from_millis(200); // bound: what a shell printed last arrives sooner
const FAREWELL: Duration = Duration::from_secs(1); // bound: viewers are told why before everything ends
const LONGEST_WAIT: Duration = Duration::from_secs(30); // bound: limits are looked at no less often
const HOLD: Duration = Duration::from_millis(2); // bound: how late viewers see a part of a flood
const FLOOD_BYTES: usize = 1024; // bound: nobody types or reads so much at once
const FLOOD_ENDS: Duration = Duration::from_millis(20); // bound: what comes later is no flood

/// Starts a program on a terminal of its own, with somebody at it. It runs until
/// it ends, its limits are reached, or its allocation ends.
pub fn start(prepared: Prepared, wish: AttachOptions, entry: Entry) -> Result<Joined, Refused> {
    let failed = |error: std::io::Error| Refused::new(refusals::FAILED, format!("no terminal: {error}"));
    let size = wish.size.clamped();
    let (pty, slave) = Pty::open(size).map_err(failed)?;
    if let Some(owner) = prepared.owner {
        slave.give_to(owner).map_err(failed)?;
    }
    let mut command = prepared.command;
    command.stdin(slave.to_stdio().map_err(failed)?);
    command.stdout(slave.to_stdio().map_err(failed)?);
    command.stderr(slave.to_stdio().map_err(failed)?);
    let child = command.spawn().map_err(failed)?;
    let terminal = Arc::new(Terminal::new(pty, size, wish.limits));
    entry.add_shell(&terminal);
    // Before it runs, so that it is never alone.
    let joined = Joined::new(&terminal, AttachOptions { from: Some(0), ..wish });
    let held = OutputBuffer::default();
    let pump = Pump { terminal: Arc::clone(&terminal), child, entry, status: None, is_read_out: false, held };
    tokio::spawn(pump.run());
    joined
}

struct Pump {
    terminal: Arc<Terminal>,
    child: Child,
    entry: Entry,
    status: Option<ExitStatus>,
    /// Nothing more can be read.
    is_read_out: bool,
    held: OutputBuffer,
}

/// Output that viewers have not been told of yet. A terminal gives a flood in
/// small pieces; to hand on each of them would cost more than to read it. What
/// comes after a silence, as an echo does, is never held.
#[derive(Default)]
struct OutputBuffer {
    bytes: usize,
    /// When the first of them came.
    since: Option<Instant>,
    /// When viewers were told last, and of how much.
    told: Option<(Instant, usize)>,
}

impl OutputBuffer {
    /// More came; whether viewers must be told now.
    fn add(&mut self, count: usize) -> bool {
        let now = Instant::now();
        self.bytes += count;
        let since = *self.since.get_or_insert(now);
        let is_flood = self.told.is_some_and(|(at, bytes)| bytes >= FLOOD_BYTES && now - at < FLOOD_ENDS);
        !is_flood || self.bytes >= MAX_DATA_BYTES || now - since >= HOLD
    }

    /// When viewers must be told, if anything is held.
    fn left(&self) -> Option<Duration> {
        self.since.map(|since| HOLD.saturating_sub(since.elapsed()))
    }

    fn told(&mut self) {
        *self = Self { told: Some((Instant::now(), self.bytes)), ..Self::default() };
    }
}

/// Why the shell is over.
enum ShellEnd {
    Exited(ExitStatus),
    Closed(Closing),
}

impl Pump {
    async fn run(mut self) {
        let over = self.serve().await;
        let end = match over {
            ShellEnd::Exited(status) => Frame::Exit(ended(status)),
            ShellEnd::Closed(closing) => {
                // Nothing more is read: whoever waits to write is ended now.
                self.terminal.finish(Frame::Close(closing));
                processes::end(&mut self.child).await;
                Frame::Close(closing)
            }
        };
        self.terminal.finish(end);
        self.linger().await;
        self.entry.remove_shell(&self.terminal);
    }

    async fn serve(&mut self) -> ShellEnd {
        let mut buffer = vec![0; MAX_DATA_BYTES];
        loop {
            if let Some(over) = self.judge() {
                return over;
            }
            let terminal = Arc::clone(&self.terminal);
            let (credit, input, wait) = self.look();
            let most = usize::try_from(credit).unwrap_or(MAX_DATA_BYTES).min(MAX_DATA_BYTES);
            let can_read = most > 0 && !self.is_read_out;
            if !can_read {
                self.tell();
            }
            let rest = if self.status.is_some() && can_read { REST } else { wait };
            let rest = self.held.left().unwrap_or(rest);
            tokio::select! {
                biased;
                closing = self.entry.must_end() => return ShellEnd::Closed(closing),
                taken = write_some(&terminal, input.as_deref()), if input.is_some() => self.wrote(taken),
                read = terminal.pty.read(&mut buffer[..most]), if can_read => {
                    let count = read.unwrap_or(0);
                    self.is_read_out = count == 0;
                    terminal.print(&buffer[..count]);
                    if self.held.add(count) {
                        self.tell();
                    }
                    // Others of this thread have their turn.
                    tokio::task::yield_now().await;
                }
                status = self.child.wait(), if self.status.is_none() => {
                    self.status = status.ok().or(Some(ExitStatus::default()));
                }
                () = terminal.wake.notified() => {}
                () = tokio::time::sleep(rest) => if self.held.since.is_some() {
                    self.tell();
                } else {
                    // It ended, and something else keeps its terminal open.
                    self.is_read_out |= self.status.is_some() && can_read;
                }
            }
        }
    }

    /// Tells viewers of what was printed.
    fn tell(&mut self) {
        if self.held.since.is_some() {
            self.held.told();
            self.terminal.changed.send_replace(());
        }
    }

    /// Whether it is over by now.
    fn judge(&self) -> Option<ShellEnd> {
        let state = locked(&self.terminal.state);
        if let Some(closing) = state.hangup {
            return Some(ShellEnd::Closed(closing));
        }
        if let Some(status) = self.status
            && self.is_read_out
        {
            return Some(ShellEnd::Exited(status));
        }
        let limits = state.limits;
        let until = Deadline::of(&self.entry.sessions().judge().clock, limits.until);
        if until.is_over() {
            return Some(ShellEnd::Closed(Closing::TimeLimit));
        }
        let grace = Duration::from_secs(limits.grace_seconds.into());
        if state.typist.is_none() && state.left_at.elapsed() >= grace {
            return Some(ShellEnd::Closed(Closing::Ended));
        }
        let idle = Duration::from_secs(limits.idle_seconds.into());
        (!idle.is_zero() && state.active_at.elapsed() >= idle).then_some(ShellEnd::Closed(Closing::Idle))
    }

    /// The room for output, what to write next, and when to look again.
    fn look(&self) -> (u64, Option<bytes::Bytes>, Duration) {
        let state = locked(&self.terminal.state);
        let limits = state.limits;
        let mut wait = LONGEST_WAIT.min(Deadline::of(&self.entry.sessions().judge().clock, limits.until).left());
        let mut at_most = |from: Instant, seconds: u32| {
            let left = Duration::from_secs(seconds.into()).saturating_sub(from.elapsed());
            wait = wait.min(left + Duration::from_millis(1));
        };
        if state.typist.is_none() {
            at_most(state.left_at, limits.grace_seconds);
        }
        if limits.idle_seconds > 0 {
            at_most(state.active_at, limits.idle_seconds);
        }
        (state.credit(), state.input.front().map(|(bytes, _)| bytes.clone()), wait)
    }

    /// The program took that many bytes of the first piece of input.
    fn wrote(&self, taken: std::io::Result<usize>) {
        let mut state = locked(&self.terminal.state);
        let Some((bytes, _room)) = state.input.front_mut() else { return };
        match taken {
            Ok(count) if count < bytes.len() => bytes::Buf::advance(bytes, count),
            // Whole, or lost with the program that should read it.
            _ => {
                state.input.pop_front();
            }
        }
    }

    /// Waits until its last words have been fetched, as long as somebody may come.
    async fn linger(&mut self) {
        let mut changed = self.terminal.changed.subscribe();
        loop {
            let left = {
                let state = locked(&self.terminal.state);
                let grace = Duration::from_secs(state.limits.grace_seconds.into());
                let is_told = state.next_viewer > 0 && state.viewers.is_empty() && state.told;
                if is_told || matches!(state.end, Some(Frame::Close(_))) && state.viewers.is_empty() {
                    return;
                }
                if state.viewers.is_empty() { grace.saturating_sub(state.left_at.elapsed()) } else { LONGEST_WAIT }
            };
            if left.is_zero() {
                return;
            }
            tokio::select! {
                _ = self.entry.must_end() => {
                    let _ = tokio::time::timeout(FAREWELL, self.everybody_left()).await;
                    return;
                }
                _ = changed.changed() => {}
                () = self.terminal.wake.notified() => {}
                () = tokio::time::sleep(left) => {}
            }
        }
    }
}

impl Pump {
    async fn everybody_left(&self) {
        while !locked(&self.terminal.state).viewers.is_empty() {
            self.terminal.wake.notified().await;
        }
    }
}

async fn write_some(terminal: &Terminal, input: Option<&[u8]>) -> std::io::Result<usize> {
    match input {
        Some([]) => Ok(0),
        Some(bytes) => terminal.pty.write(bytes).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_after_a_silence_is_sent_at_once_and_a_flood_in_large_pieces() {
        let mut held = OutputBuffer::default();
        assert!(held.add(1) && held.left().is_some());
        held.told();
        assert_eq!(held.left(), None);
        assert!(held.add(3000), "an echo was told before, so this is no flood yet");
        held.told();
        assert!(!held.add(3000) && !held.add(3000), "a part of a flood waits for more");
        assert!(held.left().unwrap() <= HOLD);
        assert!(held.add(MAX_DATA_BYTES), "but not for ever more");
        held.told();
        held.add(1);
        held.since = Instant::now().checked_sub(HOLD);
        assert!(held.add(1), "nor for long");
        held.told = Instant::now().checked_sub(FLOOD_ENDS).map(|at| (at, FLOOD_BYTES));
        held.since = None;
        assert!(held.add(1), "the flood is over");
    }
}
