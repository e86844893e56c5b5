//! Recordings: what a terminal shows is written down as it happens, in pieces of
//! a second, and handed to the control plane. Output counts as recorded when it is
//! in a file, not before; a piece that cannot be handed on yet waits on disk.

mod cast;
mod compress;
mod segment;
mod upload;

pub use upload::{Progress, recover};

use crate::{Gateway, locked};
use bytes::Bytes;
use cast::{Header, Text};
use compress::{Compressor, Compressors};
use protocol::gateway::RecordingOrder;
use protocol::stream::{Size, StreamOpened};
use segment::{Folder, Meta};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::watch;
use upload::Queue;

const FIRST_PIECE: Duration = Duration::from_secs(10); // bound: somebody waits at a terminal for it
const PIECE_TIME: Duration = Duration::from_secs(1); // bound: what a crash of the disk may lose
const PIECE_BYTES: usize = 256 * 1024; // bound: half of what the control plane takes at once
const MOST_WAITING: u64 = 64 << 20; // bound: of one recording on disk; then its terminal waits
const LOOK_AGAIN: Duration = Duration::from_secs(1); // bound: room may be made by other recordings

/// What a recording keeps.
pub enum Event {
    /// Output, and the offset of its first byte.
    Output(u64, Bytes),
    /// What makes an empty terminal look like the shell's; it is not output.
    Screen(Bytes),
    /// What was typed; kept only where the order says so.
    Input(Bytes),
    Resize(Size),
}

/// The recordings of this gateway that are on disk.
pub struct Spool {
    path: PathBuf,
    compressors: Compressors,
    /// How many bytes wait, all together, and how many may.
    bytes: AtomicU64,
    most: u64,
}

impl Spool {
    pub fn new(path: PathBuf, most: u64) -> Self {
        Self { path, compressors: Compressors::default(), bytes: AtomicU64::new(0), most }
    }

    fn add(&self, bytes: u64) {
        let now = self.bytes.fetch_add(bytes, Relaxed) + bytes;
        metrics::gauge!("gpuaas_gateway_spool_bytes").set(now as f64);
    }

    fn subtract(&self, bytes: u64) {
        let now = self.bytes.fetch_sub(bytes, Relaxed).saturating_sub(bytes);
        metrics::gauge!("gpuaas_gateway_spool_bytes").set(now as f64);
    }
}

/// Writes one part of a recording. Whoever has one also finishes it.
#[derive(Clone)]
pub struct Recorder(Arc<Inner>);

struct Inner {
    gateway: Arc<Gateway>,
    order: RecordingOrder,
    folder: Folder,
    began: Instant,
    pen: Mutex<WriterState>,
    queue: Arc<Queue>,
    runtime: Handle,
}

/// What is held while writing.
struct WriterState {
    output: Text,
    input: Text,
    /// Up to where output is recorded.
    offset: u64,
    next: u32,
    piece: Option<Piece>,
    is_finished: bool,
}

/// The piece that is being written.
struct Piece {
    meta: Meta,
    file: File,
    compressor: Compressor,
    frame: Vec<u8>,
    began: Instant,
}

