//! What a host sent, made ready for one write: neighboring pieces of output
//! become one message.

use crate::agents::{FrameReader, StreamError};
use crate::recorder::Event;
use bytes::{BufMut, Bytes, BytesMut};
use protocol::stream::{BadFrame, Frame, MAX_DATA_BYTES};

const MOST: usize = 128 * 1024; // bound: half a window, so that the host is never without credit
const HEAD: usize = 13; // of a frame of output: kind, length and offset

#[derive(Default)]
pub struct Batch {
    /// Each one frame, as WebSocket messages carry them.
    pub messages: Vec<Bytes>,
    /// The output in it, piece by piece, as it goes into a recording.
    pub events: Vec<Event>,
    /// The offset after the last byte of output.
    pub reaches: Option<u64>,
    pub output_bytes: usize,
    /// To be answered to the host.
    pub pings: Vec<Bytes>,
    /// The frame after which nothing comes.
    pub last: Option<Frame>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.events.is_empty() && self.pings.is_empty()
    }

    /// Takes what has come whole, up to a bound. Output before `shown_from` is for
    /// the recording alone.
    pub fn take(reader: &mut FrameReader, shown_from: u64) -> Result<Self, StreamError> {
        let mut batch = Self::default();
        let mut run = Run::default();
        let mut size = 0;
        while size < MOST && batch.last.is_none() {
            let Some(bytes) = reader.take()? else { break };
            size += bytes.len();
            match Frame::parse(&bytes)? {
                Frame::Output(offset, data) => {
                    batch.reaches = Some(offset + data.len() as u64);
                    match batch.hide(offset, data, shown_from) {
                        Hidden::All => (),
                        Hidden::Nothing(data) => batch.show(&mut run, offset, data, bytes),
                        Hidden::Before(offset, data) => {
                            let whole = Frame::Output(offset, data.clone()).to_bytes();
                            batch.show(&mut run, offset, data, whole);
                        }
                    }
                    continue;
                }
                Frame::Ping(ping) => {
                    batch.pings.push(ping);
                    continue;
                }
                Frame::Pong(_) => continue,
                Frame::Screen(_, data) => {
                    run.finish(&mut batch);
                    batch.events.push(Event::Screen(data));
                }
                Frame::ErrorOutput(_) | Frame::Notice(_) => run.finish(&mut batch),
                last @ (Frame::Exit(_) | Frame::Close(_)) => {
                    run.finish(&mut batch);
                    batch.last = Some(last);
                }
                Frame::Input(_)
                | Frame::Resize(_)
                | Frame::Ack(_)
                | Frame::EndOfInput
                | Frame::Hangup
                | Frame::Signal(_)
                | Frame::Opened(_) => return Err(BadFrame::Unknown(bytes[0]).into()),
            }
            batch.messages.push(bytes);
        }
        run.finish(&mut batch);
        Ok(batch)
    }

    fn show(&mut self, run: &mut Run, offset: u64, data: Bytes, whole: Bytes) {
        if !run.continues(offset, data.len()) {
            run.finish(self);
        }
        self.output_bytes += data.len();
        run.add(offset, data, whole);
    }

    /// Gives what the client must not be shown to the recording; the rest comes back.
    fn hide(&mut self, offset: u64, mut data: Bytes, shown_from: u64) -> Hidden {
        let hidden = usize::try_from(shown_from.saturating_sub(offset)).unwrap_or(usize::MAX).min(data.len());
        if hidden == 0 {
            return Hidden::Nothing(data);
        }
        self.events.push(Event::Output(offset, data.split_to(hidden)));
        if data.is_empty() { Hidden::All } else { Hidden::Before(offset + hidden as u64, data) }
    }
}

/// How much of a piece of output is not for the client.
enum Hidden {
    Nothing(Bytes),
    /// What comes before this offset and these bytes.
    Before(u64, Bytes),
    All,
}

/// Output without a gap.
#[derive(Default)]
struct Run {
    pieces: Vec<(u64, Bytes)>,
    /// The first frame as it came: alone, it needs no copy.
    whole: Bytes,
    length: usize,
    next: u64,
}

impl Run {
    fn continues(&self, offset: u64, length: usize) -> bool {
        !self.pieces.is_empty() && offset == self.next && self.length + length <= MAX_DATA_BYTES
    }

    fn add(&mut self, offset: u64, data: Bytes, whole: Bytes) {
        if self.pieces.is_empty() {
            self.whole = whole;
        }
        self.next = offset + data.len() as u64;
        self.length += data.len();
        self.pieces.push((offset, data));
    }

    fn finish(&mut self, batch: &mut Batch) {
        let run = std::mem::take(self);
        let Some(&(offset, _)) = run.pieces.first() else { return };
        if run.pieces.len() == 1 {
            batch.messages.push(run.whole);
            batch.events.extend(run.pieces.into_iter().map(|(offset, data)| Event::Output(offset, data)));
            return;
        }
        let mut message = BytesMut::with_capacity(HEAD + run.length);
        message.put_u8(run.whole[0]);
        message.put_u32(u32::try_from(run.length + 8).unwrap_or(u32::MAX));
        message.put_u64(offset);
        run.pieces.iter().for_each(|(_, data)| message.put_slice(data));
        let message = message.freeze();
        batch.events.push(Event::Output(offset, message.slice(HEAD..)));
        batch.messages.push(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_the_client_has_seen_is_recorded_and_not_shown_again() {
        let mut batch = Batch::default();
        assert!(matches!(batch.hide(10, Bytes::from_static(b"abc"), 13), Hidden::All));
        let rest = batch.hide(13, Bytes::from_static(b"def"), 15);
        assert!(matches!(rest, Hidden::Before(15, data) if data == "f"));
        assert!(matches!(batch.hide(15, Bytes::from_static(b"f"), 15), Hidden::Nothing(_)));
        let kept = batch.events.iter().filter_map(|it| match it {
            Event::Output(offset, data) => Some((*offset, data.clone())),
            _ => None,
        });
        assert_eq!(kept.collect::<Vec<_>>(), [(10, Bytes::from_static(b"abc")), (13, Bytes::from_static(b"de"))]);
        assert!(!batch.is_empty(), "it is acknowledged when it is recorded");
    }

    fn add(run: &mut Run, batch: &mut Batch, offset: u64, data: &'static [u8]) {
        if !run.continues(offset, data.len()) {
            run.finish(batch);
        }
        let data = Bytes::from_static(data);
        run.add(offset, data.clone(), Frame::Output(offset, data).to_bytes());
    }

    #[test]
    fn neighbors_become_one_message_and_a_gap_keeps_them_apart() {
        let (mut run, mut batch) = (Run::default(), Batch::default());
        add(&mut run, &mut batch, 7, b"ab");
        add(&mut run, &mut batch, 9, b"c");
        add(&mut run, &mut batch, 20, b"d");
        run.finish(&mut batch);
        let frames: Vec<Frame> = batch.messages.iter().map(|it| Frame::parse(it).unwrap()).collect();
        let output = |offset, data| Frame::Output(offset, Bytes::from_static(data));
        assert_eq!(frames, [output(7, b"abc".as_slice()), output(20, b"d")]);
        let pieces: Vec<_> = batch.events.iter().map(|it| matches!(it, Event::Output(7 | 20, _))).collect();
        assert_eq!(pieces, [true, true]);
    }
}
