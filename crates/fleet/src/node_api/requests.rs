//! Which request goes where, who may make it, and how bodies are read.

use std::time::Duration;

use bytes::Bytes;
use contract::id::{GatewayId, NodeId};
use http::{HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::body::Incoming;
use listen::network;
use protocol::{gateway::paths as gateway_paths, limits::MAX_BODY_BYTES, paths};
use serde::{Serialize, de::DeserializeOwned};

use super::{NodeApi, agents, enroll, listener::Caller, poll, refusal::Refusal, renew};
use crate::ca::{CertificateSubject, Peer};
use platform::{
    http::{Unread, collect},
    policies::settings,
};

pub type Body = UnsyncBoxBody<Bytes, std::io::Error>;
pub type Answer = Response<Body>;

/// What every address of the gateways' begins with.
const GATEWAYS: &str = "/gateway/v1/";
// bound: a body of the largest size comes within this even over a slow line
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// Answers one request.
pub async fn answer(api: &NodeApi, caller: &Caller, request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path();
    let operation = match path {
        paths::ENROLL => "enroll",
        paths::RENEW => "renew",
        paths::POLL => "poll",
        gateway_paths::JOIN => "gateway_join",
        path if path.starts_with(GATEWAYS) => "gateway",
        _ => "agents",
    };
    let outcome = route(api, caller, request).await;
    let response = outcome.unwrap_or_else(|refusal| {
        tracing::info!(
            operation,
            code = refusal.code(),
            peer = caller.name(),
            "a request of a host or gateway was refused"
        );
        refusal.answer()
    });
    metrics::counter!("gpuaas_node_requests_total", "operation" => operation, "status" => response.status().as_str().to_owned())
        .increment(1);
    response
}

async fn route(api: &NodeApi, caller: &Caller, request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
    let (parts, body) = request.into_parts();
    match (&parts.method, parts.uri.path()) {
        (&Method::POST, paths::ENROLL) => {
            let per_minute = api.area.policies.number(settings::RATE_ENROLL);
            admit(api, "enroll", &network(caller.address).to_string(), per_minute).await?;
            json(&enroll::enroll(api, caller.address, read(body).await?).await?)
        }
        (&Method::POST, paths::RENEW) => {
            let (node, peer) = known_node(api, caller, true).await?;
            json(&renew::renew(api, node, peer, read(body).await?).await?)
        }
        (&Method::POST, paths::POLL) => {
            let peer = known_node(api, caller, false).await?;
            json(&poll::poll(api, peer, caller.connection, read(body).await?).await?)
        }
        (&Method::POST, gateway_paths::JOIN) => {
            let per_minute = api.area.policies.number(settings::RATE_ENROLL);
            admit(api, "enroll", &network(caller.address).to_string(), per_minute).await?;
            api.gateway_api.join(whole(body).await?).await
        }
        (&Method::POST, path) if path.starts_with(GATEWAYS) => of_gateway(api, caller, path, body).await,
        (&Method::GET, path) => {
            let Some((version, target)) = agent(path) else { return Err(Refusal::NotFound) };
            known_node(api, caller, false).await?;
            agents::serve(&api.area, version, target).await
        }
        _ => Err(Refusal::NotFound),
    }
}

fn agent(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix(paths::AGENTS)?.strip_prefix('/')?.split_once('/')
}

/// What only a gateway may ask.
async fn of_gateway(api: &NodeApi, caller: &Caller, path: &str, body: Incoming) -> Result<Response<Body>, Refusal> {
    // Its beat renews its certificate, also one that has ended.
    let (gateway, peer) = known_gateway(api, caller, path == gateway_paths::BEAT).await?;
    api.gateway_api.answer(path, gateway, peer, whole(body).await?).await
}

async fn known_node<'a>(api: &NodeApi, caller: &'a Caller, renews: bool) -> Result<(NodeId, &'a Peer), Refusal> {
    let peer = known(api, caller, renews).await?;
    let CertificateSubject::Node(node) = peer.who else { return Err(Refusal::NotANode) };
    admit(api, "node", &peer.serial, api.area.policies.number(settings::RATE_NODE)).await?;
    Ok((node, peer))
}

