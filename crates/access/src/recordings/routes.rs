//! Reading recordings: every look leaves an audit entry.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use contract::{
    Code, Page, Raw,
    id::RecordingId,
    recordings::{
        AllRecordingsFilter, DownloadAnyRecording, DownloadRecording, GetRecording, ListAllRecordings, ListRecordings,
        Recording, RecordingDetail, RecordingFilter, RecordingPart, RecordingProof, RecordingState, VerifyAnyRecording,
        VerifyRecording,
    },
};

use super::{
    download::{self, Download},
    key, seal,
    store::{self, Chunk},
    turns::Turn,
};
use crate::AccessArea;
use platform::{
    http::{Call, Failure, Handle, Request, unavailable},
    ports::recording_store::{RecordingStore, StoreError},
};

// bound: pieces that one request reads; a day at one a second
const MAX_PIECES: usize = 86_400;
// bound: named in one answer
const MAX_PROBLEMS: usize = 100;

impl Handle<ListRecordings> for AccessArea {
    async fn handle(&self, call: &mut Call, request: Request<ListRecordings>) -> Result<Page<Recording>, Failure> {
        let RecordingFilter { state, allocation_id, user_id, since, until, cursor, limit } = request.query;
        let organization_id = Some(call.organization());
        let filter =
            AllRecordingsFilter { organization_id, state, allocation_id, user_id, since, until, cursor, limit };
        let rows = store::list(&mut call.tx, &filter).await?;
        Ok(Page::cut(rows, limit, |it| it.id.uuid()))
    }
}

