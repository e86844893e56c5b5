//! Access sessions: who is, or was, inside an allocation, from where and how.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Page, Timestamp, endpoint, event,
    id::{AccessSessionId, AllocationId, GatewayId, NodeId, OrganizationId, ProjectId, RecordingId, UserId},
    list_query, moved_event,
    organizations::{Because, OrganizationPath},
    words,
};

endpoint! {
    /// List the sessions of an organization.
    ListAccessSessions = GET "/v1/organizations/{organization_id}/access-sessions" {
        path: OrganizationPath,
        query: AccessSessionFilter,
        returns: 200 Page<AccessSession>,
        auth: Organization(AccessRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Read one session.
    GetAccessSession = GET "/v1/organizations/{organization_id}/access-sessions/{access_session_id}" {
        path: AccessSessionPath,
        returns: 200 AccessSession,
        auth: Organization(AccessRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// End a session: your own, or any session for administrators.
    ///
    /// A disconnected shell ends when its grace period is over.
    EndAccessSession = POST "/v1/organizations/{organization_id}/access-sessions/{access_session_id}/end" {
        path: AccessSessionPath,
        returns: 200 AccessSession,
        auth: Organization(AccessWrite),
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("access_session.end"),
        problems: [NotFound, Conflict, Forbidden, Suspended],
    }
}

endpoint! {
    /// List the sessions of every organization.
    ListAllAccessSessions = GET "/v1/platform/access-sessions" {
        query: AllAccessSessionsFilter,
        returns: 200 Page<AccessSession>,
        auth: Platform(PlatformAccessRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.access_sessions.list"),
        problems: [],
    }
}

endpoint! {
    /// End any session.
    EndAnyAccessSession = POST "/v1/platform/access-sessions/{access_session_id}/end" {
        path: AnyAccessSessionPath,
        body: Because,
        returns: 200 AccessSession,
        auth: Platform(PlatformAccessWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("access_session.force_end"),
        problems: [NotFound, Conflict],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AccessSessionPath {
    pub organization_id: OrganizationId,
    pub access_session_id: AccessSessionId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AnyAccessSessionPath {
    pub access_session_id: AccessSessionId,
}

list_query! {
    AccessSessionFilter {
        /// Only sessions in this state. Default: all that have not ended.
        state: AccessSessionState,
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
    AllAccessSessionsFilter {
        /// Only sessions in this state. Default: all that have not ended.
        state: AccessSessionState,
        /// Only those of this organization.
        organization_id: OrganizationId,
        /// Only those of this allocation.
        allocation_id: AllocationId,
        /// Only those of this person.
        user_id: UserId,
        /// Only those through this gateway.
        gateway_id: GatewayId,
        /// Only those that started at or after this time.
        since: Timestamp,
        /// Only those that started before this time.
        until: Timestamp,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccessSession {
    pub id: AccessSessionId,
    pub organization_id: OrganizationId,
    pub project_id: ProjectId,
    pub allocation_id: AllocationId,
    pub node_id: NodeId,
    pub kind: Open<AccessKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The person or program: `user:` or `service_account:` and an id.
    pub opened_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// The client's address.
    pub address: String,
    /// The current or last gateway.
    pub gateway_id: GatewayId,
    /// Whether other members can join it.
    pub is_shared: bool,
    /// The session that it watches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watches: Option<AccessSessionId>,
    /// The operator's reason for break-glass access.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_glass: Option<String>,
    pub state: Open<AccessSessionState>,
    pub version: i64,
    pub state_since: Timestamp,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// How often output paused because the reader was slow.
    pub stalls: u64,
    pub created_at: Timestamp,
    /// When it ends at the latest.
    pub ends_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Why it ended or was disconnected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The shell's exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Its recordings.
    pub recording_ids: Vec<RecordingId>,
}

words! {
    AccessSessionState {
        /// A gateway is authorized to open it.
        Opening = "opening",
        Open = "open",
        /// Disconnected; the shell waits for its owner.
        Detached = "detached",
        Ended = "ended",
    }
}

words! {
    /// How somebody connected.
    AccessKind { Terminal = "terminal", Tcp = "tcp", Http = "http", Ssh = "ssh" }
}

event! {
    /// A ticket or key was accepted, and a session starts.
    AccessSessionCreated = "access_session.created", staff: PlatformAccessRead {
        id: AccessSessionId, project_id: ProjectId, allocation_id: AllocationId, kind: Open<AccessKind>
    }
}
moved_event! {
    /// The session is connected through its gateway.
    AccessSessionOpened = "access_session.opened", staff: PlatformAccessRead
}
moved_event! {
    /// The session is disconnected and can be resumed during the grace period.
    AccessSessionDetached = "access_session.detached", staff: PlatformAccessRead
}
moved_event! {
    /// The session was resumed.
    AccessSessionResumed = "access_session.resumed", staff: PlatformAccessRead
}
moved_event! {
    /// The session ended.
    AccessSessionEnded = "access_session.ended", staff: PlatformAccessRead
}
