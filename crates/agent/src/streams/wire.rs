//! One stream of a connection, from its two ends: frames that came, and bytes that
//! go as far as the other side has room for them.

use bytes::{Bytes, BytesMut};
use h2::{FlowControl, Reason, RecvStream, SendStream};
use protocol::stream::Frame;
use std::future::poll_fn;

/// Why nothing more comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The gateway closed its half, or the whole stream.
    Gone,
    /// It sent what is no frame.
    Bad,
}

/// The gateway's half.
pub struct Incoming {
    body: RecvStream,
    buffer: BytesMut,
}

/// Room for bytes that were received; the sender gets it back when this is dropped,
/// so it is kept until the bytes were handed on.
pub struct ReceiveCredit {
    flow: FlowControl,
    bytes: usize,
}

impl Drop for ReceiveCredit {
    fn drop(&mut self) {
        // An error means that the stream is over.
        let _ = self.flow.release_capacity(self.bytes);
    }
}

impl Incoming {
    pub fn new(body: RecvStream) -> Self {
        Self { body, buffer: BytesMut::new() }
    }

    /// The next frame, and the room that it takes.
    pub async fn frame(&mut self) -> Result<(Frame, ReceiveCredit), Lost> {
        loop {
            let before = self.buffer.len();
            if let Some(frame) = Frame::take(&mut self.buffer).map_err(|_| Lost::Bad)? {
                let bytes = before - self.buffer.len();
                return Ok((frame, self.room(bytes)));
            }
            let bytes = self.body.data().await.ok_or(Lost::Gone)?.map_err(|_| Lost::Gone)?;
            self.buffer.extend_from_slice(&bytes);
        }
    }

    /// The next bytes as they came; none at the end.
    pub async fn bytes(&mut self) -> Result<Option<(Bytes, ReceiveCredit)>, Lost> {
        let Some(bytes) = self.body.data().await else { return Ok(None) };
        let bytes = bytes.map_err(|_| Lost::Gone)?;
        let room = self.room(bytes.len());
        Ok(Some((bytes, room)))
    }

    fn room(&mut self, bytes: usize) -> ReceiveCredit {
        ReceiveCredit { flow: self.body.flow_control().clone(), bytes }
    }
}

/// The host's half.
pub struct Outgoing(SendStream<Bytes>);

impl Outgoing {
    pub fn new(stream: SendStream<Bytes>) -> Self {
        Self(stream)
    }

    /// Sends all of it, as fast as the other side makes room.
    pub async fn send(&mut self, mut bytes: Bytes) -> Result<(), Lost> {
        while !bytes.is_empty() {
            self.0.reserve_capacity(bytes.len());
            let mut room = self.0.capacity();
            if room == 0 {
                let more = poll_fn(|context| self.0.poll_capacity(context)).await;
                room = more.ok_or(Lost::Gone)?.map_err(|_| Lost::Gone)?;
            }
            let piece = bytes.split_to(room.min(bytes.len()));
            self.0.send_data(piece, false).map_err(|_| Lost::Gone)?;
        }
        Ok(())
    }

    pub async fn send_frame(&mut self, frame: &Frame) -> Result<(), Lost> {
        self.send(frame.to_bytes()).await
    }

    /// Ends it in order.
    pub fn finish(mut self) {
        self.end();
    }

    /// Nothing more will be sent; the gateway may still send.
    pub fn end(&mut self) {
        let _ = self.0.send_data(Bytes::new(), true);
    }

    /// Ends it without order: what is on its way is lost.
    pub fn cut(mut self) {
        self.0.send_reset(Reason::CANCEL);
    }

    /// Waits until the gateway gives the stream up.
    pub async fn given_up(&mut self) {
        let _ = poll_fn(|context| self.0.poll_reset(context)).await;
    }
}
