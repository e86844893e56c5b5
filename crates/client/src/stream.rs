//! Streams through a gateway: a terminal in frames, or the bytes of a connection.
//! The ticket travels in the handshake's list of protocols and never in an address.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use http::{StatusCode, header};
use protocol::stream::{Frame, MAX_FRAME_BYTES, Size};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::client::generate_key,
        protocol::{Role, WebSocketConfig},
    },
};
use url::Url;

use crate::{ClientError, channel::accepts, client::connector};

/// The one protocol that is spoken; the others in the list carry what it needs.
const PROTOCOL: &str = "gpuaas.v1";
// bound: a gateway that takes longer to answer is as good as away
const PATIENCE: Duration = Duration::from_secs(15);
// bound: a goodbye is not waited for longer
const FAREWELL: Duration = Duration::from_secs(2);
/// What stands for a close without a code, as browsers say it.
pub const BROKEN: u16 = 1006;

/// What is said about the stream when it is opened.
#[derive(Debug, Clone, Default)]
pub struct Hello {
    /// Up to where output was seen before.
    pub seen: Option<u64>,
    pub size: Option<Size>,
}

/// What came from the other end.
#[derive(Debug)]
pub enum StreamMessage {
    Frame(Frame),
    Bytes(Bytes),
    Text(String),
    /// The last one: the gateway's code and its reason.
    Closed(u16, String),
}

type Socket = WebSocketStream<reqwest::Upgraded>;

/// The half of an open stream that is written to.
pub struct Sender {
    sink: SplitSink<Socket, Message>,
    address: String,
}

/// The half of an open stream that is read from.
pub struct Receiver {
    source: SplitStream<Socket>,
    address: String,
}

/// Whom the handshake shows.
pub enum Pass<'a> {
    /// A ticket, which works once.
    Ticket(&'a str),
    /// The key of a session that is open.
    Session(&'a str),
}

/// Opens a terminal at the gateway's address.
pub async fn terminal(gateway: &str, ticket: &str, hello: &Hello) -> Result<(Sender, Receiver), ClientError> {
    open(gateway, "v1/terminal", &Pass::Ticket(ticket), hello).await
}

/// Opens a session of forwards, or one connection of it.
pub async fn forward(gateway: &str, pass: &Pass<'_>) -> Result<(Sender, Receiver), ClientError> {
    open(gateway, "v1/forward", pass, &Hello::default()).await
}

async fn open(gateway: &str, path: &str, pass: &Pass<'_>, hello: &Hello) -> Result<(Sender, Receiver), ClientError> {
    let url = address(gateway, path)?;
    let address = gateway.to_owned();
    let silent = |source| ClientError::Unreachable { address: address.clone(), source: Box::new(source) };
    let offered = protocols(pass, hello);
    let upgraded = tokio::time::timeout(PATIENCE, shake_hands(url, &address, &offered)).await.map_err(silent)??;
    let config = WebSocketConfig::default().max_message_size(Some(MAX_FRAME_BYTES + 1024));
    let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await;
    let (sink, source) = socket.split();
    Ok((Sender { sink, address: address.clone() }, Receiver { source, address }))
}

impl Receiver {
    /// What comes next. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<StreamMessage, ClientError> {
        loop {
            let message = match self.source.next().await {
                None => return Ok(StreamMessage::Closed(BROKEN, "the connection was lost".into())),
                Some(message) => message.map_err(|error| lost(&self.address, error))?,
            };
            match message {
                Message::Binary(bytes) => return Ok(StreamMessage::Bytes(bytes)),
                Message::Text(text) => return Ok(StreamMessage::Text(text.to_string())),
                Message::Close(None) => return Ok(StreamMessage::Closed(BROKEN, String::new())),
                Message::Close(Some(why)) => return Ok(StreamMessage::Closed(why.code.into(), why.reason.to_string())),
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => (),
            }
        }
    }

    /// The next frame of a terminal.
    pub async fn next_frame(&mut self) -> Result<StreamMessage, ClientError> {
        match self.next().await? {
            StreamMessage::Bytes(bytes) => {
                Frame::parse(&bytes).map(StreamMessage::Frame).map_err(|error| ClientError::Malformed {
                    address: self.address.clone(),
                    status: StatusCode::SWITCHING_PROTOCOLS.as_u16(),
                    what: error.to_string(),
                })
            }
            other => Ok(other),
        }
    }
}

impl Sender {
    pub async fn send_frame(&mut self, frame: &Frame) -> Result<(), ClientError> {
        self.send(frame.to_bytes()).await
    }

    /// Sends bytes as one message, and waits until they are on their way.
    pub async fn send(&mut self, bytes: Bytes) -> Result<(), ClientError> {
        self.sink.send(Message::Binary(bytes)).await.map_err(|error| lost(&self.address, error))
    }

    pub async fn close(&mut self) {
        // Whoever is gone already cannot be told.
        let _ = tokio::time::timeout(FAREWELL, self.sink.close()).await;
    }
}

