//! What is recorded of a connection: its shells and commands one after the other,
//! as parts of one recording. Each begins to count at nought on its host, and
//! where the part before it ended in the recording.

use crate::Gateway;
use crate::recorder::{Event, Recorder};
use crate::sessions::Session;
use bytes::Bytes;
use protocol::gateway::RecordingOrder;
use protocol::stream::{Size, StreamOpened};
use std::io;
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Up to where a connection's output is recorded; who holds it records.
pub type Reel = Arc<Mutex<u64>>;

pub struct Part {
    recorder: Recorder,
    from: u64,
    reached: OwnedMutexGuard<u64>,
}

/// Why nothing is recorded that should be.
#[derive(Debug, thiserror::Error)]
pub enum Unrecorded {
    #[error("another shell or command of this connection is being recorded; open a separate connection")]
    Busy,
    #[error("the recording could not be started")]
    Failed(#[from] io::Error),
}

impl Part {
    pub async fn begin(
        gateway: &Arc<Gateway>,
        session: &Session,
        order: &RecordingOrder,
        opened: &StreamOpened,
        reel: Reel,
    ) -> Result<Self, Unrecorded> {
        let reached = reel.try_lock_owned().map_err(|_| Unrecorded::Busy)?;
        let from = order.from.max(*reached);
        let order = RecordingOrder { from, ..order.clone() };
        let opened = StreamOpened { offset: from, ..opened.clone() };
        let (recorder, done) = Recorder::begin(gateway, &order, &opened, &session.title).await?;
        session.await_recording(done);
        Ok(Self { recorder, from, reached })
    }

    pub async fn output(&mut self, offset: u64, bytes: Bytes) -> io::Result<()> {
        let from = self.from + offset;
        *self.reached = from + bytes.len() as u64;
        self.recorder.append(vec![Event::Output(from, bytes)]).await
    }

    /// Shown, but not counted by the host.
    pub async fn error_output(&self, bytes: Bytes) -> io::Result<()> {
        self.recorder.append(vec![Event::Screen(bytes)]).await
    }

    pub fn typist(&self) -> InputRecorder {
        InputRecorder(self.recorder.clone())
    }

    /// Whether the session ends when it cannot be recorded.
    pub fn is_required(&self) -> bool {
        self.recorder.is_required()
    }

    pub async fn finish(self) {
        self.recorder.finish().await;
    }
}

/// What a person does, for the same recording.
pub struct InputRecorder(Recorder);

impl InputRecorder {
    pub async fn input(&self, bytes: Bytes) {
        self.keep(Event::Input(bytes)).await;
    }

    pub async fn resize(&self, size: Size) {
        self.keep(Event::Resize(size)).await;
    }

    /// A recording that fails shows at the next output.
    async fn keep(&self, event: Event) {
        if self.0.keeps(&event) {
            let _ = self.0.append(vec![event]).await;
        }
    }
}
