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
    /// End a session: one's own, or anybody's for administrators.
    ///
    /// A shell that nobody is connected to hangs up when its grace is over.
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
    /// End anybody's session.
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
        /// Only sessions in this state; those that are not over when not said.
        state: AccessSessionState,
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
    AllAccessSessionsFilter {
        /// Only sessions in this state; those that are not over when not said.
        state: AccessSessionState,
        /// Only those of this organization.
        organization_id: OrganizationId,
        /// Only those of this allocation.
        allocation_id: AllocationId,
        /// Only those of this person.
        user_id: UserId,
        /// Only those through this gateway.
        gateway_id: GatewayId,
        /// Only those that began at this time or later.
        since: Timestamp,
        /// Only those that began before this time.
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
    /// Who: `user:` or `service_account:` and an id.
    pub opened_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// Whence the person came.
    pub address: String,
    /// The gateway that it goes through, or went through last.
    pub gateway_id: GatewayId,
    /// Whether other members may join it.
    pub is_shared: bool,
    /// The session that it looks on at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watches: Option<AccessSessionId>,
    /// Why an operator of the platform is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_glass: Option<String>,
    pub state: Open<AccessSessionState>,
    pub version: i64,
    pub state_since: Timestamp,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// How often its reader made it wait.
    pub stalls: u64,
    pub created_at: Timestamp,
    /// When it ends whatever happens.
    pub ends_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Why it ended, or lost its reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the shell exited with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What was recorded of it.
    pub recording_ids: Vec<RecordingId>,
}

words! {
    AccessSessionState {
        /// A gateway got leave to open it.
        Opening = "opening",
        Open = "open",
        /// Nobody is connected; the shell waits for its person.
        Detached = "detached",
        Ended = "ended",
    }
}

words! {
    /// How somebody came in.
    AccessKind { Terminal = "terminal", Tcp = "tcp", Http = "http", Ssh = "ssh" }
}

event! {
    /// A ticket or a key was accepted, and a session begins.
    AccessSessionCreated = "access_session.created" {
        id: AccessSessionId, project_id: ProjectId, allocation_id: AllocationId, kind: Open<AccessKind>
    }
}
moved_event! {
    /// Its gateway carries it.
    AccessSessionOpened = "access_session.opened"
}
moved_event! {
    /// Nobody is connected to it any more; it may be resumed for a while.
    AccessSessionDetached = "access_session.detached"
}
moved_event! {
    /// Somebody came back to it.
    AccessSessionResumed = "access_session.resumed"
}
moved_event! {
    /// It is over.
    AccessSessionEnded = "access_session.ended"
}
