//! A shell on a terminal that outlives the streams to it. The ring keeps its last
//! output by offset, the screen what it looks like; the pump reads no more of it
//! than somebody acknowledged, plus a window, so a shell that nobody reads waits.

mod attach;
mod lexer;
mod pump;
mod ring;
mod screen;

pub use attach::{AttachOptions, Joined, serve};
pub use pump::start;

use super::processes;
use super::pty::Pty;
use super::wire::ReceiveCredit;
use crate::locked;
use bytes::{Bytes, BytesMut};
use protocol::stream::{Closing, Frame, Limits, MAX_DATA_BYTES, Size, StreamEnded, WINDOW_BYTES};
use ring::Ring;
use screen::Screen;
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Instant;
use tokio::sync::{Notify, watch};

const KEPT: u64 = WINDOW_BYTES; // bound: acknowledged output that is kept for who comes back
const UNPARSED: u64 = 128 * 1024; // bound: how far the screen is behind; parsing it takes milliseconds
const MOST_QUEUED: usize = 64; // bound: notices and pongs for one viewer
const MOST_VIEWERS: usize = 16; // bound: each has a place in the ring

pub struct Terminal {
    pty: Pty,
    state: Mutex<State>,
    /// Rings for viewers: output, a notice, the end.
    changed: watch::Sender<()>,
    /// Rings for the pump: input, an acknowledgment, an order.
    wake: Notify,
}

struct State {
    ring: Ring,
    screen: Screen,
    /// The screen has seen everything before it.
    parsed: u64,
    acknowledged: u64,
    size: Size,
    limits: Limits,
    viewers: HashMap<u64, Viewer>,
    next_viewer: u64,
    /// The one who types and acknowledges.
    typist: Option<u64>,
    left_at: Instant,
    active_at: Instant,
    input: VecDeque<(Bytes, Option<ReceiveCredit>)>,
    /// Asked for, and not yet carried out.
    hangup: Option<Closing>,
    end: Option<Frame>,
    /// The typist was sent the end.
    told: bool,
}

struct Viewer {
    next: u64,
    needs_screen: bool,
    /// The screen as of an offset, for somebody whose recording gets the output
    /// before it.
    screen: Option<(u64, Bytes)>,
    queue: VecDeque<Frame>,
    closing: Option<Closing>,
}

/// What a viewer is sent next.
enum Next {
    Bytes(Bytes),
    Last(Bytes),
    Wait,
}

/// How somebody joins.
#[derive(Clone, Copy, Debug)]
struct Joining {
    size: Size,
    from: Option<u64>,
    recorded: Option<u64>,
    is_watching: bool,
    limits: Limits,
}

impl Terminal {
    fn new(pty: Pty, size: Size, limits: Limits) -> Self {
        let now = Instant::now();
        let state = State {
            ring: Ring::default(),
            screen: Screen::new(size),
            parsed: 0,
            acknowledged: 0,
            size,
            limits,
            viewers: HashMap::new(),
            next_viewer: 0,
            typist: None,
            left_at: now,
            active_at: now,
            input: VecDeque::new(),
            hangup: None,
            end: None,
            told: false,
        };
        Self { pty, state: Mutex::new(state), changed: watch::Sender::new(()), wake: Notify::new() }
    }

    /// A viewer joins; the one who typed before is told and leaves.
    fn join(&self, joining: Joining) -> Option<(u64, protocol::stream::StreamOpened)> {
        let mut state = locked(&self.state);
        if state.viewers.len() >= MOST_VIEWERS {
            return None;
        }
        let id = state.next_viewer;
        state.next_viewer += 1;
        let is_first = id == 0;
        let mut queue = VecDeque::new();
        if joining.is_watching {
            state.notice_typist("a viewer is watching");
        } else {
            if let Some(old) = state.typist.replace(id)
                && let Some(old) = state.viewers.get_mut(&old)
            {
                old.closing = Some(Closing::TakenOver);
                queue.push_back(Frame::Notice("this session was taken over by another window".into()));
            }
            state.limits = joining.limits;
            state.active_at = Instant::now();
            self.resize_to(&mut state, joining.size);
        }
        let (start, end) = (state.ring.start(), state.ring.end());
        let wanted = joining.from.or((is_first && start == 0).then_some(0));
        let is_exact = wanted.is_some_and(|offset| state.ring.holds(offset));
        let shown_from = wanted.filter(|_| is_exact).unwrap_or(end);
        // What the recording lacks comes first, as far as it is kept.
        let offset = joining.recorded.map_or(shown_from, |it| it.max(start).min(shown_from));
        if !joining.is_watching {
            // A new reader starts with a whole window, if it has read what was before.
            state.acknowledged = state.acknowledged.max(offset);
        }
        let is_late = offset < shown_from;
        let screen = (is_late && !is_exact).then(|| {
            state.catch_up();
            (shown_from, state.screen_frames(shown_from))
        });
        let needs_screen = !is_exact && screen.is_none();
        state.viewers.insert(id, Viewer { next: offset, needs_screen, screen, queue, closing: None });
        let opened = protocol::stream::StreamOpened {
            offset,
            resumed: !is_first,
            size: state.size,
            shown_from: is_late.then_some(shown_from),
            takes_signals: true,
        };
        drop(state);
        self.changed.send_replace(());
        self.wake.notify_one();
        Some((id, opened))
    }

