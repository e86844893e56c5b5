//! Forwarded ports. A ticket opens the session on one WebSocket, which says a key;
//! while it is open, further WebSockets with that key each carry one connection.

use super::Visitor;
use super::closing::{self, CloseReason};
use super::offer::{Key, Offer};
use super::websocket::{self, Socket};
use crate::agents::RawStream;
use crate::sessions::{Session, Surface};
use crate::{Gateway, locked, secret};
use futures_util::{SinkExt, StreamExt};
use protocol::agent_binary::sha256_hex;
use protocol::stream::{Closing, Kind};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use tokio_tungstenite::tungstenite::Message;

const MOST_CONNECTIONS: usize = 64; // bound: what a browser opens, several times over
const KEEPALIVE: Duration = Duration::from_secs(30); // bound: proxies close silent connections after a minute
const UNHEARD: Duration = Duration::from_secs(75); // bound: two pings without an answer
const STALL: Duration = Duration::from_millis(250); // bound: slower than that is a reader who makes others wait

/// The forwards that are open, by the hash of their key.
#[derive(Default)]
pub struct Forwards(Mutex<HashMap<String, Forward>>);

#[derive(Clone)]
struct Forward {
    session: Arc<Session>,
    port: u16,
    places: Arc<Semaphore>,
}

/// Serves the control connection of a forward, or one connection through it.
pub async fn serve(gateway: Arc<Gateway>, socket: Socket, visitor: &Visitor, offer: Offer) {
    match &offer.key {
        Some(Key::Session(key)) => carry(&gateway, socket, key).await,
        _ => match Box::pin(begin(&gateway, visitor, &offer)).await {
            Ok(forward) => hold(&gateway, socket, forward).await,
            Err(farewell) => websocket::refuse(socket, farewell).await,
        },
    }
}

async fn begin(gateway: &Arc<Gateway>, visitor: &Visitor, offer: &Offer) -> Result<Forward, CloseReason> {
    let answer = websocket::exchange(gateway, visitor, offer).await?;
    let is_forward = answer.kinds.iter().any(|it| it == "tcp");
    let Some(port) = answer.port.filter(|_| is_forward) else { return Err(closing::TICKET) };
    let session = Session::begin(gateway, Surface::Forward, &answer);
    Ok(Forward { session, port, places: Arc::new(Semaphore::new(MOST_CONNECTIONS)) })
}

/// The forward lasts as long as this socket.
async fn hold(gateway: &Gateway, mut socket: Socket, forward: Forward) {
    let key = secret();
    let name = sha256_hex(key.as_bytes());
    let session = forward.session.clone();
    locked(&gateway.forwards.0).insert(name.clone(), forward);
    let told = socket.send(Message::text(serde_json::json!({ "key": key }).to_string())).await;
    let farewell = match told {
        Ok(()) => tokio::select! {
            closing = session.ended() => Some(closing::of(closing)),
            farewell = listen(&mut socket) => farewell,
        },
        Err(_) => None,
    };
    locked(&gateway.forwards.0).remove(&name);
    session.end(Closing::Ended);
    match farewell {
        Some(farewell) => websocket::close(socket, farewell).await,
        None => websocket::close(socket, closing::NORMAL).await,
    }
}

/// Until the client goes; it has nothing to say here.
async fn listen(socket: &mut Socket) -> Option<CloseReason> {
    loop {
        match tokio::time::timeout(KEEPALIVE, socket.next()).await {
            Err(_) => {
                socket.send(Message::Ping(Default::default())).await.ok()?;
                // Two in a row without an answer, and it is gone.
                match tokio::time::timeout(UNHEARD - KEEPALIVE, socket.next()).await {
                    Ok(Some(Ok(_))) => (),
                    _ => return None,
                }
            }
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => (),
            Ok(Some(Ok(Message::Text(_) | Message::Binary(_)))) => return Some(closing::BAD_FRAME),
            Ok(_) => return None,
        }
    }
}

/// One connection to the port.
async fn carry(gateway: &Arc<Gateway>, socket: Socket, key: &str) {
    let forward = locked(&gateway.forwards.0).get(&sha256_hex(key.as_bytes())).cloned();
    let Some(forward) = forward else { return websocket::refuse(socket, closing::TICKET).await };
    let Ok(_place) = forward.places.clone().try_acquire_owned() else {
        return websocket::refuse(socket, closing::TOO_MANY).await;
    };
    let session = forward.session;
    let opened = Box::pin(session.open(Kind::Tcp { port: forward.port })).await;
    let stream = match opened {
        Ok((stream, _)) => stream.raw(),
        Err(error) => {
            tracing::info!(session = %session.id, %error, "a connection could not be forwarded");
            return websocket::refuse(socket, closing::of_open(&error)).await;
        }
    };
    let (socket, farewell) = bridge(&session, socket, stream).await;
    websocket::close(socket, farewell).await;
}

/// Carries bytes until both sides have ended.
async fn bridge(session: &Session, socket: Socket, stream: RawStream) -> (Socket, CloseReason) {
    let (mut sink, mut source) = socket.split();
    let (mut from_host, mut to_host) = stream.split();
    let inbound = async {
        loop {
            match source.next().await {
                Some(Ok(Message::Binary(bytes))) => {
                    session.count_in(bytes.len());
                    if to_host.write_all(&bytes).await.is_err() {
                        // What the host sent before it broke off still goes out.
                        return std::future::pending().await;
                    }
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => (),
                Some(Ok(Message::Text(_))) => return closing::BAD_FRAME,
                _ => return closing::NORMAL,
            }
        }
    };
    let outbound = async {
        loop {
            let piece = tokio::select! {
                piece = from_host.piece() => piece,
                () = tokio::time::sleep(KEEPALIVE) => {
                    if sink.send(Message::Ping(Default::default())).await.is_err() {
                        return closing::NORMAL;
                    }
                    continue;
                }
            };
            let Ok(Some(bytes)) = piece else { return closing::NORMAL };
            let length = bytes.len();
            if length == 0 {
                continue;
            }
            let sent = sink.send(Message::Binary(bytes));
            tokio::pin!(sent);
            let is_sent = match tokio::time::timeout(STALL, &mut sent).await {
                Ok(sent) => sent.is_ok(),
                Err(_) => {
                    session.count_stall();
                    sent.await.is_ok()
                }
            };
            if !is_sent {
                return closing::NORMAL;
            }
            session.count_out(length);
            from_host.taken(length);
        }
    };
    let farewell = tokio::select! {
        biased;
        closing = session.ended() => closing::of(closing),
        farewell = outbound => farewell,
        farewell = inbound => farewell,
    };
    let _ = to_host.shutdown().await;
    (sink.reunite(source).expect("both are halves of one socket"), farewell)
}