impl Handle<ListAllRecordings> for AccessArea {
    async fn handle(&self, call: &mut Call, request: Request<ListAllRecordings>) -> Result<Page<Recording>, Failure> {
        let rows = store::list(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<GetRecording> for AccessArea {
    async fn handle(&self, call: &mut Call, request: Request<GetRecording>) -> Result<RecordingDetail, Failure> {
        let recording = found(call, request.path.recording_id).await?;
        let chunks = store::chunks(&mut call.tx, recording.id, MAX_PIECES as i64).await?;
        let known = store::segments(&mut call.tx, recording.id).await?;
        Ok(RecordingDetail { segments: seal::segments(&known, &chunks), gaps: seal::gaps(&chunks), recording })
    }
}

impl Handle<DownloadRecording> for AccessArea {
    async fn handle(&self, call: &mut Call, request: Request<DownloadRecording>) -> Result<Raw, Failure> {
        self.download(call, request.path.recording_id, &request.query).await
    }
}

impl Handle<DownloadAnyRecording> for AccessArea {
    async fn handle(&self, call: &mut Call, request: Request<DownloadAnyRecording>) -> Result<Raw, Failure> {
        self.download(call, request.path.recording_id, &request.query).await
    }
}

impl Handle<VerifyRecording> for AccessArea {
    async fn handle(&self, call: &mut Call, request: Request<VerifyRecording>) -> Result<RecordingProof, Failure> {
        self.verify(call, request.path.recording_id).await
    }
}

impl Handle<VerifyAnyRecording> for AccessArea {
    async fn handle(&self, call: &mut Call, request: Request<VerifyAnyRecording>) -> Result<RecordingProof, Failure> {
        self.verify(call, request.path.recording_id).await
    }
}

impl AccessArea {
    async fn download(&self, call: &mut Call, id: RecordingId, part: &RecordingPart) -> Result<Raw, Failure> {
        let turn = self.turn(call)?;
        let recording = kept(call, id).await?;
        let store = self.recording_store()?;
        let starts = store::segments(&mut call.tx, id).await?;
        let starts = starts.into_iter().map(|(number, _, after)| (number, after.as_secs_f64())).collect();
        let mut chunks = store::chunks(&mut call.tx, id, MAX_PIECES as i64 + 1).await?;
        chunks.retain(|it| is_within(it, part));
        if chunks.len() > MAX_PIECES {
            return Err(too_long());
        }
        call.note("session", recording.session_id.to_string());
        let mut download = Download::new(store, id, starts, &chunks);
        drop(chunks);
        // The store is asked without a connection; what is wrong with the beginning is still a problem.
        let first = call.tx.aside(download.next()).await?.map_err(of_download)?;
        call.stream(download.into_body(first, turn));
        Ok(Raw { bytes: Vec::new(), file_name: format!("{id}.cast") })
    }

    async fn verify(&self, call: &mut Call, id: RecordingId) -> Result<RecordingProof, Failure> {
        let _turn = self.turn(call)?;
        let recording = kept(call, id).await?;
        let store = self.recording_store()?;
        let chunks = store::chunks(&mut call.tx, id, MAX_PIECES as i64).await?;
        // The store is asked without a connection.
        let mut problems = call.tx.aside(differences(&*store, id, &chunks)).await??;
        let root = seal::root(id, &chunks);
        if recording.root.as_ref().is_some_and(|it| *it != root) {
            problems.push("the registered hashes differ from the sealed ones".into());
        }
        call.note("is_intact", problems.is_empty());
        let pieces = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
        Ok(RecordingProof { recording_id: id, is_intact: problems.is_empty(), pieces, root, problems })
    }

    fn turn(&self, call: &Call) -> Result<Turn, Failure> {
        Ok(self.downloads.take(call.caller.actor().as_str(), call.organization_if_any())?)
    }

    fn recording_store(&self) -> Result<Arc<dyn RecordingStore>, Failure> {
        let missing = || unavailable("this installation has no recording store; set `recordings.folder`");
        Ok(self.recordings.clone().ok_or_else(missing)?)
    }
}

async fn found(call: &mut Call, id: RecordingId) -> Result<Recording, Failure> {
    let recording = store::get(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("recording"))?;
    call.about_organization(recording.organization_id);
    Ok(recording)
}

async fn kept(call: &mut Call, id: RecordingId) -> Result<Recording, Failure> {
    let recording = found(call, id).await?;
    if recording.state == RecordingState::Deleted {
        return Err(Failure::new(
            Code::Conflict,
            "the recording was deleted at the end of its retention (`access.recording_days`)",
        ));
    }
    Ok(recording)
}

/// The pieces that are missing or are not what was registered.
async fn differences(store: &dyn RecordingStore, id: RecordingId, chunks: &[Chunk]) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    for chunk in chunks {
        let wrong = match read(store, id, chunk).await? {
            None => "is not in the store",
            Some(bytes) if digest(&SHA256, &bytes).as_ref() != chunk.sha256 => "was altered",
            Some(_) => continue,
        };
        if problems.len() < MAX_PROBLEMS {
            problems.push(format!("chunk {} of segment {} {wrong}", chunk.number, chunk.segment));
        }
    }
    Ok(problems)
}

async fn read(store: &dyn RecordingStore, id: RecordingId, chunk: &Chunk) -> Result<Option<bytes::Bytes>, Failure> {
    let read = store.get(&key(id, chunk.segment, chunk.number)).await;
    read.map_err(|error| of_store(id, error))
}

fn of_store(id: RecordingId, error: StoreError) -> Failure {
    tracing::warn!(%error, recording = %id, "the recording store failed");
    let detail = match error {
        StoreError::Away(_) => "the recording store does not respond",
        StoreError::Refused(_) => "the recording store denies access to this server; an operator must check its keys",
    };
    unavailable(detail).into()
}

fn of_download(error: download::DownloadError) -> Failure {
    match error {
        download::DownloadError::Store { recording, source } => of_store(recording, source),
        error @ (download::DownloadError::Missing { .. } | download::DownloadError::Assemble(_)) => {
            Failure::new(Code::Conflict, error)
        }
    }
}

fn is_within(chunk: &Chunk, part: &RecordingPart) -> bool {
    let from = part.from_s.is_none_or(|it| chunk.ended_ms >= it.saturating_mul(1000));
    let to = part.to_s.is_none_or(|it| chunk.began_ms <= it.saturating_mul(1000));
    from && to
}

fn too_long() -> Failure {
    let detail = format!("it has more than {MAX_PIECES} chunks; request parts with `from_s` and `to_s`");
    Failure::new(Code::LimitReached, detail)
}
