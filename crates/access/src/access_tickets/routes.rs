//! Getting tickets: for one's own allocations, and for anybody's in need.

use contract::{
    Code, Open, ShownSecret, Word,
    access_sessions::AccessSessionState,
    access_tickets::{
        AccessTicketBreakGlass, AccessTicketCreated, AccessTicketSpec, BreakGlass, CreateAccessTicket, NewAccessTicket,
        TicketKind,
    },
    allocations::{Allocation, AllocationState},
    id::{AccessSessionId, NodeId},
};
use kernel::clock;

use super::store::Ticket;
use crate::{
    AccessArea,
    access_sessions::{self},
};
use compute::allocations;
use fleet::gateways;
use people::credentials::Credential;
use platform::policies::RecordingMode;
use platform::{
    events::emit,
    http::{Call, Failure, Handle, ProblemBuilder, Request, unavailable},
    policies::{self, ProjectPolicies, settings},
};

impl Handle<CreateAccessTicket> for AccessArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateAccessTicket>) -> Result<NewAccessTicket, Failure> {
        let (path, spec) = (request.path, request.body);
        self.admit_ticket(call).await?;
        let allocation = allocations::find(&mut call.tx, path.allocation_id).await?;
        let allocation = allocation.filter(|it| it.project_id == path.project_id);
        let allocation = allocation.ok_or_else(|| Failure::not_found("allocation"))?;
        check_form(&spec)?;
        let joined = match spec.resume {
            None => None,
            Some(id) => Some(joinable(call, &allocation, id, spec.watch).await?),
        };
        self.check_policy(call, &allocation, &spec).await?;
        let node = match joined {
            Some(node) => node,
            None => node_of(&allocation, spec.node_id)?,
        };
        // Who looks on has a session of their own.
        let session = spec.resume.filter(|_| !spec.watch).unwrap_or_else(AccessSessionId::generate);
        let ticket = Ticket {
            kind: spec.kind.as_str().to_owned(),
            port: spec.port.map(|it| it.to()),
            resumes: spec.resume.map(|it| it.uuid()),
            is_watching: spec.watch,
            is_shared: spec.share,
            command: spec.command.map(|it| it.into_string()),
            is_plain: spec.plain,
            ..blank(call, &allocation, session, node)
        };
        self.hand_out(call, &allocation, ticket, spec.kind).await
    }
}

impl Handle<BreakGlass> for AccessArea {
    async fn handle(&self, call: &mut Call, request: Request<BreakGlass>) -> Result<NewAccessTicket, Failure> {
        self.admit_ticket(call).await?;
        let allocation = allocations::find(&mut call.tx, request.path.allocation_id).await?;
        let allocation = allocation.ok_or_else(|| Failure::not_found("allocation"))?;
        call.about_organization(allocation.organization_id);
        call.note("reason", request.body.reason.as_str());
        let (node, session) = (node_of(&allocation, request.body.node_id)?, AccessSessionId::generate());
        let ticket = Ticket {
            break_glass: Some(request.body.reason.as_str().to_owned()),
            ..blank(call, &allocation, session, node)
        };
        self.hand_out(call, &allocation, ticket, TicketKind::Terminal).await
    }
}

impl AccessArea {
    async fn admit_ticket(&self, call: &Call) -> Result<(), Failure> {
        let (who, most) = (call.caller.actor(), self.policies.number(settings::RATE_TICKET));
        let admitted = self.limiter.admit("terminal_ticket", who.as_str(), most).await;
        admitted.map_err(|wait| ProblemBuilder::new(Code::TooManyRequests, "too many tickets").after(wait).into())
    }

    /// Refuses early what the exchange would refuse.
    async fn check_policy(&self, call: &mut Call, of: &Allocation, spec: &AccessTicketSpec) -> Result<(), Failure> {
        let place = policies::PolicyScope { organization: of.organization_id.uuid(), project: of.project_id.uuid() };
        let mut here = ProjectPolicies { tx: &mut call.tx, place };
        let mode = RecordingMode::parse(here.choice(settings::ACCESS_RECORDING).await?);
        let refused = |detail: String| Err(Failure::new(Code::AccessRefused, detail));
        if mode == RecordingMode::Required {
            if spec.kind != TicketKind::Terminal {
                return refused("`access.recording` is `required`, and only terminals are recorded".into());
            }
            if self.recordings.is_none() {
                return refused(
                    "`access.recording` is `required`, but this installation has no recording store".into(),
                );
            }
        }
        if let Some(port) = spec.port {
            let ports = here.ports(settings::ACCESS_TCP_PORTS).await?;
            if !ports.holds(port.to()) {
                return refused(format!("`access.tcp_ports` is {ports}, which does not include {port}"));
            }
        }
        Ok(())
    }