    fn leave(&self, id: u64) {
        let mut state = locked(&self.state);
        state.viewers.remove(&id);
        if state.typist == Some(id) {
            state.typist = None;
            state.left_at = Instant::now();
        }
        drop(state);
        self.wake.notify_one();
    }

    /// What the viewer gets next: the screen, output, what was queued, the end.
    fn next_for(&self, id: u64) -> Next {
        let mut state = locked(&self.state);
        let state = &mut *state;
        let Some(viewer) = state.viewers.get_mut(&id) else { return Next::Last(Bytes::new()) };
        if let Some(closing) = viewer.closing {
            return Next::Last(Frame::Close(closing).to_bytes());
        }
        if let Some(frame) = viewer.queue.pop_front() {
            return Next::Bytes(frame.to_bytes());
        }
        if viewer.needs_screen || viewer.next < state.ring.start() {
            state.catch_up();
            return Next::Bytes(state.screen_for(id));
        }
        if let Some((_, bytes)) = viewer.screen.take_if(|(offset, _)| *offset == viewer.next) {
            return Next::Bytes(bytes);
        }
        if viewer.next < state.ring.end() {
            let end = viewer.screen.as_ref().map_or(state.ring.end(), |(offset, _)| *offset);
            let offset = viewer.next;
            let length = usize::try_from(end - offset).unwrap_or(usize::MAX).min(MAX_DATA_BYTES);
            viewer.next += length as u64;
            return Next::Bytes(output_frame(&state.ring, offset, length));
        }
        match &state.end {
            Some(end) => Next::Last(end.to_bytes()),
            None => Next::Wait,
        }
    }

    /// Acts on what a viewer sent; false when it is nothing that a viewer sends.
    fn obey(&self, id: u64, frame: Frame, room: ReceiveCredit) -> bool {
        let mut state = locked(&self.state);
        let types = state.typist == Some(id);
        match frame {
            // Somebody who looks on may press keys; they reach nobody.
            Frame::Input(_)
            | Frame::Resize(_)
            | Frame::Ack(_)
            | Frame::EndOfInput
            | Frame::Hangup
            | Frame::Signal(_)
                if !types => {}
            Frame::Input(bytes) => {
                state.active_at = Instant::now();
                state.input.push_back((bytes, Some(room)));
            }
            Frame::EndOfInput => {
                let end = Bytes::copy_from_slice(&[self.pty.end_of_input()]);
                state.input.push_back((end, None));
            }
            Frame::Resize(size) => self.resize_to(&mut state, size),
            Frame::Ack(offset) => {
                state.acknowledged = state.acknowledged.max(offset.min(state.ring.end()));
                state.trim();
            }
            Frame::Signal(signal) => {
                state.active_at = Instant::now();
                if let Some(group) = self.pty.foreground() {
                    processes::signal_group(group, signal);
                }
            }
            Frame::Hangup => {
                state.hangup.get_or_insert(Closing::Ended);
            }
            Frame::Ping(bytes) => {
                let Some(viewer) = state.viewers.get_mut(&id) else { return true };
                if viewer.queue.len() >= MOST_QUEUED {
                    return false;
                }
                viewer.queue.push_back(Frame::Pong(bytes));
                drop(state);
                self.changed.send_replace(());
                return true;
            }
            _ => return false,
        }
        drop(state);
        self.wake.notify_one();
        true
    }

    fn resize_to(&self, state: &mut State, size: Size) {
        let size = size.clamped();
        if size == state.size {
            return;
        }
        state.catch_up();
        state.screen.resize(size);
        state.size = size;
        if let Err(error) = self.pty.resize(size) {
            tracing::debug!(%error, "a terminal could not be resized");
        }
    }

    /// The viewer's stream ends with this, and nothing else changes.
    fn dismiss(&self, id: u64, closing: Closing) {
        if let Some(viewer) = locked(&self.state).viewers.get_mut(&id) {
            viewer.closing = Some(closing);
        }
        self.changed.send_replace(());
    }

