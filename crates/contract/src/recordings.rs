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
    /// Read what a recording consists of: its segments, gaps and seal.
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
    /// Times run on across segments; a gap is a marker.
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
    /// Compare what is stored of a recording with the hashes that were registered.
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
    /// Download anybody's recording as one asciicast, version 2.
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
    /// Compare what is stored of anybody's recording with the hashes that were registered.
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
        /// Only recordings in this state; those that are kept when not said.
        state: RecordingState,
        /// Only those of this allocation.
        allocation_id: AllocationId,
        /// Only those of this person.
        user_id: UserId,
        /// Only those that began at this time or later.
        since: Timestamp,
        /// Only those that began before this time.
        until: Timestamp,
    }
}

list_query! {
    AllRecordingsFilter {
        /// Only recordings in this state; those that are kept when not said.
        state: RecordingState,
        /// Only those of this organization.
        organization_id: OrganizationId,
        /// Only those of this allocation.
        allocation_id: AllocationId,
        /// Only those of this person.
        user_id: UserId,
        /// Only those that began at this time or later.
        since: Timestamp,
        /// Only those that began before this time.
        until: Timestamp,
    }
}

/// Which part of a recording is wanted; all of it when not said.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordingPart {
    /// Pieces that end before this moment are left out; in seconds since it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_s: Option<u64>,
    /// Pieces that begin after this moment are left out.
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
    /// Whether what was typed is kept as well.
    pub has_input: bool,
    /// How long it is.
    pub duration_ms: u64,
    /// What is stored of it.
    pub size_bytes: u64,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_at: Option<Timestamp>,
    /// SHA-256 over the hashes of all pieces, in hex; also in the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordingDetail {
    pub recording: Recording,
    pub segments: Vec<RecordingSegment>,
    pub gaps: Vec<RecordingGap>,
}

/// What one gateway wrote in one go.
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

/// Output that no piece holds.
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
    /// How many pieces were compared.
    pub pieces: u32,
    pub root: String,
    /// What is wrong, piece by piece.
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
    /// What is shown in a session is being recorded.
    RecordingCreated = "recording.created" { id: RecordingId, session_id: AccessSessionId }
}
moved_event! {
    /// A recording is complete, and its hash is in the audit log.
    RecordingSealed = "recording.sealed"
}
moved_event! {
    /// A recording was deleted, because it was kept for as long as policy says.
    RecordingDeleted = "recording.deleted"
}
