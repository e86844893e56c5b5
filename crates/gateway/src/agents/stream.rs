//! One stream to a host: framed, for terminals and commands, or raw, as bytes.
//! Room for more is given back only when somebody took what came, so that at most
//! one window waits here.

use bytes::{Buf, Bytes, BytesMut};
use h2::{Reason, RecvStream, SendStream};
use protocol::stream::{BadFrame, Frame, MAX_FRAME_BYTES};
use std::io;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::locked;

/// Kept free for acknowledgments, so that input which nobody reads cannot hold
/// them up.
const RESERVE: usize = 16 * 1024; // bound: more than a thousand of them
const WRITE_BYTES: usize = 64 * 1024; // bound: one write on a raw stream
const MOST_WAITING: usize = 512 * 1024; // bound: twice what an honest host has in flight
const HEAD: usize = 5;

/// As the host opened it.
pub struct Stream {
    pub(super) send: SendStream<Bytes>,
    pub(super) receive: RecvStream,
}

impl Stream {
    /// For kinds whose bytes are frames.
    pub fn framed(self) -> (FrameReader, FrameWriter) {
        let reader = FrameReader { receive: self.receive, buffer: BytesMut::new(), is_over: false };
        (reader, FrameWriter { send: Mutex::new(self.send) })
    }

    /// For kinds whose bytes are nobody's business.
    pub fn raw(self) -> RawStream {
        let reader = RawReader { receive: self.receive, rest: Bytes::new() };
        RawStream { reader, writer: RawWriter { send: self.send, is_shut: false } }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    #[error("the host closed the stream: {0}")]
    Lost(#[from] h2::Error),
    #[error("received a malformed frame from the host: {0}")]
    Bad(#[from] BadFrame),
}

pub struct FrameReader {
    receive: RecvStream,
    buffer: BytesMut,
    is_over: bool,
}

impl FrameReader {
    /// Waits for more; false at the end. Nothing is lost when it is dropped
    /// halfway. It may be called while what came before is still being handled:
    /// then small pieces do not pile up one by one.
    pub async fn fill(&mut self) -> Result<bool, StreamError> {
        if self.is_over {
            return Ok(false);
        }
        match std::future::poll_fn(|context| self.receive.poll_data(context)).await {
            Some(Ok(piece)) => {
                self.buffer.extend_from_slice(&piece);
                Ok(true)
            }
            Some(Err(error)) => Err(error.into()),
            None => {
                self.is_over = true;
                Ok(false)
            }
        }
    }

    /// Whether more may be read while what came is still being handled.
    pub fn has_room(&self) -> bool {
        self.buffer.len() < MOST_WAITING
    }

    /// The next whole frame as it came, head and all.
    pub fn take(&mut self) -> Result<Option<Bytes>, StreamError> {
        let Some(head) = self.buffer.first_chunk::<HEAD>() else {
            if self.buffer.is_empty() {
                // What a flood needed is not kept for the silence after it.
                self.buffer = BytesMut::new();
            }
            return Ok(None);
        };
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if length > MAX_FRAME_BYTES {
            return Err(BadFrame::TooLarge(length).into());
        }
        if self.buffer.len() < HEAD + length {
            return Ok(None);
        }
        let frame = self.buffer.split_to(HEAD + length).freeze();
        // The connection may be over; then nobody needs room.
        let _ = self.receive.flow_control().release_capacity(frame.len());
        Ok(Some(frame))
    }

    /// Waits for the next frame; none at the end.
    pub async fn next(&mut self) -> Result<Option<Frame>, StreamError> {
        loop {
            if let Some(frame) = self.take()? {
                return Ok(Some(Frame::parse(&frame)?));
            }
            if !self.fill().await? {
                return Ok(None);
            }
        }
    }
}

/// Shared by those who type and those who acknowledge.
pub struct FrameWriter {
    send: Mutex<SendStream<Bytes>>,
}

impl FrameWriter {
    /// Sends a small frame at once, past input that waits.
    pub fn send_now(&self, frame: &Frame) -> Result<(), StreamError> {
        Ok(locked(&self.send).send_data(frame.to_bytes(), false)?)
    }

    /// Sends a frame, head and all, when the host has room for it.
    pub async fn send(&self, bytes: Bytes) -> Result<(), StreamError> {
        let wanted = bytes.len() + RESERVE;
        std::future::poll_fn(|context| {
            let mut send = locked(&self.send);
            send.reserve_capacity(wanted);
            while send.capacity() < wanted {
                match ready!(send.poll_capacity(context)) {
                    Some(Ok(_)) => (),
                    Some(Err(error)) => return Poll::Ready(Err(error)),
                    None => return Poll::Ready(Err(Reason::STREAM_CLOSED.into())),
                }
            }
            let sent = send.send_data(bytes.clone(), false);
            send.reserve_capacity(0);
            Poll::Ready(sent)
        })
        .await?;
        Ok(())
    }
}

/// Bytes both ways.
pub struct RawStream {
    reader: RawReader,
    writer: RawWriter,
}

impl RawStream {
    pub fn split(self) -> (RawReader, RawWriter) {
        (self.reader, self.writer)
    }
}

pub struct RawReader {
    receive: RecvStream,
    rest: Bytes,
}

impl RawReader {
    /// The next piece, whole; none at the end. Its room is given back by
    /// [`Self::taken`].
    pub async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        std::future::poll_fn(|context| self.poll_piece(context)).await
    }

    pub fn taken(&mut self, bytes: usize) {
        // The connection may be over; then nobody needs room.
        let _ = self.receive.flow_control().release_capacity(bytes);
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Option<Bytes>>> {
        match ready!(self.receive.poll_data(context)) {
            Some(Ok(piece)) => Poll::Ready(Ok(Some(piece))),
            Some(Err(error)) => Poll::Ready(Err(io::Error::other(error))),
            None => Poll::Ready(Ok(None)),
        }
    }
}

impl AsyncRead for RawReader {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        while self.rest.is_empty() {
            match ready!(self.poll_piece(context))? {
                Some(piece) => self.rest = piece,
                None => return Poll::Ready(Ok(())),
            }
        }
        let length = self.rest.len().min(into.remaining());
        into.put_slice(&self.rest[..length]);
        self.rest.advance(length);
        self.taken(length);
        Poll::Ready(Ok(()))
    }
}

pub struct RawWriter {
    send: SendStream<Bytes>,
    is_shut: bool,
}

impl AsyncWrite for RawWriter {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wanted = bytes.len().min(WRITE_BYTES);
        if wanted == 0 {
            return Poll::Ready(Ok(0));
        }
        self.send.reserve_capacity(wanted);
        while self.send.capacity() == 0 {
            match ready!(self.send.poll_capacity(context)) {
                Some(Ok(_)) => (),
                Some(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                None => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            }
        }
        let length = self.send.capacity().min(wanted);
        let sent = self.send.send_data(Bytes::copy_from_slice(&bytes[..length]), false);
        Poll::Ready(sent.map(|()| length).map_err(io::Error::other))
    }

    /// What was written is on its way; the connection sends it by itself.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_shut {
            self.is_shut = true;
            // A host that has gone needs no farewell.
            let _ = self.send.send_data(Bytes::new(), true);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for RawStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.reader).poll_read(context, into)
    }
}

impl AsyncWrite for RawStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writer).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}