async fn known_gateway<'a>(api: &NodeApi, caller: &'a Caller, renews: bool) -> Result<(GatewayId, &'a Peer), Refusal> {
    let peer = known(api, caller, renews).await?;
    let CertificateSubject::Gateway(gateway) = peer.who else { return Err(Refusal::NotAGateway) };
    admit(api, "gateway", &gateway.to_string(), api.area.policies.number(settings::RATE_GATEWAY)).await?;
    Ok((gateway, peer))
}

/// Who asks, if their certificate works now. One that has expired may only be
/// renewed, and only for a while.
async fn known<'a>(api: &NodeApi, caller: &'a Caller, renews: bool) -> Result<&'a Peer, Refusal> {
    let (peer, held) = caller.peer.as_ref().ok_or(Refusal::NoCertificate)?;
    held.as_ref().map_err(Clone::clone)?.check()?;
    let now = api.area.db.clock.estimate();
    let window = settings::hours(api.area.policies.number(settings::NODE_RENEW_WINDOW_HOURS));
    if peer.is_expired(now) && !(renews && now < peer.expires_at + window) {
        return Err(Refusal::Expired);
    }
    Ok(peer)
}

async fn admit(api: &NodeApi, lane: &str, who: &str, per_minute: u64) -> Result<(), Refusal> {
    api.area.limiter.admit(lane, who, per_minute).await.map_err(Refusal::TooOften)
}

impl Caller {
    fn name(&self) -> String {
        self.peer.as_ref().map(|(peer, _)| peer.who.to_string()).unwrap_or_default()
    }
}

/// Read before the message itself: another version may have another form.
#[derive(serde::Deserialize)]
struct Envelope {
    protocol: u16,
}

async fn read<T: DeserializeOwned>(body: Incoming) -> Result<T, Refusal> {
    parse(&whole(body).await?)
}

/// A whole body, within limits of size and time.
async fn whole(body: Incoming) -> Result<Bytes, Refusal> {
    let collected = tokio::time::timeout(BODY_PATIENCE, collect(body, MAX_BODY_BYTES)).await;
    match collected.map_err(|_| Refusal::TooSlow)? {
        Ok(bytes) => Ok(bytes.into()),
        Err(Unread::TooLarge) => Err(Refusal::TooLarge),
        Err(Unread::Cut) => Err(Refusal::Malformed("the body ended before it was complete".into())),
    }
}

/// Reads a message. A null character is refused: no honest text has one, and
/// the database cannot store it.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    const NULL: &[u8] = b"\\u0000";
    let wrong = |error: serde_json::Error| Refusal::Malformed(error.to_string());
    let envelope: Envelope = serde_json::from_slice(bytes).map_err(wrong)?;
    if !protocol::is_supported(envelope.protocol) {
        return Err(Refusal::WrongProtocol(envelope.protocol));
    }
    if bytes.windows(NULL.len()).any(|it| it == NULL) {
        return Err(Refusal::Malformed("a text holds a null character".into()));
    }
    serde_json::from_slice(bytes).map_err(wrong)
}

/// An answer in JSON.
pub fn json(message: &impl Serialize) -> Result<Response<Body>, Refusal> {
    let bytes = serde_json::to_vec(message).map_err(|error| {
        tracing::error!(%error, "an answer could not be written");
        Refusal::Internal
    })?;
    let mut response = Response::new(Full::new(Bytes::from(bytes)).map_err(|never| match never {}).boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use protocol::RenewRequest;

    use super::*;

    #[test]
    fn messages_of_other_versions_and_null_characters_are_refused() {
        let text = |protocol: u16, csr: &str| format!(r#"{{"protocol":{protocol},"csr":"{csr}"}}"#);
        assert!(parse::<RenewRequest>(text(1, "x").as_bytes()).is_ok());
        let later = parse::<RenewRequest>(br#"{"protocol":9,"other":true}"#);
        assert_eq!(later.unwrap_err(), Refusal::WrongProtocol(9));
        let null = parse::<RenewRequest>(text(1, "a\\u0000b").as_bytes());
        assert_eq!(null.unwrap_err().code(), "malformed");
        assert_eq!(parse::<RenewRequest>(b"[]").unwrap_err().code(), "malformed");
    }

    #[test]
    fn an_agent_is_addressed_by_version_and_target() {
        assert_eq!(agent("/node/v1/agents/0.2.0/x86_64"), Some(("0.2.0", "x86_64")));
        assert_eq!(agent("/node/v1/agents/0.2.0"), None);
        assert_eq!(agent("/other"), None);
    }
}
