//! A download of a recording, made while it is sent: one piece and a few lines of
//! it are in memory, however long the recording is.

use std::{collections::HashMap, sync::Arc};

use axum::body::Body;
use bytes::Bytes;
use contract::id::RecordingId;

use super::{
    assemble::{AssembleError, Assembler, Piece, Reading},
    key,
    store::Chunk,
    turns::Turn,
};
use platform::{
    http::streamed,
    ports::recording_store::{RecordingStore, StoreError},
};

#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error("the recording store failed")]
    Store {
        recording: RecordingId,
        #[source]
        source: StoreError,
    },
    #[error("chunk {number} of segment {segment} is not in the store")]
    Missing { segment: u32, number: u32 },
    #[error(transparent)]
    Assemble(#[from] AssembleError),
}

// bound: what is made at a time
const ENOUGH_BYTES: usize = 64 * 1024;

pub struct Download {
    store: Arc<dyn RecordingStore>,
    id: RecordingId,
    /// When each segment began, in seconds since the recording did.
    starts: HashMap<u32, f64>,
    pieces: std::vec::IntoIter<ChunkLocation>,
    assembler: Assembler,
    reading: Option<Reading>,
    is_over: bool,
}

/// Where a piece is, and what is in it.
struct ChunkLocation {
    segment: u32,
    number: u32,
    from: u64,
    to: u64,
}

impl Download {
    pub fn new(store: Arc<dyn RecordingStore>, id: RecordingId, starts: HashMap<u32, f64>, chunks: &[Chunk]) -> Self {
        let place = |it: &Chunk| ChunkLocation { segment: it.segment, number: it.number, from: it.from, to: it.to };
        let pieces: Vec<ChunkLocation> = chunks.iter().map(place).collect();
        let pieces = pieces.into_iter();
        Self { store, id, starts, pieces, assembler: Assembler::new(), reading: None, is_over: false }
    }

    /// The next bytes; nothing at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, DownloadError> {
        let mut text = Vec::new();
        // Ends with the pieces.
        while text.len() < ENOUGH_BYTES && !self.is_over {
            if let Some(reading) = &mut self.reading {
                if !self.assembler.read(reading, &mut text, ENOUGH_BYTES)? {
                    self.reading = None;
                }
                continue;
            }
            match self.pieces.next() {
                Some(place) => self.reading = Some(self.begin(place).await?),
                None => {
                    self.assembler.end(&mut text);
                    self.is_over = true;
                }
            }
        }
        Ok((!text.is_empty()).then(|| text.into()))
    }

    async fn begin(&mut self, place: ChunkLocation) -> Result<Reading, DownloadError> {
        let ChunkLocation { segment, number, from, to } = place;
        let read = self.store.get(&key(self.id, segment, number)).await;
        let bytes = read.map_err(|source| DownloadError::Store { recording: self.id, source })?;
        let bytes = bytes.ok_or(DownloadError::Missing { segment, number })?;
        let start = self.starts.get(&segment).copied().unwrap_or_default();
        Ok(self.assembler.begin(&Piece { segment, bytes, from, to }, start)?)
    }

    /// What was read already, then the rest. One that fails on its way is cut
    /// off, so that nobody takes it for whole; one that nobody reads ends its turn.
    pub fn into_body(self, first: Option<Bytes>, turn: Turn) -> Body {
        let rest = futures_util::stream::try_unfold((first, self), |(first, mut download)| async move {
            let next = match first {
                Some(first) => Some(first),
                None => download.next().await.inspect_err(|error| {
                    tracing::warn!(%error, recording = %download.id, "a download of a recording was cut off");
                })?,
            };
            Ok::<_, DownloadError>(next.map(|bytes| (bytes, (None, download))))
        });
        streamed(rest, turn)
    }
}
