//! Access tickets: each opens one way into an allocation, once and soon, at any
//! gateway of its region.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Reason, ShownSecret, Timestamp, Within,
    allocations::{AllocationPath, AnyAllocationPath},
    endpoint, event,
    id::{AccessSessionId, AccessTicketId, AllocationId, NodeId, ProjectId},
    words,
};

endpoint! {
    /// Get a ticket for a terminal, a port or an app of an allocation.
    ///
    /// The ticket is shown once, in this answer, works once, and goes to the
    /// gateway in `Sec-WebSocket-Protocol`, never in an address.
    CreateAccessTicket = POST "/v1/projects/{project_id}/allocations/{allocation_id}/access-tickets" {
        path: AllocationPath,
        body: AccessTicketSpec,
        returns: 201 NewAccessTicket,
        auth: Project(AccessWrite),
        lane: Terminal,
        idempotency: KeyRequiredSealed,
        audit: Action("access_ticket.create"),
        problems: [AccessRefused, Conflict, InvalidValue, LimitReached, NotFound, Suspended, Unavailable],
    }
}

endpoint! {
    /// Get a ticket for a terminal of anybody's allocation, for a reason.
    ///
    /// It is recorded where recordings are kept, and the owners and
    /// administrators of the organization are told at once.
    BreakGlass = POST "/v1/platform/allocations/{allocation_id}/break-glass" {
        path: AnyAllocationPath,
        body: BreakGlassSpec,
        returns: 201 NewAccessTicket,
        auth: Platform(PlatformAccessWrite),
        lane: Terminal,
        idempotency: KeyRequiredSealed,
        audit: Action("access_ticket.break_glass"),
        problems: [AccessRefused, Conflict, InvalidValue, LimitReached, NotFound, Unavailable],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessTicketSpec {
    pub kind: TicketKind,
    /// For `tcp` and `http`: the port on which the allocation listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<Within<1, 65535>>,
    /// Which of its nodes; the first when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// Come back to the shell of this session, or take it over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<AccessSessionId>,
    /// Look on at the session in `resume` instead, without typing.
    #[serde(default)]
    pub watch: bool,
    /// Run this instead of a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// Without a terminal: output and errors come apart, nothing is echoed, and it
    /// cannot be resumed. For pipes.
    #[serde(default)]
    pub plain: bool,
    /// Let other members with the same permission join the session.
    #[serde(default)]
    pub share: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BreakGlassSpec {
    /// Told to the organization.
    pub reason: Reason,
    /// Which of its nodes; the first when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
}

text! {
    /// What the login shell runs.
    Command {
        schema: { "type": "string", "minLength": 1, "maxLength": 4096, "pattern": r"^[^\x00]+$" },
        rule: |text| (1..=4096).contains(&text.len()) && !text.contains('\0'),
        otherwise: "a command has 1 to 4096 bytes",
    }
}

words! {
    /// What a ticket opens.
    TicketKind { Terminal = "terminal", Tcp = "tcp", Http = "http" }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NewAccessTicket {
    pub ticket: ShownSecret,
    /// The session that it opens or joins.
    pub session_id: AccessSessionId,
    /// The gateway: `/v1/terminal` and `/v1/forward` are below it.
    pub url: String,
    /// For apps: where the app is. The ticket is posted to `/.gpuaas/enter` there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_url: Option<String>,
    pub expires_at: Timestamp,
}

event! {
    /// Somebody got a ticket into an allocation.
    AccessTicketCreated = "access_ticket.created" {
        id: AccessTicketId, project_id: ProjectId, allocation_id: AllocationId, session_id: AccessSessionId, kind: crate::Open<TicketKind>
    }
}
event! {
    /// An operator got a ticket into an allocation of an organization, for a reason.
    AccessTicketBreakGlass = "access_ticket.break_glass" {
        id: AccessTicketId, project_id: ProjectId, allocation_id: AllocationId, session_id: AccessSessionId, reason: Reason
    }
}
