//! What travels on a framed stream: a byte that says what it is, the length of
//! what follows, and that. The same frames go to the browser and to the command
//! line, one in each binary message of the WebSocket.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use super::Size;

/// How long a frame's head is: its kind and its length.
const HEAD: usize = 5;
/// The largest body of a frame; a larger one ends the stream.
pub const MAX_FRAME_BYTES: usize = 64 * 1024 + 64; // bound: a full read of a terminal, and a head
/// The largest piece of output or input that is put into one frame.
pub const MAX_DATA_BYTES: usize = 64 * 1024; // bound: keeps other streams' turns short
/// How much output may be on its way that nobody acknowledged.
pub const WINDOW_BYTES: u64 = 256 * 1024; // bound: what a stalled reader costs the host

/// What the agent says first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamOpened {
    /// The offset of the first byte of output that follows.
    pub offset: u64,
    /// Whether it joined a shell that ran already.
    pub resumed: bool,
    pub size: Size,
    /// From which offset on it is for the client. What comes before is for the
    /// recording alone: the client has seen it, or gets the screen in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_from: Option<u64>,
    /// Whether the agent takes [`Frame::Signal`]; an older one would call it no frame.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_signals: bool,
}

/// How the shell or command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamEnded {
    /// What the process exited with; 128 and the signal's number if one ended it.
    pub code: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

/// Why a stream ends before its shell does, or the session with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closing {
    /// Somebody with the same rights joined from elsewhere.
    TakenOver,
    /// The session reached its time limit.
    TimeLimit,
    /// Nothing was typed or printed for too long.
    Idle,
    /// The allocation stops or ends.
    AllocationEnded,
    /// An operator or the user ended it.
    Ended,
    /// What was sent is not of this protocol.
    BadFrame,
    /// The process that serves it stops; come back through another one.
    GoingAway,
    /// The host cannot be reached any more.
    HostGone,
    /// Recording failed, and policy lets nobody work unrecorded.
    Unrecorded,
}

/// One of the signals that SSH knows, for a shell's job in the foreground or for a
/// command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal(&'static str);

impl Signal {
    const NAMES: [&'static str; 13] =
        ["ABRT", "ALRM", "FPE", "HUP", "ILL", "INT", "KILL", "PIPE", "QUIT", "SEGV", "TERM", "USR1", "USR2"];

    /// By its name without `SIG`.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|it| *it == name).map(Self)
    }

    pub fn name(self) -> &'static str {
        self.0
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// To the shell: what was typed.
    Input(Bytes),
    /// To the shell: the window has another size.
    Resize(Size),
    /// To the agent: everything before this offset arrived.
    Ack(u64),
    /// To the agent: nothing more will be typed.
    EndOfInput,
    /// To the agent: end the session, and the shell with it.
    Hangup,
    /// To the agent: for the job in the foreground, or the command.
    Signal(Signal),
    /// Either way: answered with the same bytes.
    Ping(Bytes),
    Pong(Bytes),
    /// From the agent, first.
    Opened(StreamOpened),
    /// From the shell: output, and the offset of its first byte.
    Output(u64, Bytes),
    /// From the agent: what makes an empty terminal look like the shell's, which
    /// is as of this offset. It is not output.
    Screen(u64, Bytes),
    /// From the command: what it wrote to its error stream.
    ErrorOutput(Bytes),
    /// From the agent, last: how it ended.
    Exit(StreamEnded),
    /// Last, when the shell did not end.
    Close(Closing),
    /// To a person: somebody joined, left or looks on.
    Notice(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    #[error("a frame has {0} bytes, more than the limit of {MAX_FRAME_BYTES}")]
    TooLarge(usize),
    #[error("unknown frame kind {0}")]
    Unknown(u8),
    #[error("a frame of kind {0} is malformed")]
    Malformed(u8),
}

/// The length of the body that follows this head.
fn decode_header(head: [u8; HEAD]) -> Result<usize, BadFrame> {
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if length > MAX_FRAME_BYTES { Err(BadFrame::TooLarge(length)) } else { Ok(length) }
}

impl Frame {
    fn kind(&self) -> u8 {
        match self {
            Self::Input(_) => 1,
            Self::Resize(_) => 2,
            Self::Ack(_) => 3,
            Self::EndOfInput => 4,
            Self::Hangup => 5,
            Self::Ping(_) => 6,
            Self::Pong(_) => 7,
            Self::Signal(_) => 8,
            Self::Opened(_) => 16,
            Self::Output(..) => 17,
            Self::Screen(..) => 18,
            Self::ErrorOutput(_) => 19,
            Self::Exit(_) => 20,
            Self::Close(_) => 21,
            Self::Notice(_) => 22,
        }
    }

