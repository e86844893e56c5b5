//! A ticket for a session and its first grant. The ticket is spent by it, and
//! everything that allowed it is looked at again.

use contract::{
    access_sessions::{AccessKind, AccessSessionCreated, AccessSessionState},
    id::{AccessSessionId, GatewayId},
};
use kernel::{Actor, Tx, audit, secrets::hash_token};
use protocol::{
    PROTOCOL,
    gateway::{ExchangeRequest, SessionAnswer},
    stream::{Kind, Size},
};
use serde_json::json;

use super::{Leave, address, begin, count, sign};
use crate::{
    AccessArea,
    access_sessions::{self, Attach, EntryContext, Guest, New, Session, authorize::EntryRequest},
    access_tickets::{self, Ticket, Unspent},
    recordings,
};
use fleet::node_api::Refusal;
use platform::{events::emit, rows};

/// What shells are told about the window.
const TERM: &str = "xterm-256color";

pub async fn exchange(
    area: &AccessArea,
    gateway: GatewayId,
    request: ExchangeRequest,
) -> Result<SessionAnswer, Refusal> {
    let mut tx = begin(area, gateway, "exchange").await?;
    let hash = hash_token(&request.ticket);
    let Some(ticket) = access_tickets::spend(&mut tx, &hash).await? else {
        count(match access_tickets::why_not(&mut tx, &hash).await? {
            Unspent::Unknown => "unknown_ticket",
            Unspent::Used => "used_ticket",
            Unspent::Expired => "expired_ticket",
        });
        return Err(Refusal::Ticket);
    };
    // From here on it is the person who acts.
    if let Some((kind, id)) = ticket.actor.split_once(':') {
        tx.actor = Actor::principal(kind, id);
    }
    let entered = enter(area, &mut tx, gateway, &ticket, &request).await;
    if let Err(refusal) = &entered
        && !matches!(refusal, Refusal::Internal | Refusal::Unavailable)
    {
        record(&mut tx, &ticket, "access_session.enter", refusal.code());
    }
    // Also a refused ticket is spent.
    tx.commit().await?;
    entered
}

async fn enter(
    area: &AccessArea,
    tx: &mut Tx,
    gateway: GatewayId,
    ticket: &Ticket,
    request: &ExchangeRequest,
) -> Result<SessionAnswer, Refusal> {
    let kind: AccessKind = rows::known(&ticket.kind)?;
    let wish = EntryRequest {
        organization: ticket.organization_id.into(),
        project: ticket.project_id.into(),
        allocation: ticket.allocation_id.into(),
        node: ticket.node_id.into(),
        gateway,
        kind,
        actor: &ticket.actor,
        is_break_glass: ticket.break_glass.is_some(),
        credential: ticket.credential(),
    };
    let context = access_sessions::authorize(tx, wish, area.recordings.is_some()).await??;
    let port = ticket.port.and_then(|it| u16::try_from(it).ok());
    if port.is_some_and(|it| !context.ports.holds(it)) {
        count("port_not_allowed");
        return Err(Refusal::Access(format!("`access.tcp_ports` is {}", context.ports)));
    }
    let session = match (ticket.resumes, ticket.is_watching) {
        (Some(id), false) => resume(tx, id.into(), gateway, ticket, request).await?,
        (resumes, _) => open(tx, gateway, ticket, request, &context, resumes.map(Into::into)).await?,
    };
    record(tx, ticket, "access_session.enter", "done");
    answer(area, tx, gateway, (ticket, request), &session, context).await
}

/// The session that goes on, now through this gateway.
async fn resume(
    tx: &mut Tx,
    id: AccessSessionId,
    gateway: GatewayId,
    ticket: &Ticket,
    request: &ExchangeRequest,
) -> Result<Session, Refusal> {
    let session = joinable(tx, id, ticket).await?;
    // Whoever comes back goes on with what they showed now, and nobody is a guest any
    // more; who takes another's shell over adds to what that depends on.
    let (credential, guest) = match session.actor == ticket.actor {
        true => (ticket.credential(), None),
        false => (session.credential, Some(Guest { actor: ticket.actor.clone(), credential: ticket.credential() })),
    };
    let to = Attach { gateway, address: &address(&request.address), credential, guest: guest.as_ref() };
    access_sessions::attach(tx, id, to).await?;
    let session = Session { gateway, credential, guest, ..session };
    access_sessions::carried(tx, &session).await?;
    Ok(session)
}

/// A session that is not over and that the ticket's owner may join.
async fn joinable(tx: &mut Tx, id: AccessSessionId, ticket: &Ticket) -> Result<Session, Refusal> {
    let found = access_sessions::lock(tx, id).await?;
    let session = found.filter(|it| it.allocation.uuid() == ticket.allocation_id && it.watches.is_none());
    let session = session.filter(|it| it.state != AccessSessionState::Ended).ok_or_else(|| {
        count("no_such_session");
        Refusal::Gone("the session has ended".into())
    })?;
    if session.actor == ticket.actor {
        return Ok(session);
    }
    if !session.is_shared {
        count("session_not_shared");
        return Err(Refusal::Access("the session belongs to someone else and is not shared".into()));
    }
    // It ends with its owner's leave, which nobody else's replaces.
    let owner = (session.actor.as_str(), session.is_break_glass);
    if access_sessions::stands(tx, session.organization, owner, session.credential).await?.is_err() {
        count("owner_not_permitted");
        return Err(Refusal::Gone("the person who opened the session may no longer use the allocation".into()));
    }
    Ok(session)
}

