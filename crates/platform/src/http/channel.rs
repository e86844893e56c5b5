//! WebSockets: the same gates as requests, then typed frames.

use std::{marker::PhantomData, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{
        FromRequestParts,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
    response::Response,
};
use contract::{Audit, Channel, Code};
use http::{HeaderMap, HeaderValue, header};
use kernel::{Access, Scope, Tx, audit};
use listen::{Busy, ConnectionPermit};
use tracing::Instrument;

use super::{
    Failure,
    admit::{Arrival, admit},
    gates::{finish, path_params},
    parse,
};
use crate::{Area, Platform, identity::Caller};

/// Implemented once per channel, in the resource's own `routes.rs`.
pub trait Converse<C: Channel>: Send + Sync + 'static {
    fn converse(&self, talk: OpenChannel<C>) -> impl Future<Output = ()> + Send;
}

/// An open conversation and who it is with.
pub struct OpenChannel<C: Channel> {
    pub caller: Arc<Caller>,
    /// The caller's credential, to look again whether it still holds.
    pub authorization: ChannelAuthorization,
    pub scope: Scope,
    pub path: C::Path,
    pub query: C::Query,
    pub socket: Socket<C>,
}

/// A WebSocket that speaks the channel's frame types.
pub struct Socket<C> {
    inner: WebSocket,
    frames: PhantomData<fn() -> C>,
}

/// What is spoken, for clients that offer protocols to choose from.
const PROTOCOL: &str = "gpuaas.v1";
/// Begins an offered protocol that is really the caller's token.
const OFFERED_TOKEN: &str = "bearer.";
/// The last frame where the database is away: nothing is wrong with the access.
pub const UNAVAILABLE: &str = "the database does not respond; connect again";
// bound: what one frame from a client may hold
const FRAME_BYTES: usize = 16 * 1024;
// bound: a reader that takes nothing for this long is gone
const SEND_PATIENCE: Duration = Duration::from_secs(15);

impl<C: Channel> Socket<C> {
    /// The next frame; `None` when the client is gone or does not keep the protocol.
    pub async fn next(&mut self) -> Option<C::FromClient> {
        loop {
            match self.inner.recv().await?.ok()? {
                Message::Text(text) => return serde_json::from_str(&text).ok(),
                Message::Close(_) | Message::Binary(_) => return None,
                Message::Ping(_) | Message::Pong(_) => (),
            }
        }
    }

    /// Says whether the frame was taken.
    pub async fn send(&mut self, frame: &C::ToClient) -> bool {
        let text = serde_json::to_string(frame).expect("frames serialize");
        let sent = tokio::time::timeout(SEND_PATIENCE, self.inner.send(Message::Text(text.into()))).await;
        matches!(sent, Ok(Ok(())))
    }
}

/// Looks again whether a caller may still do what a conversation is for.
pub struct ChannelAuthorization {
    token: String,
    info: &'static contract::EndpointInfo,
    params: parse::PathParams,
}

impl ChannelAuthorization {
    /// The caller as they are now, if they still may; otherwise why the
    /// conversation ends, in the words of its last frame.
    pub async fn caller(&self, platform: &Platform) -> Result<Arc<Caller>, &'static str> {
        let caller = platform.recognizer.caller(&self.token, None).await.map_err(why_ended)?;
        super::admit::authorize(platform, self.info, &caller, &self.params).await.map_err(why_ended)?;
        Ok(caller)
    }
}

fn why_ended(failure: Failure) -> &'static str {
    match failure.into_builder().code {
        Code::Unavailable | Code::Internal => UNAVAILABLE,
        _ => "access was revoked or has expired",
    }
}

/// The place of the connection that a request came on. An upgrade takes the connection away
/// from the listener; what is said on it then still counts against the address.
#[derive(Clone)]
pub struct Line {
    place: Arc<ConnectionPermit>,
    _busy: Arc<Busy>,
}

