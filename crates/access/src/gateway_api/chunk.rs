//! A piece of a recording: its bytes go to the store, its hash into the database,
//! and only then the gateway may forget it.

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine, prelude::BASE64_STANDARD};
use contract::{
    id::{GatewayId, RecordingId},
    recordings::RecordingState,
};
use kernel::{Access, Tx, lifecycle::Lifecycle, work};
use protocol::{
    PROTOCOL,
    gateway::{ChunkRequest, Done, limits::MAX_CHUNK_BYTES},
};

use super::{begin, count};
use crate::{
    AccessArea,
    recordings::{self, NewChunk},
};
use fleet::node_api::Refusal;
use platform::ports::recording_store::StoreError;

pub async fn chunk(area: &AccessArea, gateway: GatewayId, request: ChunkRequest) -> Result<Done, Refusal> {
    let refused = |reason: &'static str, why: &str| {
        count(reason);
        Err(Refusal::Recording(why.to_owned()))
    };
    let bytes = BASE64_STANDARD.decode(&request.bytes).ok().filter(|it| it.len() <= MAX_CHUNK_BYTES);
    let Some(bytes) = bytes else { return refused("bad_chunk", "the data is not valid base64, or too large") };
    let Some(hash) = sha256(&request.sha256).filter(|it| digest(&SHA256, &bytes).as_ref() == it) else {
        return refused("bad_chunk", "the hash does not match the data");
    };
    if request.from > request.to || request.began_ms > request.ended_ms {
        return refused("bad_chunk", "the end is before the start");
    }
    let id = RecordingId::from(request.recording);
    let mut tx = Tx::system(&area.db, "gateways", Access::Read).await?;
    let segment = recordings::segment(&mut tx, id, request.segment, request.number).await?;
    let begins = match &segment {
        None if request.number == 0 => recordings::ordered(&mut tx, id, request.segment, gateway).await?,
        _ => None,
    };
    tx.commit().await?;
    let is_first = segment.is_none();
    let (organization, registered) = match (segment, begins) {
        (Some(segment), _) if segment.gateway == gateway => {
            if segment.state != RecordingState::Recording {
                return refused("late_chunk", "the recording is sealed");
            }
            (segment.organization, segment.registered)
        }
        (None, Some(ordered)) => (ordered.organization, None),
        _ => return refused("foreign_chunk", "the segment belongs to another gateway"),
    };
    let Some(store) = &area.recordings else {
        tracing::error!(
            "a gateway is recording, but no recording store is configured: set `recordings.folder` or `recordings.s3_url`"
        );
        return Err(Refusal::Unavailable);
    };
    let new = NewChunk {
        segment: request.segment,
        number: request.number,
        sha256: &hash,
        size_bytes: bytes.len(),
        offsets: (request.from, request.to),
        moments_ms: (request.began_ms, request.ended_ms),
        is_last: request.is_last,
    };
    // What is registered stays as it is in the store.
    match registered {
        Some(registered) if registered == hash => return Ok(Done { protocol: PROTOCOL }),
        Some(_) => return refused("other_chunk", "another chunk has this number"),
        None => (),
    }
    // Before it is registered, so that what is registered is there; else it comes again.
    let key = recordings::key(id, request.segment, request.number);
    if let Err(error) = store.put(&key, bytes.into()).await {
        let reason = match &error {
            StoreError::Away(_) => {
                tracing::warn!(%error, "a recording chunk could not be stored; its gateway will resend it");
                "away"
            }
            StoreError::Refused(_) => {
                tracing::error!(%error, "recordings cannot be stored and wait at the gateways: fix the `recordings` settings");
                "refused"
            }
        };
        metrics::counter!("gpuaas_recording_store_failures_total", "reason" => reason).increment(1);
        // The part begins all the same: its gateway keeps the pieces until they are taken.
        if is_first {
            let mut tx = begin(area, gateway, "chunk").await?;
            if !recordings::begin(&mut tx, id, gateway, &new).await? {
                return refused("foreign_chunk", "the session has ended, or uses another gateway");
            }
            tx.commit().await?;
        }
        return Err(Refusal::RecordingWaits);
    }
    let mut tx = begin(area, gateway, "chunk").await?;
    if is_first && !recordings::begin(&mut tx, id, gateway, &new).await? {
        return refused("foreign_chunk", "the session has ended, or uses another gateway");
    }
    if !recordings::add_chunk(&mut tx, organization, id, &new).await? {
        return refused("late_chunk", "the recording is sealed, or another chunk has this number");
    }
    if request.is_last {
        work::wake(&mut tx, recordings::lifecycle::RecordingLifecycle::NAME, id.uuid());
    }
    tx.commit().await?;
    metrics::counter!("gpuaas_recorded_bytes_total").increment(new.size_bytes as u64);
    Ok(Done { protocol: PROTOCOL })
}

/// A hash from its hexadecimal form.
pub fn sha256(text: &str) -> Option<Vec<u8>> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    (0..32).map(|at| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()).collect()
}