    /// Writes the frame, head and body.
    pub fn write(&self, out: &mut BytesMut) {
        let at = out.len();
        out.put_u8(self.kind());
        out.put_u32(0);
        match self {
            Self::Input(bytes) | Self::Ping(bytes) | Self::Pong(bytes) | Self::ErrorOutput(bytes) => {
                out.put_slice(bytes);
            }
            Self::Resize(size) => {
                out.put_u16(size.columns);
                out.put_u16(size.rows);
            }
            Self::Ack(offset) => out.put_u64(*offset),
            Self::EndOfInput | Self::Hangup => (),
            Self::Output(offset, bytes) | Self::Screen(offset, bytes) => {
                out.put_u64(*offset);
                out.put_slice(bytes);
            }
            Self::Opened(it) => put_json(out, it),
            Self::Exit(it) => put_json(out, it),
            Self::Close(it) => put_json(out, it),
            Self::Notice(text) => out.put_slice(text.as_bytes()),
            Self::Signal(signal) => out.put_slice(signal.name().as_bytes()),
        }
        let length = u32::try_from(out.len() - at - HEAD).unwrap_or(u32::MAX);
        out[at + 1..at + HEAD].copy_from_slice(&length.to_be_bytes());
    }

    pub fn to_bytes(&self) -> Bytes {
        let mut out = BytesMut::new();
        self.write(&mut out);
        out.freeze()
    }

    /// Takes the next whole frame off the front; none while more is to come.
    pub fn take(buffer: &mut BytesMut) -> Result<Option<Frame>, BadFrame> {
        let Some(head) = buffer.first_chunk::<HEAD>() else { return Ok(None) };
        let (kind, length) = (head[0], decode_header(*head)?);
        if buffer.len() < HEAD + length {
            return Ok(None);
        }
        buffer.advance(HEAD);
        Self::read(kind, buffer.split_to(length).freeze()).map(Some)
    }

    /// Reads a message that is exactly one frame.
    pub fn parse(message: &Bytes) -> Result<Frame, BadFrame> {
        let head = message.first_chunk::<HEAD>().ok_or(BadFrame::Malformed(0))?;
        let length = decode_header(*head)?;
        if message.len() != HEAD + length {
            return Err(BadFrame::Malformed(head[0]));
        }
        Self::read(head[0], message.slice(HEAD..))
    }