impl Line {
    pub fn new(place: &Arc<ConnectionPermit>) -> Self {
        Self { place: place.clone(), _busy: Arc::new(place.busy()) }
    }

    /// Ends with the talk, or when the place is given to another address.
    async fn carry(self, talk: impl Future<Output = ()>) {
        tokio::select! {
            () = talk => (),
            () = self.place.cut() => (),
        }
    }
}

/// A page in a browser cannot send `Authorization` with an upgrade, and a token
/// must not be part of an address: it offers the token as one more protocol,
/// `gpuaas.v1, bearer.<token>`, and only the first is ever chosen.
fn take_offered_token(headers: &mut HeaderMap) {
    if headers.contains_key(header::AUTHORIZATION) {
        return;
    }
    let offers = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|it| it.to_str().ok());
    let token = offers.flat_map(|it| it.split(',')).find_map(|it| it.trim().strip_prefix(OFFERED_TOKEN));
    if let Some(value) = token.and_then(|it| HeaderValue::from_str(&format!("Bearer {it}")).ok()) {
        headers.insert(header::AUTHORIZATION, value);
    }
}

pub async fn upgrade<C: Channel, A: Area + Converse<C>>(area: Arc<A>, request: http::Request<Body>) -> Response {
    let started = std::time::Instant::now();
    let (mut parts, _) = request.into_parts();
    let arrival = Arrival::new(area.platform(), &parts);
    let span = tracing::info_span!("channel", operation = C::INFO.operation, correlation_id = %arrival.correlation_id);
    crate::telemetry::follow(&span, arrival.trace.clone());
    let outcome = open::<C, A>(&area, &arrival, &mut parts).instrument(span.clone()).await;
    finish(&C::INFO, &arrival, started, span, outcome)
}

async fn open<C: Channel, A: Area + Converse<C>>(
    area: &Arc<A>,
    arrival: &Arrival,
    parts: &mut http::request::Parts,
) -> Result<Response, Failure> {
    let platform = area.platform();
    let info = const { &C::INFO };
    let params = path_params(parts).await?;
    take_offered_token(&mut parts.headers);
    let admitted = admit(platform, info, arrival, parts, params).await?;
    let path = parse::path::<C::Path>(&admitted.params)?;
    let query = parse::query::<C::Query>(&parts.uri)?;
    let ws = WebSocketUpgrade::from_request_parts(parts, &()).await.map_err(|error| {
        Failure::new(Code::InvalidHeader, format!("this URL only accepts WebSocket upgrades: {error}"))
    })?;
    if let Audit::AuditedRead(action) | Audit::Action(action) = info.policy.audit {
        let mut tx = Tx::begin(
            &platform.db,
            admitted.scope,
            Access::Write,
            admitted.caller.actor(),
            arrival.correlation_id.clone(),
        )
        .await?;
        let entry = audit::NewEntry {
            action: action.to_owned(),
            organization: admitted.scope.organization(),
            resource: admitted.params.last().map(|(_, value)| value.clone()),
            outcome: "done",
            detail: serde_json::json!({}),
        };
        audit::record(&mut tx, entry);
        tx.commit().await?;
    }
    let token =
        parts.headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok()).and_then(|it| it.split_once(' '));
    let token = token.map(|(_, token)| token.trim().to_owned()).unwrap_or_default();
    let authorization = ChannelAuthorization { token, info, params: admitted.params };
    let line = parts.extensions.remove::<Line>();
    let area = area.clone();
    let (caller, scope) = (admitted.caller, admitted.scope);
    Ok(ws.protocols([PROTOCOL]).max_message_size(FRAME_BYTES).max_frame_size(FRAME_BYTES).on_upgrade(
        move |inner| async move {
            let socket = Socket { inner, frames: PhantomData };
            let talk = area.converse(OpenChannel { caller, authorization, scope, path, query, socket });
            match line {
                Some(line) => line.carry(talk).await,
                None => talk.await,
            }
        },
    ))
}
