//! A client as a browser or a command line would be.

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::header::{ORIGIN, SEC_WEBSOCKET_PROTOCOL};
use protocol::stream::Frame;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

pub struct Client {
    pub socket: WebSocketStream<TcpStream>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum ClientMessage {
    Frame(Frame),
    Text(String),
    Closed(u16),
    Broken,
}

impl Client {
    pub async fn open(address: SocketAddr, path: &str, offers: &[&str]) -> Self {
        Self::try_open(address, path, offers, None).await.unwrap()
    }

    pub async fn try_open(
        address: SocketAddr,
        path: &str,
        offers: &[&str],
        origin: Option<&str>,
    ) -> Result<Self, tungstenite::Error> {
        let mut request = format!("ws://{address}{path}").into_client_request()?;
        let offered = [&["gpuaas.v1"], offers].concat().join(", ");
        request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, offered.parse().unwrap());
        if let Some(origin) = origin {
            request.headers_mut().insert(ORIGIN, origin.parse().unwrap());
        }
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (socket, response) = client_async(request, stream).await?;
        assert_eq!(response.headers()[SEC_WEBSOCKET_PROTOCOL], "gpuaas.v1");
        Ok(Self { socket })
    }

    pub async fn send(&mut self, frame: Frame) {
        self.socket.send(Message::Binary(frame.to_bytes())).await.unwrap();
    }

    pub async fn type_in(&mut self, text: &str) {
        self.send(Frame::Input(Bytes::copy_from_slice(text.as_bytes()))).await;
    }

    pub async fn hear(&mut self) -> ClientMessage {
        loop {
            let heard = tokio::time::timeout(Duration::from_secs(20), self.socket.next()).await;
            return match heard.expect("something is heard in time") {
                Some(Ok(Message::Binary(bytes))) => ClientMessage::Frame(Frame::parse(&bytes).unwrap()),
                Some(Ok(Message::Text(text))) => ClientMessage::Text(text.to_string()),
                Some(Ok(Message::Close(frame))) => ClientMessage::Closed(frame.map_or(1005, |it| it.code.into())),
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => ClientMessage::Broken,
            };
        }
    }

    /// Waits for the shell, and says where its output begins.
    pub async fn opened(&mut self) -> u64 {
        match self.hear().await {
            ClientMessage::Frame(Frame::Opened(opened)) => opened.offset,
            other => panic!("it did not open: {other:?}"),
        }
    }

    /// The output up to this many bytes.
    pub async fn output(&mut self, length: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while all.len() < length {
            match self.hear().await {
                ClientMessage::Frame(Frame::Output(_, bytes)) => all.extend_from_slice(&bytes),
                other => panic!("it is not output: {other:?}"),
            }
        }
        all
    }

    /// The code with which it was closed; frames before it are passed over.
    pub async fn closed(&mut self) -> u16 {
        loop {
            match self.hear().await {
                ClientMessage::Closed(code) => return code,
                ClientMessage::Broken => panic!("it broke off without a word"),
                _ => (),
            }
        }
    }
}