    /// Adds output. The caller made sure that there is room for it, and tells viewers.
    fn print(&self, bytes: &[u8]) {
        let mut state = locked(&self.state);
        state.ring.push(bytes);
        state.active_at = Instant::now();
        if state.ring.end() - state.parsed >= UNPARSED {
            state.catch_up();
        }
        state.trim();
    }

    /// It is over: viewers get the rest of the output, and then this.
    fn finish(&self, end: Frame) {
        locked(&self.state).end.get_or_insert(end);
        self.changed.send_replace(());
    }

    /// The viewer is about to be sent the last frame.
    fn told(&self, id: u64) {
        let mut state = locked(&self.state);
        state.told |= state.end.is_some() && state.typist == Some(id);
    }

    /// Whether the viewer is still owed its last frame.
    fn is_closing(&self, id: u64) -> bool {
        let state = locked(&self.state);
        state.end.is_some() || state.viewers.get(&id).is_some_and(|viewer| viewer.closing.is_some())
    }
}

impl State {
    /// How much may be read before somebody acknowledges more.
    fn credit(&self) -> u64 {
        WINDOW_BYTES.saturating_sub(self.ring.end() - self.acknowledged)
    }

    /// Shows the screen everything that was printed.
    fn catch_up(&mut self) {
        let count = usize::try_from(self.ring.end() - self.parsed).unwrap_or(usize::MAX);
        let parts = self.ring.parts(self.parsed, count);
        self.parsed = self.ring.end();
        for part in parts {
            self.screen.read(part);
        }
    }

    /// Forgets what was acknowledged long ago.
    fn trim(&mut self) {
        let keep_from = self.acknowledged.saturating_sub(KEPT);
        if keep_from > self.parsed {
            self.catch_up();
        }
        self.ring.forget(keep_from);
    }

    fn screen_for(&mut self, id: u64) -> Bytes {
        let offset = self.ring.end();
        if let Some(viewer) = self.viewers.get_mut(&id) {
            viewer.next = offset;
            viewer.needs_screen = false;
            viewer.screen = None;
        }
        self.screen_frames(offset)
    }

    /// The screen as it is, which must have seen everything before the offset.
    fn screen_frames(&self, offset: u64) -> Bytes {
        let bytes = self.screen.restore();
        let mut out = BytesMut::new();
        // A screen of the largest window may be larger than a frame; the pieces add up.
        for piece in bytes.chunks(MAX_DATA_BYTES) {
            Frame::Screen(offset, Bytes::copy_from_slice(piece)).write(&mut out);
        }
        if bytes.is_empty() {
            Frame::Screen(offset, Bytes::new()).write(&mut out);
        }
        out.freeze()
    }

    fn notice_typist(&mut self, text: &str) {
        if let Some(viewer) = self.typist.and_then(|id| self.viewers.get_mut(&id))
            && viewer.queue.len() < MOST_QUEUED
        {
            viewer.queue.push_back(Frame::Notice(text.to_owned()));
        }
    }
}

/// An output frame with the bytes of the ring, copied once.
fn output_frame(ring: &Ring, offset: u64, length: usize) -> Bytes {
    let mut out = BytesMut::with_capacity(length + 16);
    Frame::Output(offset, Bytes::new()).write(&mut out);
    // The head says how much follows it: the offset and the bytes.
    let body = u32::try_from(length + 8).unwrap_or(u32::MAX);
    out[1..5].copy_from_slice(&body.to_be_bytes());
    ring.write_from(offset, length, &mut out);
    debug_assert_eq!(out.len(), length + 13);
    out.freeze()
}

/// How a process ended, as the frame tells it.
pub(super) fn ended(status: std::process::ExitStatus) -> StreamEnded {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => StreamEnded { code, signal: None },
        (None, Some(number)) => {
            let name = nix::sys::signal::Signal::try_from(number).map_or("unknown", |signal| signal.as_str());
            StreamEnded { code: 128 + number, signal: Some(name.trim_start_matches("SIG").to_owned()) }
        }
        (None, None) => StreamEnded { code: 1, signal: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_frame_is_as_the_protocol_writes_it() {
        let mut ring = Ring::default();
        ring.push(b"0123456789");
        ring.forget(2);
        let frame = Frame::parse(&output_frame(&ring, 4, 3)).unwrap();
        assert_eq!(frame, Frame::Output(4, Bytes::from_static(b"456")));
    }

    #[test]
    fn exit_codes_and_signals_are_reported_as_shells_do() {
        use std::os::unix::process::ExitStatusExt;
        let status = std::process::ExitStatus::from_raw;
        assert_eq!(ended(status(7 << 8)), StreamEnded { code: 7, signal: None });
        assert_eq!(ended(status(9)), StreamEnded { code: 137, signal: Some("KILL".into()) });
    }
}
