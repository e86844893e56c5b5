//! Recordings: what was shown on terminals, kept in pieces whose hashes were
//! registered as they were written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Page, Raw, Timestamp, endpoint, event,
    id::{AccessSessionId, AllocationId, OrganizationId, ProjectId, RecordingId, UserId},
    list_query, moved_event,
    organizations::OrganizationPath,
    words,
};

endpoint! {
    /// List the recordings of an organization.
    ListRecordings = GET "/v1/organizations/{organization_id}/recordings" {
        path: OrganizationPath,
        query: RecordingFilter,
        returns: 200 Page<Recording>,
        auth: Organization(RecordingsRead),
        lane: Default,
        idempotency: Natural,
        audit: AuditedRead("recordings.list"),
        problems: [],
    }
}

endpoint! {
    /// Read the structure of a recording: its segments, gaps and seal.
    GetRecording = GET "/v1/organizations/{organization_id}/recordings/{recording_id}" {
        path: RecordingPath,
        returns: 200 RecordingDetail,
        auth: Organization(RecordingsRead),
        lane: Default,
        idempotency: Natural,
        audit: AuditedRead("recording.show"),
        problems: [NotFound],
    }
}

endpoint! {
    /// Download a recording as one asciicast, version 2.
    ///
    /// Times continue across segments; a gap is a marker.
    DownloadRecording = GET "/v1/organizations/{organization_id}/recordings/{recording_id}/asciicast" {
        path: RecordingPath,
        query: RecordingPart,
        returns: 200 Raw as "application/octet-stream",
        auth: Organization(RecordingsRead),
        lane: Default,
        idempotency: Natural,
        audit: AuditedRead("recording.download"),
        problems: [NotFound, Conflict, LimitReached, Unavailable],
    }
}

endpoint! {
    /// Verify a recording against its registered hashes.
    VerifyRecording = GET "/v1/organizations/{organization_id}/recordings/{recording_id}/verify" {
        path: RecordingPath,
        returns: 200 RecordingProof,
        auth: Organization(RecordingsRead),
        lane: Default,
        idempotency: Natural,
        audit: AuditedRead("recording.verify"),
        problems: [NotFound, Conflict, Unavailable],
    }
}

endpoint! {
    /// List the recordings of every organization.
    ListAllRecordings = GET "/v1/platform/recordings" {
        query: AllRecordingsFilter,
        returns: 200 Page<Recording>,
        auth: Platform(PlatformRecordingsRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.recordings.list"),
        problems: [],
    }
}

endpoint! {
    /// Download any recording as one asciicast, version 2.
    DownloadAnyRecording = GET "/v1/platform/recordings/{recording_id}/asciicast" {
        path: AnyRecordingPath,
        query: RecordingPart,
        returns: 200 Raw as "application/octet-stream",
        auth: Platform(PlatformRecordingsRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.recording.download"),
        problems: [NotFound, Conflict, LimitReached, Unavailable],
    }
}

endpoint! {
    /// Verify any recording against its registered hashes.
    VerifyAnyRecording = GET "/v1/platform/recordings/{recording_id}/verify" {
        path: AnyRecordingPath,
        returns: 200 RecordingProof,
        auth: Platform(PlatformRecordingsRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.recording.verify"),
        problems: [NotFound, Conflict, Unavailable],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RecordingPath {
    pub organization_id: OrganizationId,
    pub recording_id: RecordingId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AnyRecordingPath {
    pub recording_id: RecordingId,
}

list_query! {
    RecordingFilter {
        /// Only recordings in this state. Default: all that are stored.
        state: RecordingState,
        /// Only those of this allocation.
        allocation_id: AllocationId,
        /// Only those of this person.
        user_id: UserId,
        /// Only those that started at or after this time.
        since: Timestamp,
        /// Only those that started before this time.
        until: Timestamp,
    }
}

list_query! {
    AllRecordingsFilter {
        /// Only recordings in this state. Default: all that are stored.
        state: RecordingState,
        /// Only those of this organization.
        organization_id: OrganizationId,
        /// Only those of this allocation.
        allocation_id: AllocationId,
        /// Only those of this person.
        user_id: UserId,
        /// Only those that started at or after this time.
        since: Timestamp,
        /// Only those that started before this time.
        until: Timestamp,
    }
}

/// The part of a recording. Default: all of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordingPart {
    /// Omit chunks that end before this time, in seconds since the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_s: Option<u64>,
    /// Omit chunks that start after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_s: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recording {
    pub id: RecordingId,
    pub organization_id: OrganizationId,
    pub project_id: ProjectId,
    pub allocation_id: AllocationId,
    pub session_id: AccessSessionId,
    /// Who was recorded: `user:` or `service_account:` and an id.
    pub opened_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    pub state: Open<RecordingState>,
    pub version: i64,
    /// Whether input is recorded too.
    pub has_input: bool,
    /// Its duration.
    pub duration_ms: u64,
    /// Its stored size.
    pub size_bytes: u64,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_at: Option<Timestamp>,
    /// SHA-256 over the hashes of all chunks, in hex; also in the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordingDetail {
    pub recording: Recording,
    pub segments: Vec<RecordingSegment>,
    pub gaps: Vec<RecordingGap>,
}

/// A part that one gateway wrote continuously.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordingSegment {
    pub number: u32,
    pub pieces: u32,
    /// Offsets of the output in it.
    pub from: u64,
    pub to: u64,
    pub began_ms: u64,
    pub ended_ms: u64,
    /// Whether its gateway finished it.
    pub is_complete: bool,
}

/// Output that is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordingGap {
    pub after_segment: u32,
    pub from: u64,
    pub to: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordingProof {
    pub recording_id: RecordingId,
    pub is_intact: bool,
    /// How many chunks were verified.
    pub pieces: u32,
    pub root: String,
    /// The errors, chunk by chunk.
    pub problems: Vec<String>,
}

words! {
    RecordingState {
        Recording = "recording",
        Sealed = "sealed",
        Deleted = "deleted",
    }
}

event! {
    /// The recording of a session started.
    RecordingCreated = "recording.created", staff: PlatformRecordingsRead {
        id: RecordingId,
        session_id: AccessSessionId,
    }
}
moved_event! {
    /// A recording is complete, and its hash is in the audit log.
    RecordingSealed = "recording.sealed", staff: PlatformRecordingsRead
}
moved_event! {
    /// A recording was deleted at the end of its retention.
    RecordingDeleted = "recording.deleted", staff: PlatformRecordingsRead
}