impl Recorder {
    /// Begins a part: returns when the control plane has its first piece, the
    /// header. Only then the part exists, and only then something may be shown.
    /// What is returned beside tells when the control plane has all of it.
    pub async fn begin(
        gateway: &Arc<Gateway>,
        order: &RecordingOrder,
        opened: &StreamOpened,
        title: &str,
    ) -> io::Result<(Self, watch::Receiver<Progress>)> {
        let folder = Folder::create(&gateway.spool.path, order.recording, order.segment)?;
        let (queue, mut progress) = Queue::new();
        let offset = order.from.max(opened.offset);
        let pen = WriterState {
            output: Text::default(),
            input: Text::default(),
            offset,
            next: 0,
            piece: None,
            is_finished: false,
        };
        let inner = Arc::new(Inner {
            gateway: gateway.clone(),
            order: order.clone(),
            folder,
            began: Instant::now(),
            pen: Mutex::new(pen),
            queue,
            runtime: Handle::current(),
        });
        let mut header = Vec::new();
        let gpuaas = cast::Segment { segment: order.segment, from: offset };
        let timestamp = gateway.clock.now().map(|it| it.as_second());
        Header { version: 2, width: opened.size.columns, height: opened.size.rows, timestamp, title, gpuaas }
            .write(&mut header);
        let writing = inner.clone();
        let written = tokio::task::spawn_blocking(move || {
            let mut pen = locked(&writing.pen);
            let (at, offset) = (writing.began.elapsed(), pen.offset);
            writing.write(&mut pen, &header, offset, at)?;
            writing.close(&mut pen, false)
        });
        written.await.map_err(io::Error::other)??;
        tokio::spawn(upload::run(gateway.clone(), inner.folder.clone(), inner.queue.clone()));
        let recorder = Self(inner);
        let begun = progress.wait_for(|it| *it != Progress::Waiting);
        match tokio::time::timeout(FIRST_PIECE, begun).await.map(|it| it.map(|it| *it)) {
            Ok(Ok(Progress::Begun)) => Ok((recorder, progress)),
            Ok(_) => Err(io::Error::other("the control plane does not accept its first chunk")),
            Err(_) => {
                // Should it arrive after all, its end follows.
                recorder.finish().await;
                Err(io::Error::new(io::ErrorKind::TimedOut, "the control plane does not respond"))
            }
        }
    }

    /// Whether the session ends when it cannot be recorded.
    pub fn is_required(&self) -> bool {
        self.0.order.is_required
    }

    /// Whether such an event goes into this recording.
    pub fn keeps(&self, event: &Event) -> bool {
        self.0.order.input || !matches!(event, Event::Input(_))
    }

    /// Returns when all of it is in a file. Waits while too much waits on disk.
    pub async fn append(&self, events: Vec<Event>) -> io::Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        while self.0.is_full() {
            let _ = tokio::time::timeout(LOOK_AGAIN, self.0.queue.room.notified()).await;
        }
        let inner = self.0.clone();
        let written = tokio::task::spawn_blocking(move || {
            let mut pen = locked(&inner.pen);
            let appended = inner.append(&mut pen, events);
            inner.judge(&mut pen, appended)
        });
        written.await.map_err(io::Error::other)?
    }

    /// Ends the part. What is on disk goes on to the control plane by itself.
    pub async fn finish(self) {
        let inner = self.0.clone();
        let finished = tokio::task::spawn_blocking(move || inner.finish()).await;
        if let Err(error) = finished.map_err(io::Error::other).flatten() {
            tracing::error!(recording = %self.0.order.recording, %error, "the end of a recording could not be written");
        }
    }
}

impl Inner {
    fn is_full(&self) -> bool {
        let spool = &self.gateway.spool;
        self.queue.waiting() >= MOST_WAITING || spool.bytes.load(Relaxed) >= spool.most
    }

    /// A recording that failed once is over: what is on disk is handed on at the
    /// next start, and nothing is added that could not be read.
    fn judge(&self, pen: &mut WriterState, outcome: io::Result<()>) -> io::Result<()> {
        if outcome.is_err() {
            pen.is_finished = true;
            pen.piece = None;
            self.queue.abandon();
        }
        outcome
    }

