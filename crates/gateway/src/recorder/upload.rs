//! Hands closed pieces to the control plane, in their order, until it has them.
//! What an earlier run of the gateway left behind is handed on at the start.

use super::compress::Compressors;
use super::segment::{Folder, Meta};
use crate::{Gateway, locked};
use base64::{Engine, prelude::BASE64_STANDARD};
use protocol::PROTOCOL;
use protocol::agent_binary::sha256_hex;
use protocol::gateway::{ChunkRequest, refusals};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, io};
use tokio::sync::{Notify, Semaphore, watch};

const FIRST_PAUSE: Duration = Duration::from_millis(200); // bound: a restart of the API takes longer
const LONGEST_PAUSE: Duration = Duration::from_secs(5); // bound: room on disk is waited for
const AT_ONCE: usize = 4; // bound: recordings of an earlier run must not slow those of this one

/// How far a part of a recording is known to the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Progress {
    /// The control plane has not seen its first piece: the part does not exist yet.
    Waiting,
    Begun,
    /// Nothing more will be handed on.
    Over,
}

/// The pieces of one recording that wait on disk.
pub struct Queue {
    pieces: Mutex<VecDeque<(u32, u64)>>,
    more: Notify,
    /// Told when a piece has gone.
    pub room: Notify,
    progress: watch::Sender<Progress>,
    is_abandoned: AtomicBool,
}

impl Queue {
    pub fn new() -> (Arc<Self>, watch::Receiver<Progress>) {
        let (progress, told) = watch::channel(Progress::Waiting);
        let queue = Self {
            pieces: Mutex::default(),
            more: Notify::new(),
            room: Notify::new(),
            progress,
            is_abandoned: AtomicBool::new(false),
        };
        (Arc::new(queue), told)
    }

    pub fn push(&self, number: u32, bytes: u64) {
        locked(&self.pieces).push_back((number, bytes));
        self.more.notify_one();
    }

    /// No more will come, and not the last one either.
    pub fn abandon(&self) {
        self.is_abandoned.store(true, Relaxed);
        self.more.notify_one();
    }

    /// How many bytes wait.
    pub fn waiting(&self) -> u64 {
        locked(&self.pieces).iter().map(|(_, bytes)| bytes).sum()
    }

    /// The control plane knows the part.
    fn begun(&self) {
        self.progress.send_if_modified(|it| {
            let was_waiting = *it == Progress::Waiting;
            *it = (*it).max(Progress::Begun);
            was_waiting
        });
    }

    fn first(&self) -> Option<(u32, u64)> {
        locked(&self.pieces).front().copied()
    }
}

/// Hands on the pieces of one part until the last of them has gone.
pub async fn run(gateway: Arc<Gateway>, folder: Folder, queue: Arc<Queue>) {
    loop {
        let Some((number, bytes)) = queue.first() else {
            if queue.is_abandoned.load(Relaxed) {
                queue.progress.send_replace(Progress::Over);
                return;
            }
            queue.more.notified().await;
            continue;
        };
        match hand_on(&gateway, &folder, &queue, number).await {
            Ok(is_last) => {
                locked(&queue.pieces).pop_front();
                gateway.spool.subtract(bytes);
                queue.room.notify_waiters();
                if is_last {
                    break;
                }
                queue.begun();
            }
            Err(error) => {
                let waiting = queue.waiting();
                let pieces = std::mem::take(&mut *locked(&queue.pieces)).len();
                gateway.spool.subtract(waiting);
                queue.room.notify_waiters();
                give_up(&folder, number, pieces, &error);
                queue.progress.send_replace(Progress::Over);
                return;
            }
        }
    }
    if let Err(error) = folder.remove() {
        tracing::warn!(folder = %folder.path().display(), %error, "the folder of a finished recording could not be removed");
    }
    queue.progress.send_replace(Progress::Over);
}

/// What becomes of a part that the control plane does not take. One that has its
/// header alone holds nothing: nothing is shown before the part is known.
fn give_up(folder: &Folder, number: u32, pieces: usize, error: &HandOnError) {
    if number == 0 && pieces == 1 && matches!(error, HandOnError::Refused(_)) {
        tracing::info!(folder = %folder.path().display(), %error, "a part of a recording is empty");
        let _ = folder.remove();
        return;
    }
    tracing::error!(folder = %folder.path().display(), %error, "an invalid recording was moved aside for inspection");
    metrics::gauge!("gpuaas_gateway_recordings_set_aside").increment(1.0);
    let _ = folder.set_aside();
}

