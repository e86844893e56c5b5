//! What a client sent and nobody has taken yet. The SSH library opens a channel's
//! window again when bytes arrive, not when they are taken, and waits with the
//! whole connection for a channel that is full. So nothing waits inside it: what
//! comes is put here at once, and while too much lies here, the connection is not
//! read (see `line`). What goes to the client goes on meanwhile.

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use protocol::stream::{Signal, Size};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Context;
use tokio::sync::mpsc::{self, error::TrySendError};

/// Together with what is on its way it is less than what OpenSSH's client lets us
/// send before we read again, so that a program which answers as it reads cannot
/// come to a halt.
const MOST_WAITING: usize = 1024 * 1024; // bound: of all channels of one connection
const OVERHEAD: usize = 128; // bound: what a message costs beside its bytes
const MOST_EVENTS: usize = 2 * MOST_WAITING / OVERHEAD; // bound: the gate closes at half of it, and one read brings far less

/// Something that a client did on a channel.
#[derive(Debug)]
pub enum Event {
    Data(Bytes),
    /// Nothing more will be sent.
    End,
    Resize(Size),
    Signal(Signal),
}

impl Event {
    fn cost(&self) -> usize {
        match self {
            Self::Data(bytes) => bytes.len() + OVERHEAD,
            Self::End | Self::Resize(_) | Self::Signal(_) => OVERHEAD,
        }
    }
}

/// How much of a connection waits, and who wants to know when it is less.
#[derive(Default)]
pub struct Gate {
    waiting: AtomicUsize,
    reader: AtomicWaker,
}

impl Gate {
    /// Whether more may be read; if not, the reader is woken when it may.
    pub fn is_open(&self, context: &Context<'_>) -> bool {
        if self.has_room() {
            return true;
        }
        self.reader.register(context.waker());
        // Somebody may have taken something in between.
        self.has_room()
    }

    fn has_room(&self) -> bool {
        self.waiting.load(SeqCst) < MOST_WAITING
    }

    fn add(&self, cost: usize) {
        self.waiting.fetch_add(cost, SeqCst);
    }

    fn remove(&self, cost: usize) {
        let before = self.waiting.fetch_sub(cost, SeqCst);
        if before >= MOST_WAITING && before - cost < MOST_WAITING {
            self.reader.wake();
        }
    }
}

/// Where events of one channel are put.
pub struct Feeder {
    gate: Arc<Gate>,
    /// None when somebody sent more than the gate lets through; then the channel ends.
    events: Option<mpsc::Sender<QueuedEvent>>,
}

/// Where they are taken.
pub struct Feed(mpsc::Receiver<QueuedEvent>);

/// An event that counts as waiting as long as this lives: until it was handed on.
pub struct QueuedEvent {
    pub event: Event,
    cost: usize,
    gate: Arc<Gate>,
}

impl Drop for QueuedEvent {
    fn drop(&mut self) {
        self.gate.remove(self.cost);
    }
}

pub fn feed(gate: &Arc<Gate>) -> (Feeder, Feed) {
    let (events, feed) = mpsc::channel(MOST_EVENTS);
    (Feeder { gate: gate.clone(), events: Some(events) }, Feed(feed))
}

impl Feeder {
    pub fn put(&mut self, event: Event) {
        let cost = event.cost();
        self.gate.add(cost);
        let held = QueuedEvent { event, cost, gate: self.gate.clone() };
        // Of a channel that has ended it is dropped.
        let put = self.events.as_ref().map(|it| it.try_send(held));
        if let Some(Err(TrySendError::Full(_))) = put {
            self.events = None;
        }
    }

    /// Whether nobody takes anything any more.
    pub fn is_over(&self) -> bool {
        self.events.as_ref().is_none_or(mpsc::Sender::is_closed)
    }
}

impl Feed {
    /// The next event; none when the client has left.
    pub async fn next(&mut self) -> Option<QueuedEvent> {
        self.0.recv().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    #[tokio::test]
    async fn waiting_data_closes_the_gate_until_it_was_handed_on() {
        let gate = Arc::new(Gate::default());
        let (mut feeder, mut feed) = feed(&gate);
        let context = Context::from_waker(Waker::noop());
        feeder.put(Event::Data(Bytes::from(vec![0; MOST_WAITING])));
        assert!(!gate.is_open(&context));
        let held = feed.next().await.unwrap();
        assert!(!gate.is_open(&context), "it was taken and not yet handed on");
        drop(held);
        assert!(gate.is_open(&context));
    }

    #[test]
    fn many_small_ones_close_it_too_and_those_of_an_ended_channel_do_not() {
        let gate = Arc::new(Gate::default());
        let context = Context::from_waker(Waker::noop());
        let (mut feeder, taker) = feed(&gate);
        for _ in 0..MOST_WAITING / OVERHEAD {
            feeder.put(Event::Data(Bytes::from_static(b"x")));
        }
        assert!(!gate.is_open(&context));
        drop(taker);
        assert!(gate.is_open(&context) && feeder.is_over());
        feeder.put(Event::Data(Bytes::from(vec![0; MOST_WAITING])));
        assert!(gate.is_open(&context));
    }
}