fn protocols(pass: &Pass<'_>, hello: &Hello) -> String {
    let pass = match pass {
        Pass::Ticket(ticket) => format!("gpuaas.ticket.{ticket}"),
        Pass::Session(key) => format!("gpuaas.session.{key}"),
    };
    let mut list = format!("{PROTOCOL}, {pass}");
    if let Some(seen) = hello.seen {
        list.push_str(&format!(", gpuaas.seen.{seen}"));
    }
    if let Some(Size { columns, rows }) = hello.size {
        list.push_str(&format!(", gpuaas.size.{columns}x{rows}"));
    }
    list
}

/// The address of a path at a gateway, whether it is given as `wss` or `https`.
fn address(gateway: &str, path: &str) -> Result<Url, ClientError> {
    let unusable = || ClientError::Unsendable(format!("the gateway URL {gateway} is not valid"));
    let text = match gateway.split_once("://") {
        Some(("wss" | "https", rest)) => format!("https://{rest}"),
        Some(("ws" | "http", rest)) => format!("http://{rest}"),
        _ => return Err(unusable()),
    };
    Url::parse(&format!("{}/{path}", text.trim_end_matches('/'))).map_err(|_| unusable())
}

async fn shake_hands(url: Url, address: &str, protocols: &str) -> Result<reqwest::Upgraded, ClientError> {
    let lost = |error: reqwest::Error| ClientError::Unreachable {
        address: address.to_owned(),
        source: Box::new(error.without_url()),
    };
    let mut offered = http::HeaderValue::from_str(protocols)
        .map_err(|_| ClientError::Unsendable("the ticket is malformed; request another one".into()))?;
    offered.set_sensitive(true);
    let key = generate_key();
    let http = connector(reqwest::Client::builder().http1_only())?;
    let response = http
        .get(url)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, &key)
        .header(header::SEC_WEBSOCKET_PROTOCOL, offered)
        .send()
        .await
        .map_err(lost)?;
    let status = response.status();
    if status != StatusCode::SWITCHING_PROTOCOLS || !accepts(response.headers(), &key) {
        let what = "the WebSocket upgrade failed; a proxy may be blocking WebSockets".to_owned();
        return Err(ClientError::Malformed { address: address.to_owned(), status: status.as_u16(), what });
    }
    response.upgrade().await.map_err(lost)
}

fn lost(address: &str, error: tokio_tungstenite::tungstenite::Error) -> ClientError {
    ClientError::Unreachable { address: address.to_owned(), source: Box::new(error) }
}

#[cfg(test)]
mod tests {
    use protocol::stream::StreamEnded;
    use tokio::net::TcpListener;
    use tokio_tungstenite::tungstenite::{
        handshake::server::{Request, Response},
        protocol::{CloseFrame, frame::coding::CloseCode},
    };

    use super::*;

    #[tokio::test]
    async fn the_ticket_is_in_the_handshake_and_frames_go_both_ways() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let gateway = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut asked = (String::new(), String::new());
            #[expect(clippy::result_large_err, reason = "the callback's type is the library's")]
            let look = |request: &Request, mut response: Response| {
                let offered = request.headers()[header::SEC_WEBSOCKET_PROTOCOL].to_str().unwrap().to_owned();
                asked = (request.uri().to_string(), offered);
                response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, "gpuaas.v1".parse().unwrap());
                Ok(response)
            };
            let mut socket = tokio_tungstenite::accept_hdr_async(stream, look).await.unwrap();
            let typed = socket.next().await.unwrap().unwrap().into_data();
            let exit = Frame::Exit(StreamEnded { code: 3, signal: None });
            socket.send(Message::Binary(exit.to_bytes())).await.unwrap();
            let why = CloseFrame { code: CloseCode::from(4408), reason: "time_limit".into() };
            socket.close(Some(why)).await.unwrap();
            (asked, typed)
        });
        let hello = Hello { seen: Some(7), size: Some(Size { columns: 100, rows: 30 }) };
        let (mut to, mut from) = terminal(&url, "abc", &hello).await.unwrap();
        to.send_frame(&Frame::Input(Bytes::from_static(b"id\n"))).await.unwrap();
        assert!(matches!(from.next_frame().await.unwrap(), StreamMessage::Frame(Frame::Exit(it)) if it.code == 3));
        assert!(
            matches!(from.next_frame().await.unwrap(), StreamMessage::Closed(4408, reason) if reason == "time_limit")
        );
        let ((uri, offered), typed) = gateway.await.unwrap();
        assert_eq!(uri, "/v1/terminal");
        assert_eq!(offered, "gpuaas.v1, gpuaas.ticket.abc, gpuaas.seen.7, gpuaas.size.100x30");
        assert_eq!(Frame::parse(&typed), Ok(Frame::Input(Bytes::from_static(b"id\n"))));
    }

    #[test]
    fn a_gateway_url_must_be_valid() {
        assert_eq!(address("wss://gw.example", "v1/x").unwrap().as_str(), "https://gw.example/v1/x");
        assert_eq!(address("http://127.0.0.1:9/", "v1/x").unwrap().as_str(), "http://127.0.0.1:9/v1/x");
        assert!(address("gw.example", "v1/x").is_err());
    }
}
