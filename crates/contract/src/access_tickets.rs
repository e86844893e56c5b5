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
    /// Get a ticket for a terminal, a port or a web service of an allocation.
    ///
    /// The ticket is shown once, in this response, and works once. Send it to the gateway in
    /// `Sec-WebSocket-Protocol`, never in a URL.
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
    /// Get a ticket for a terminal of any allocation, with a reason (break-glass).
    ///
    /// The session is recorded if recordings are stored, and the organization's owners and administrators are
    /// notified immediately.
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
    /// The rank of the node. Default: the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// Resume the shell of this session, or take it over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<AccessSessionId>,
    /// Watch the session in `resume` instead, without input.
    #[serde(default)]
    pub watch: bool,
    /// Run this instead of a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// Without a terminal: stdout and stderr are separate, nothing is echoed, and it cannot be resumed. For
    /// pipes.
    #[serde(default)]
    pub plain: bool,
    /// Let other members with the same permission join the session.
    #[serde(default)]
    pub share: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BreakGlassSpec {
    /// Sent to the organization.
    pub reason: Reason,
    /// The rank of the node. Default: the first.
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
    /// The gateway's base URL for `/v1/terminal` and `/v1/forward`.
    pub url: String,
    /// For web services: the web service's URL. Post the ticket to `/.gpuaas/enter` there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web_url: Option<String>,
    pub expires_at: Timestamp,
}

event! {
    /// A ticket for an allocation was issued.
    AccessTicketCreated = "access_ticket.created", staff: PlatformAccessRead {
        id: AccessTicketId, project_id: ProjectId, allocation_id: AllocationId, session_id: AccessSessionId, kind: crate::Open<TicketKind>
    }
}
event! {
    /// A ticket for an allocation was issued to an operator, with a reason (break-glass).
    AccessTicketBreakGlass = "access_ticket.break_glass", staff: PlatformAccessRead {
        id: AccessTicketId, project_id: ProjectId, allocation_id: AllocationId, session_id: AccessSessionId, reason: Reason
    }
}