async fn open(
    tx: &mut Tx,
    gateway: GatewayId,
    ticket: &Ticket,
    request: &ExchangeRequest,
    context: &EntryContext,
    watches: Option<AccessSessionId>,
) -> Result<Session, Refusal> {
    if let Some(watched) = watches {
        joinable(tx, watched, ticket).await?;
    } else if access_sessions::count_live(tx, ticket.allocation_id.into()).await? >= context.most_sessions {
        count("too_many_sessions");
        return Err(Refusal::TooManySessions(context.most_sessions));
    }
    let kind: AccessKind = rows::known(&ticket.kind)?;
    let cookie = match (&request.cookie_sha256, kind) {
        (Some(text), AccessKind::Http) => Some(super::streams::cookie_hash(text)?),
        (None, AccessKind::Http) => return Err(Refusal::Malformed("a web service needs a cookie".into())),
        _ => None,
    };
    let address = address(&request.address);
    let new = New {
        id: ticket.session(),
        organization: ticket.organization_id.into(),
        project: ticket.project_id.into(),
        allocation: ticket.allocation_id.into(),
        node: ticket.node_id.into(),
        kind,
        port: ticket.port.and_then(|it| u16::try_from(it).ok()),
        actor: &ticket.actor,
        address: &address,
        gateway,
        is_shared: ticket.is_shared,
        watches,
        break_glass: ticket.break_glass.as_deref(),
        credential: ticket.credential(),
        cookie_hash: cookie.as_deref(),
        grace: context.grace,
        until: context.limits.until,
    };
    let session = access_sessions::insert(tx, new).await?.ok_or(Refusal::Internal)?;
    let (id, project_id, allocation_id) = (session.id, session.project, session.allocation);
    let event = AccessSessionCreated { id, project_id, allocation_id, kind: kind.into() };
    emit(tx, Some(session.organization), id, &event);
    metrics::counter!("gpuaas_access_sessions_total", "kind" => ticket_kind(kind)).increment(1);
    Ok(session)
}

async fn answer(
    area: &AccessArea,
    tx: &mut Tx,
    gateway: GatewayId,
    (ticket, request): (&Ticket, &ExchangeRequest),
    session: &Session,
    context: EntryContext,
) -> Result<SessionAnswer, Refusal> {
    let is_terminal = session.kind == AccessKind::Terminal;
    let mut limits = context.limits;
    limits.until = session.until.min(limits.until);
    let (mut recording, mut recorded) = (None, None);
    let mut grant = None;
    if is_terminal {
        // Who looks on sees what is recorded already.
        if session.watches.is_none() {
            let wanted = recordings::RecordingRequest { mode: context.recording, has_input: context.records_input };
            if let Some(ordered) = recordings::order(tx, session, wanted).await? {
                (recording, recorded) = (Some(ordered.order), ordered.recorded);
            }
        }
        let kind = if ticket.is_plain {
            Kind::Exec { command: ticket.command.clone().unwrap_or_default() }
        } else {
            Kind::Terminal {
                size: request.size.unwrap_or(Size::DEFAULT).clamped(),
                term: TERM.into(),
                command: ticket.command.clone(),
                resume: ticket.resumes.is_some(),
                from: request.seen.filter(|_| ticket.resumes.is_some()),
                // What a gateway that died had not handed in is asked for again.
                recorded: recorded.filter(|_| ticket.resumes.is_some()),
                watch: ticket.is_watching,
            }
        };
        let leave = Leave {
            node: session.node,
            gateway,
            allocation: session.allocation,
            workload: &context.workload,
            session: session.watches.unwrap_or(session.id).uuid(),
            kind,
            limits,
            now: context.now,
        };
        grant = Some(sign(area, tx, leave)?);
    }
    Ok(SessionAnswer {
        protocol: PROTOCOL,
        session: session.id.uuid(),
        node: session.node.to_string(),
        grant,
        kinds: kinds(session.kind),
        port: session.port,
        recording,
        until: limits.until,
        title: context.title,
        seen: request.seen,
        is_new: ticket.resumes.is_none() || ticket.is_watching,
    })
}

/// What streams a session may open, by name.
pub fn kinds(kind: AccessKind) -> Vec<String> {
    let names: &[&str] = match kind {
        AccessKind::Terminal => &["terminal"],
        AccessKind::Tcp | AccessKind::Http => &["tcp"],
        AccessKind::Ssh => &["terminal", "exec", "file", "tcp"],
    };
    names.iter().map(|it| (*it).to_owned()).collect()
}

fn ticket_kind(kind: AccessKind) -> &'static str {
    contract::Word::as_str(kind)
}

fn record(tx: &mut Tx, ticket: &Ticket, action: &str, outcome: &'static str) {
    let entry = audit::NewEntry {
        action: action.into(),
        organization: Some(ticket.organization_id),
        resource: Some(ticket.session().to_string()),
        outcome,
        detail: json!({
            "allocation": contract::id::AllocationId::from(ticket.allocation_id).to_string(),
            "kind": ticket.kind,
            "is_resumed": ticket.resumes.is_some(),
        }),
    };
    audit::record(tx, entry);
}