    async fn hand_out(
        &self,
        call: &mut Call,
        allocation: &Allocation,
        ticket: Ticket,
        kind: TicketKind,
    ) -> Result<NewAccessTicket, Failure> {
        if allocation.state != AllocationState::Active {
            let detail = format!("the allocation is {}; you can only connect while it is active", allocation.state);
            return Err(Failure::new(Code::Conflict, detail));
        }
        let silent = settings::seconds(self.policies.number(settings::ACCESS_GATEWAY_SECONDS));
        let door = gateways::door_for(&mut call.tx, ticket.node_id.into(), silent).await?;
        let door = door.ok_or_else(|| Failure::from(unavailable("no gateway is online in the allocation's region")))?;
        let seconds = self.policies.number(settings::ACCESS_TICKET_SECONDS);
        let expires_at = clock::now(&mut call.tx).await? + settings::seconds(seconds);
        let (id, text) = super::mint(&mut call.tx, &ticket, expires_at).await?;
        call.about(id);
        call.note("allocation", allocation.id.to_string());
        call.note("session", ticket.session().to_string());
        call.note("kind", kind.as_str());
        let (project_id, allocation_id, session_id) = (allocation.project_id, allocation.id, ticket.session());
        let organization = Some(allocation.organization_id);
        match ticket.break_glass.as_deref().and_then(|it| it.parse().ok()) {
            Some(reason) => {
                let event = AccessTicketBreakGlass { id, project_id, allocation_id, session_id, reason };
                emit(&mut call.tx, organization, id, &event);
            }
            None => {
                let kind = Open::Known(kind);
                let event = AccessTicketCreated { id, project_id, allocation_id, session_id, kind };
                emit(&mut call.tx, organization, id, &event);
            }
        }
        metrics::counter!("gpuaas_access_tickets_total", "kind" => kind.as_str()).increment(1);
        let web_url = (kind == TicketKind::Http).then(|| {
            let name = format!("{}--{}", ticket.port.unwrap_or_default(), allocation.id);
            door.web_origin(&name) + "/"
        });
        Ok(NewAccessTicket { ticket: ShownSecret::new(text), session_id, url: door.public_url, web_url, expires_at })
    }
}

/// What every ticket says of whom and what it is for.
fn blank(call: &Call, allocation: &Allocation, session: AccessSessionId, node: NodeId) -> Ticket {
    let credential = Credential::of(&call.caller);
    Ticket {
        organization_id: allocation.organization_id.uuid(),
        project_id: allocation.project_id.uuid(),
        allocation_id: allocation.id.uuid(),
        session_id: session.uuid(),
        node_id: node.uuid(),
        kind: TicketKind::Terminal.as_str().to_owned(),
        port: None,
        resumes: None,
        is_watching: false,
        is_shared: false,
        command: None,
        is_plain: false,
        actor: call.caller.actor().as_str().to_owned(),
        break_glass: None,
        login_session_id: credential.login_session,
        key_id: credential.key,
    }
}

/// Whether what is asked for makes sense together.
fn check_form(spec: &AccessTicketSpec) -> Result<(), Failure> {
    let wrong = |field: &str, detail: &str| Err(ProblemBuilder::new(Code::InvalidValue, detail).at(field).into());
    let is_terminal = spec.kind == TicketKind::Terminal;
    if is_terminal && spec.port.is_some() {
        return wrong("port", "a terminal has no port");
    }
    if !is_terminal && spec.port.is_none() {
        return wrong("port", "give the port");
    }
    if !is_terminal && (spec.resume.is_some() || spec.command.is_some() || spec.share) {
        return wrong("kind", "only terminals can have a command, be resumed or be shared");
    }
    if spec.plain && (!is_terminal || spec.resume.is_some() || spec.share) {
        return wrong("plain", "a command without a terminal cannot be resumed or shared");
    }
    if spec.watch && spec.resume.is_none() {
        return wrong("watch", "give the session to watch in `resume`");
    }
    if spec.resume.is_some() && (spec.command.is_some() || spec.node_id.is_some()) {
        return wrong("resume", "a running session already has a command and a node");
    }
    Ok(())
}

/// The node of a session that the caller may join.
async fn joinable(call: &mut Call, of: &Allocation, id: AccessSessionId, watch: bool) -> Result<NodeId, Failure> {
    let found = access_sessions::get(&mut call.tx, id).await?;
    let found = found.filter(|it| it.allocation_id == of.id && it.watches.is_none());
    let session = found.ok_or_else(|| Failure::not_found("session of this allocation"))?;
    if session.state == AccessSessionState::Ended {
        return Err(Failure::new(Code::Conflict, "the session has ended; open a new one"));
    }
    let is_own = session.opened_by == call.caller.actor().as_str();
    if !is_own && !session.is_shared {
        let how = if watch { "watched" } else { "joined" };
        let detail =
            format!("the session belongs to someone else and is not shared; only shared sessions can be {how}");
        return Err(Failure::new(Code::AccessRefused, detail));
    }
    Ok(session.node_id)
}

fn node_of(allocation: &Allocation, wanted: Option<NodeId>) -> Result<NodeId, Failure> {
    let mut nodes = allocation.parts.iter().map(|it| it.node_id);
    match wanted {
        None => nodes.next().ok_or_else(|| Failure::new(Code::Conflict, "the allocation has no node yet")),
        Some(id) => nodes.find(|it| *it == id).ok_or_else(|| {
            ProblemBuilder::new(Code::InvalidValue, "the allocation is not on that node").at("node_id").into()
        }),
    }
}