    fn read(kind: u8, mut body: Bytes) -> Result<Frame, BadFrame> {
        let wrong = BadFrame::Malformed(kind);
        Ok(match kind {
            1 => Self::Input(body),
            2 if body.len() == 4 => Self::Resize(Size { columns: body.get_u16(), rows: body.get_u16() }),
            3 if body.len() == 8 => Self::Ack(body.get_u64()),
            4 if body.is_empty() => Self::EndOfInput,
            5 if body.is_empty() => Self::Hangup,
            6 => Self::Ping(body),
            7 => Self::Pong(body),
            8 => Self::Signal(std::str::from_utf8(&body).ok().and_then(Signal::named).ok_or(wrong)?),
            16 => Self::Opened(json(&body).ok_or(wrong)?),
            17 if body.len() >= 8 => Self::Output(body.get_u64(), body),
            18 if body.len() >= 8 => Self::Screen(body.get_u64(), body),
            19 => Self::ErrorOutput(body),
            20 => Self::Exit(json(&body).ok_or(wrong)?),
            21 => Self::Close(json(&body).ok_or(wrong)?),
            22 => Self::Notice(String::from_utf8(body.to_vec()).map_err(|_| wrong)?),
            2..=5 | 17 | 18 => return Err(wrong),
            other => return Err(BadFrame::Unknown(other)),
        })
    }
}

fn put_json(out: &mut BytesMut, value: &impl Serialize) {
    out.put_slice(&serde_json::to_vec(value).unwrap_or_default());
}

fn json<T: serde::de::DeserializeOwned>(body: &[u8]) -> Option<T> {
    serde_json::from_slice(body).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all() -> Vec<Frame> {
        let size = Size { columns: 80, rows: 24 };
        vec![
            Frame::Input(Bytes::from_static(b"id\n")),
            Frame::Resize(size),
            Frame::Ack(1 << 40),
            Frame::EndOfInput,
            Frame::Hangup,
            Frame::Ping(Bytes::from_static(b"1")),
            Frame::Pong(Bytes::new()),
            Frame::Signal(Signal("TERM")),
            Frame::Opened(StreamOpened { offset: 3, resumed: true, size, shown_from: Some(9), takes_signals: true }),
            Frame::Output(7, Bytes::from_static(b"\xff\x00")),
            Frame::Screen(7, Bytes::new()),
            Frame::ErrorOutput(Bytes::from_static(b"no")),
            Frame::Exit(StreamEnded { code: 3, signal: None }),
            Frame::Close(Closing::TakenOver),
            Frame::Notice("somebody joined".into()),
        ]
    }

    #[test]
    fn every_frame_is_read_back_from_any_pieces() {
        let mut wire = BytesMut::new();
        all().iter().for_each(|frame| frame.write(&mut wire));
        let (mut buffer, mut seen) = (BytesMut::new(), Vec::new());
        for byte in wire {
            buffer.put_u8(byte);
            seen.extend(Frame::take(&mut buffer).unwrap());
        }
        assert_eq!(seen, all());
        for frame in all() {
            assert_eq!(Frame::parse(&frame.to_bytes()), Ok(frame));
        }
    }

    #[test]
    fn a_huge_unknown_or_crooked_frame_is_refused_before_it_is_stored() {
        let mut huge = BytesMut::from(&[17, 0xff, 0xff, 0xff, 0xff][..]);
        assert_eq!(Frame::take(&mut huge), Err(BadFrame::TooLarge(u32::MAX as usize)));
        let mut unknown = BytesMut::from(&[99, 0, 0, 0, 0][..]);
        assert_eq!(Frame::take(&mut unknown), Err(BadFrame::Unknown(99)));
        let crooked = Bytes::from_static(&[2, 0, 0, 0, 1, 5]);
        assert_eq!(Frame::parse(&crooked), Err(BadFrame::Malformed(2)));
        assert_eq!(Frame::parse(&Bytes::from_static(&[4, 0, 0, 0, 0, 1])), Err(BadFrame::Malformed(4)));
        assert_eq!(Frame::parse(&Bytes::new()), Err(BadFrame::Malformed(0)));
        assert_eq!(Frame::parse(&Bytes::from_static(b"\x08\0\0\0\x04STOP")), Err(BadFrame::Malformed(8)));
    }

    #[test]
    fn an_older_agent_takes_no_signals() {
        let old = br#"{"offset":0,"resumed":false,"size":{"columns":80,"rows":24}}"#;
        let opened: StreamOpened = serde_json::from_slice(old).unwrap();
        assert!(!opened.takes_signals);
        assert_eq!(serde_json::to_vec(&opened).unwrap(), old);
    }

    proptest! {
        #[test]
        fn malformed_frames_are_refused_or_read_and_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut buffer = BytesMut::from(&bytes[..]);
            while let Ok(Some(_)) = Frame::take(&mut buffer) {}
            let _ = Frame::parse(&Bytes::from(bytes));
        }
    }
}