    fn append(self: &Arc<Self>, pen: &mut WriterState, events: Vec<Event>) -> io::Result<()> {
        if pen.is_finished {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let at = self.began.elapsed();
        let mut lines = Vec::new();
        let mut offset = pen.offset;
        for event in events {
            match event {
                Event::Output(from, bytes) => {
                    let to = from + bytes.len() as u64;
                    // What was seen before and is shown again is recorded already.
                    let seen = usize::try_from(offset.saturating_sub(from)).unwrap_or(usize::MAX).min(bytes.len());
                    if from > offset {
                        // A gap is told by where pieces begin and end.
                        self.write(pen, &lines, offset, at)?;
                        lines.clear();
                        self.close(pen, false)?;
                        pen.offset = from;
                    }
                    pen.output.event(at, 'o', &bytes[seen..], &mut lines);
                    offset = offset.max(to);
                }
                Event::Screen(bytes) => pen.output.event(at, 'o', &bytes, &mut lines),
                Event::Input(bytes) if self.order.input => pen.input.event(at, 'i', &bytes, &mut lines),
                Event::Input(_) => (),
                Event::Resize(size) => cast::resize(at, size, &mut lines),
            }
        }
        self.write(pen, &lines, offset, at)
    }

    /// Puts lines into the piece that is open, or into a new one.
    fn write(self: &Arc<Self>, pen: &mut WriterState, lines: &[u8], to: u64, at: Duration) -> io::Result<()> {
        if lines.is_empty() && to == pen.offset {
            return Ok(());
        }
        let at_ms = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
        if pen.piece.is_none() {
            pen.piece = Some(self.begin_piece(pen, at_ms)?);
        }
        let piece = pen.piece.as_mut().expect("it was made above");
        let before = piece.frame.len();
        piece.compressor.add(lines, &mut piece.frame)?;
        segment::add_record(&mut piece.file, to, at_ms, &piece.frame[before..])?;
        (piece.meta.to, piece.meta.ended_ms) = (to, at_ms);
        pen.offset = to;
        if piece.frame.len() >= PIECE_BYTES || piece.began.elapsed() >= PIECE_TIME {
            self.close(pen, false)?;
        }
        Ok(())
    }

    fn begin_piece(self: &Arc<Self>, pen: &mut WriterState, at_ms: u64) -> io::Result<Piece> {
        let meta = Meta {
            recording: self.order.recording,
            segment: self.order.segment,
            number: pen.next,
            from: pen.offset,
            to: pen.offset,
            began_ms: at_ms,
            ended_ms: at_ms,
            is_last: false,
        };
        let compressor = self.gateway.spool.compressors.lend()?;
        let file = self.folder.begin_part(&meta)?;
        let (inner, number) = (self.clone(), pen.next);
        pen.next += 1;
        // Closes it in time also when nothing more is printed.
        self.runtime.spawn(async move {
            tokio::time::sleep(PIECE_TIME).await;
            let closed = tokio::task::spawn_blocking(move || inner.close_late(number)).await;
            if let Ok(Err(error)) = closed {
                tracing::error!(%error, "a recording chunk could not be closed");
            }
        });
        Ok(Piece { meta, file, compressor, frame: Vec::new(), began: Instant::now() })
    }

    fn close_late(self: &Arc<Self>, number: u32) -> io::Result<()> {
        let mut pen = locked(&self.pen);
        let is_open = pen.piece.as_ref().is_some_and(|it| it.meta.number == number);
        let closed = if is_open { self.close(&mut pen, false) } else { Ok(()) };
        self.judge(&mut pen, closed)
    }

    /// Closes the piece that is open, if there is one, and hands it on.
    fn close(&self, pen: &mut WriterState, is_last: bool) -> io::Result<()> {
        let Some(piece) = &mut pen.piece else { return Ok(()) };
        piece.compressor.finish(&mut piece.frame)?;
        piece.meta.is_last = is_last;
        self.folder.close(&piece.meta, &piece.frame)?;
        let Piece { meta, compressor, frame, .. } = pen.piece.take().expect("it is there, see above");
        self.gateway.spool.compressors.give_back(compressor);
        self.gateway.spool.add(frame.len() as u64);
        self.queue.push(meta.number, frame.len() as u64);
        Ok(())
    }

    fn finish(self: &Arc<Self>) -> io::Result<()> {
        let mut pen = locked(&self.pen);
        if pen.is_finished {
            return Ok(());
        }
        pen.is_finished = true;
        let ended = self.write_end(&mut pen);
        self.judge(&mut pen, ended)
    }

    fn write_end(self: &Arc<Self>, pen: &mut WriterState) -> io::Result<()> {
        let at = self.began.elapsed();
        let mut lines = Vec::new();
        pen.output.finish(at, 'o', &mut lines);
        pen.input.finish(at, 'i', &mut lines);
        if pen.piece.is_none() {
            let at_ms = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
            pen.piece = Some(self.begin_piece(pen, at_ms)?);
        }
        if let Some(piece) = &mut pen.piece {
            piece.compressor.add(&lines, &mut piece.frame)?;
        }
        self.close(pen, true)
    }
}