#[derive(Debug, thiserror::Error)]
enum HandOnError {
    #[error("a recording chunk cannot be read")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Refused(crate::control::ControlError),
}

/// Hands on one piece; says whether it was the last.
async fn hand_on(gateway: &Gateway, folder: &Folder, queue: &Queue, number: u32) -> Result<bool, HandOnError> {
    let reading = folder.clone();
    let read = tokio::task::spawn_blocking(move || reading.chunk(number)).await.map_err(io::Error::other)?;
    let (meta, bytes) = read?;
    let Meta { recording, segment, number, from, to, began_ms, ended_ms, is_last } = meta;
    let request = ChunkRequest {
        protocol: PROTOCOL,
        recording,
        segment,
        number,
        sha256: sha256_hex(&bytes),
        bytes: BASE64_STANDARD.encode(&bytes),
        from,
        to,
        began_ms,
        ended_ms,
        is_last,
    };
    drop(bytes);
    let mut pause = FIRST_PAUSE;
    loop {
        match gateway.control.chunk(&request).await {
            Ok(_) => break,
            Err(error) if error.is_refusal() => return Err(HandOnError::Refused(error)),
            Err(error) => {
                if error.is(refusals::RECORDING_WAITS) {
                    queue.begun();
                }
                tracing::debug!(%recording, %error, "a recording chunk could not be uploaded yet");
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    folder.remove_chunk(number)?;
    Ok(is_last)
}

/// Repairs what an earlier run left, and begins to hand it on.
pub async fn recover(gateway: Arc<Gateway>) {
    let spool = gateway.spool.path.clone();
    let folders = tokio::task::spawn_blocking(move || left_behind(&spool)).await;
    let folders = match folders.map_err(io::Error::other) {
        Ok(Ok(folders)) => folders,
        Ok(Err(error)) | Err(error) => {
            return tracing::error!(%error, "recordings of an earlier run cannot be read; check the spool directory");
        }
    };
    tokio::spawn(hand_on_all(gateway, folders));
}

async fn hand_on_all(gateway: Arc<Gateway>, folders: Vec<LeftoverFolder>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    for (folder, numbers, bytes) in folders {
        tracing::info!(folder = %folder.path().display(), "a recording of an earlier run is being uploaded");
        let (queue, _) = Queue::new();
        gateway.spool.add(bytes);
        // The sum is what counts for the whole; each piece gives back its own.
        let mut rest = bytes;
        for number in &numbers {
            let own = if Some(number) == numbers.last() { rest } else { bytes / numbers.len() as u64 };
            rest -= own;
            queue.push(*number, own);
        }
        let place = places.clone().acquire_owned().await.expect("the semaphore is never closed");
        let gateway = gateway.clone();
        tokio::spawn(async move {
            run(gateway, folder, queue).await;
            drop(place);
        });
    }
}

type LeftoverFolder = (Folder, Vec<u32>, u64);

fn left_behind(spool: &std::path::Path) -> io::Result<Vec<LeftoverFolder>> {
    fs::create_dir_all(spool)?;
    let compressors = Compressors::default();
    let compress = |text: &[u8]| {
        let (mut compressor, mut out) = (compressors.lend()?, Vec::new());
        compressor.add(text, &mut out)?;
        compressor.finish(&mut out)?;
        compressors.give_back(compressor);
        Ok(out)
    };
    let mut left = Vec::new();
    let set_aside = metrics::gauge!("gpuaas_gateway_recordings_set_aside");
    set_aside.set(0.0);
    for entry in fs::read_dir(spool)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "refused") {
            set_aside.increment(1.0);
        }
        if path.extension().is_some() || !path.is_dir() {
            continue;
        }
        let folder = Folder::at(path);
        match folder.repair(compress).and_then(|()| folder.chunks()) {
            Ok((numbers, bytes)) if !numbers.is_empty() => left.push((folder, numbers, bytes)),
            Ok(_) => folder.remove()?,
            Err(error) => {
                tracing::error!(folder = %folder.path().display(), %error, "a recording cannot be repaired; it was moved aside");
                set_aside.increment(1.0);
                folder.set_aside()?;
            }
        }
    }
    Ok(left)
}
