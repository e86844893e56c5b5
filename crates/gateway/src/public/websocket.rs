//! From an HTTP request to a WebSocket. The upgrade is always completed for who
//! speaks the protocol, so that a refusal reaches a browser as a close code.

use super::closing::{self, CloseReason};
use super::offer::{Key, Offer, VERSION, is_secret};
use super::{Body, Visitor, forward, full, plain, refused, terminal};
use crate::Gateway;
use futures_util::{SinkExt, StreamExt};
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use protocol::PROTOCOL;
use protocol::gateway::{ExchangeRequest, SessionAnswer};
use protocol::stream::MAX_FRAME_BYTES;
use std::sync::Arc;
use std::time::Duration;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role, WebSocketConfig};

pub type Socket = WebSocketStream<TokioIo<Upgraded>>;

const READ_BUFFER: usize = 4 * 1024; // bound: what an idle socket keeps
const WRITE_BUFFER: usize = 16 * 1024; // bound: small messages go out together
const MOST_UNSENT: usize = 512 * 1024; // bound: a batch and its heads; writers flush before the next one
const MAX_MESSAGE: usize = MAX_FRAME_BYTES + 16; // bound: the largest frame and its head
const FAREWELL: Duration = Duration::from_secs(2); // bound: who does not say goodbye is left

/// What somebody comes for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    Terminal,
    Forward,
}

/// Answers the request and goes on behind it.
pub fn upgrade(gateway: Arc<Gateway>, visitor: Visitor, mut request: Request<Incoming>, door: Door) -> Response<Body> {
    let headers = request.headers();
    if let Some(origin) = headers.get(header::ORIGIN)
        && !gateway.settings.origins.iter().any(|it| it.as_bytes() == origin.as_bytes())
    {
        refused("foreign_origin");
        return plain(StatusCode::FORBIDDEN, "pages of this origin may not connect; add it to gateway.origins\n");
    }
    let offer = Offer::read(headers);
    let Some(accept) = accept_key(&request).filter(|_| offer.speaks_version) else {
        refused("no_websocket");
        return plain(
            StatusCode::UPGRADE_REQUIRED,
            "a WebSocket that offers the subprotocol gpuaas.v1 is served here\n",
        );
    };
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let Ok(upgraded) = upgrade.await else { return };
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(WRITE_BUFFER)
            .max_write_buffer_size(MOST_UNSENT)
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE));
        let socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
        match door {
            Door::Terminal => terminal::serve(gateway, socket, &visitor, offer).await,
            Door::Forward => forward::serve(gateway, socket, &visitor, offer).await,
        }
    });
    let mut response = Response::new(full(""));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(VERSION));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    response
}

fn accept_key(request: &Request<Incoming>) -> Option<HeaderValue> {
    let headers = request.headers();
    let has = |name, word: &str| {
        let lines = headers.get_all(name).iter().filter_map(|it: &HeaderValue| it.to_str().ok());
        lines.flat_map(|it| it.split(',')).any(|it| it.trim().eq_ignore_ascii_case(word))
    };
    let is_one = has(header::CONNECTION, "upgrade")
        && has(header::UPGRADE, "websocket")
        && headers.get(header::SEC_WEBSOCKET_VERSION).is_some_and(|it| it == "13");
    let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|it| is_one && it.len() == 24)?;
    HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok()
}

/// Spends the ticket of the offer.
pub async fn exchange(gateway: &Gateway, visitor: &Visitor, offer: &Offer) -> Result<SessionAnswer, CloseReason> {
    let ticket = match &offer.key {
        Some(Key::Ticket(ticket)) => ticket.as_str(),
        _ => "",
    };
    spend(gateway, visitor, request(visitor, ticket, offer)).await
}

/// Spends a ticket for a web service; the browser is known by the cookie from then on.
pub async fn exchange_for_web(
    gateway: &Gateway,
    visitor: &Visitor,
    ticket: &str,
    cookie_sha256: &str,
) -> Result<SessionAnswer, CloseReason> {
    let ticket = if is_secret(ticket) { ticket } else { "" };
    let mut request = request(visitor, ticket, &Offer::default());
    request.cookie_sha256 = Some(cookie_sha256.to_owned());
    spend(gateway, visitor, request).await
}

fn request(visitor: &Visitor, ticket: &str, offer: &Offer) -> ExchangeRequest {
    ExchangeRequest {
        protocol: PROTOCOL,
        ticket: ticket.to_owned(),
        address: visitor.address.to_string(),
        seen: offer.seen,
        size: offer.size,
        cookie_sha256: None,
    }
}

/// A bad ticket is counted against its address.
async fn spend(gateway: &Gateway, visitor: &Visitor, request: ExchangeRequest) -> Result<SessionAnswer, CloseReason> {
    if !gateway.failures.may_try(visitor.address) {
        return Err(closing::TOO_MANY);
    }
    let wrong = || {
        gateway.failures.count(visitor.address);
        closing::TICKET
    };
    if request.ticket.is_empty() {
        return Err(wrong());
    }
    let answer = gateway.control.exchange(&request).await;
    if answer.is_ok() {
        visitor.place.vouch();
    }
    answer.map_err(|error| {
        tracing::info!(address = %visitor.address, %error, "a ticket was refused");
        match closing::of_control(&error) {
            closing::TICKET => wrong(),
            other => other,
        }
    })
}

/// Says why and waits a moment for the other side to agree.
pub async fn close(mut socket: Socket, farewell: CloseReason) {
    let frame = CloseFrame { code: CloseCode::from(farewell.code), reason: farewell.text.into() };
    let goodbye = async {
        if socket.send(Message::Close(Some(frame))).await.is_ok() {
            while let Some(Ok(_)) = socket.next().await {}
        }
    };
    let _ = tokio::time::timeout(FAREWELL, goodbye).await;
}

/// Closes the socket of somebody who was not let in.
pub async fn refuse(socket: Socket, farewell: CloseReason) {
    refused(farewell.reason);
    close(socket, farewell).await;
}
