//! One more stream of a session that a gateway carries, and the session that a
//! browser's cookie is of.

use contract::{
    access_sessions::{AccessKind, AccessSessionState},
    id::{AccessSessionId, AllocationId, GatewayId},
};
use kernel::Tx;
use protocol::{
    PROTOCOL,
    gateway::{GrantAnswer, GrantRequest, SessionAnswer, WebVisitRequest},
    stream::Kind,
};

use super::{Leave, address, begin, count, exchange::kinds, sign};
use crate::{
    AccessArea,
    access_sessions::{self, Attach, EntryContext, Session, authorize::EntryRequest},
    recordings,
};
use fleet::node_api::Refusal;
use platform::policies::RecordingMode;

pub async fn grant(area: &AccessArea, gateway: GatewayId, request: GrantRequest) -> Result<GrantAnswer, Refusal> {
    let mut tx = begin(area, gateway, "grant").await?;
    let found = access_sessions::find(&mut tx, AccessSessionId::from(request.session)).await?;
    // A browser's connections come through any gateway; others through the one that carries the session.
    let is_its = |it: &Session| it.gateway == gateway || it.kind == AccessKind::Http;
    let session = found.filter(|it| is_its(it) && it.state != AccessSessionState::Ended).ok_or_else(|| {
        count("no_such_session");
        Refusal::Gone("the session has ended, or uses another gateway".into())
    })?;
    let context = authorize(area, &mut tx, gateway, &session).await?;
    check(&session, &request.kind, &context)?;
    let mut recording = None;
    if matches!(request.kind, Kind::Terminal { .. } | Kind::Exec { .. } | Kind::Serial { .. }) {
        let wanted = recordings::RecordingRequest { mode: context.recording, has_input: context.records_input };
        recording = recordings::order(&mut tx, &session, wanted).await?.map(|it| it.order);
    }
    let mut limits = context.limits;
    limits.until = session.until.min(limits.until);
    // Nobody comes back to what SSH has lost.
    if session.kind == AccessKind::Ssh {
        limits.grace_seconds = 0;
    }
    let leave = Leave {
        node: session.node,
        gateway,
        allocation: session.allocation,
        workload: &context.workload,
        session: session.id.uuid(),
        kind: request.kind,
        limits,
        now: context.now,
    };
    let grant = sign(area, &tx, leave)?;
    tx.commit().await?;
    Ok(GrantAnswer { protocol: PROTOCOL, node: session.node.to_string(), grant, recording })
}

pub async fn web_visit(
    area: &AccessArea,
    gateway: GatewayId,
    request: WebVisitRequest,
) -> Result<SessionAnswer, Refusal> {
    let refused = || {
        count("unknown_cookie");
        Refusal::Ticket
    };
    let hash = cookie_hash(&request.cookie_sha256)?;
    let allocation: AllocationId = request.allocation.parse().map_err(|_| refused())?;
    let mut tx = begin(area, gateway, "web").await?;
    let session = access_sessions::by_cookie(&mut tx, &hash).await?;
    let session = session.filter(|it| it.allocation == allocation && it.port == Some(request.port));
    let session = session.filter(|it| it.state != AccessSessionState::Ended).ok_or_else(refused)?;
    let context = authorize(area, &mut tx, gateway, &session).await?;
    check(&session, &Kind::Tcp { port: request.port }, &context)?;
    if session.gateway != gateway {
        let (credential, guest) = (session.credential, session.guest.as_ref());
        let to = Attach { gateway, address: &address(&request.address), credential, guest };
        access_sessions::attach(&mut tx, session.id, to).await?;
    }
    access_sessions::carried(&mut tx, &session).await?;
    tx.commit().await?;
    Ok(SessionAnswer {
        protocol: PROTOCOL,
        session: session.id.uuid(),
        node: session.node.to_string(),
        grant: None,
        kinds: kinds(session.kind),
        port: session.port,
        recording: None,
        until: session.until,
        title: context.title,
        seen: None,
        is_new: false,
    })
}

/// Its owner and whoever took it over both.
async fn authorize(
    area: &AccessArea,
    tx: &mut Tx,
    gateway: GatewayId,
    session: &Session,
) -> Result<EntryContext, Refusal> {
    let wish = EntryRequest {
        organization: session.organization,
        project: session.project,
        allocation: session.allocation,
        node: session.node,
        gateway,
        kind: session.kind,
        actor: &session.actor,
        is_break_glass: session.is_break_glass,
        credential: session.credential,
    };
    let context = access_sessions::authorize(tx, wish, area.recordings.is_some()).await??;
    if let Some(guest) = &session.guest {
        // Who breaks glass opens a session of their own.
        access_sessions::stands(tx, session.organization, (&guest.actor, false), guest.credential).await??;
    }
    Ok(context)
}

/// Whether the session may open such a stream.
fn check(session: &Session, kind: &Kind, context: &EntryContext) -> Result<(), Refusal> {
    if !kinds(session.kind).iter().any(|it| it == kind.name()) {
        count("other_kind");
        return Err(Refusal::Access(format!("the session does not allow streams of kind {}", kind.name())));
    }
    let is_recorded = context.recording == RecordingMode::Required;
    if is_recorded && matches!(kind, Kind::Tcp { .. } | Kind::File) {
        return Err(access_sessions::Denied::NotRecordable.into());
    }
    if let Kind::Tcp { port } = kind
        && (session.port.is_some_and(|it| it != *port) || !context.ports.holds(*port))
    {
        count("port_not_allowed");
        return Err(Refusal::Access(format!(
            "port {port} is not the port of the session, or `access.tcp_ports` does not include it"
        )));
    }
    Ok(())
}

/// The hash that a gateway sends of a cookie.
pub fn cookie_hash(text: &str) -> Result<Vec<u8>, Refusal> {
    super::chunk::sha256(text).ok_or_else(|| Refusal::Malformed("not a SHA-256 in hexadecimal".into()))
}
