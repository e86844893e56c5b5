//! Conversations over a WebSocket. The handshake is a request like any other,
//! so TLS, credentials and refusals are those of every call.

use std::marker::PhantomData;

use contract::Channel;
use futures_util::{SinkExt, StreamExt};
use http::{HeaderMap, Method, StatusCode, header};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::{client::generate_key, derive_accept_key},
        protocol::Role,
    },
};

use crate::{
    Client, ClientError, address,
    answer::{Answer, malformed},
    client::connector,
    request::{Prepared, unserializable},
};

/// An open channel that speaks its frame types.
pub struct Conversation<C> {
    socket: WebSocketStream<reqwest::Upgraded>,
    address: String,
    frames: PhantomData<fn() -> C>,
}

impl Client {
    /// Opens a channel. Not tried again: only the caller knows what it missed.
    pub async fn open<C: Channel>(&self, path: C::Path, query: C::Query) -> Result<Conversation<C>, ClientError> {
        let prepared = Prepared {
            operation: C::INFO.operation,
            media: C::INFO.media,
            method: Method::GET,
            url: address::build(&self.base, C::INFO.path, &path, &query)?,
            body: None,
            key: None,
            repeatable: false,
        };
        let address = prepared.address();
        let patience = self.options.timeout;
        let silent = |source| ClientError::Unreachable { address: address.clone(), source: Box::new(source) };
        let upgraded = tokio::time::timeout(patience, self.shake_hands(&prepared)).await.map_err(silent)??;
        let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, None).await;
        Ok(Conversation { socket, address, frames: PhantomData })
    }

    async fn shake_hands(&self, prepared: &Prepared) -> Result<reqwest::Upgraded, ClientError> {
        let lost = |error: reqwest::Error| ClientError::Unreachable {
            address: prepared.address(),
            source: Box::new(error.without_url()),
        };
        // An upgrade exists in HTTP/1.1 only, and no limit may cut a conversation that goes on.
        let http = connector(reqwest::Client::builder().http1_only())?;
        let key = generate_key();
        let mut request = http
            .get(prepared.url.clone())
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, &key);
        if let Some(value) = self.credential.header()? {
            request = request.header(header::AUTHORIZATION, value);
        }
        let response = request.send().await.map_err(lost)?;
        let status = response.status();
        if status != StatusCode::SWITCHING_PROTOCOLS || !accepts(response.headers(), &key) {
            let refused = Answer::receive(response, prepared).await;
            let what = "the WebSocket upgrade failed; a proxy may be blocking WebSockets";
            return Err(match refused {
                Err(failure) => failure.error,
                Ok(_) => malformed(prepared, status, what.to_owned()),
            });
        }
        response.upgrade().await.map_err(lost)
    }
}

impl<C: Channel> Conversation<C> {
    /// The next frame; `None` when the server said goodbye. Dropping the
    /// future loses nothing.
    pub async fn next(&mut self) -> Result<Option<C::ToClient>, ClientError> {
        while let Some(message) = self.socket.next().await {
            match message.map_err(|error| self.lost(error))? {
                // A newer server may have more to say than this client knows.
                Message::Text(text) => {
                    if let Ok(frame) = serde_json::from_str(&text) {
                        return Ok(Some(frame));
                    }
                }
                Message::Close(_) => return Ok(None),
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => (),
            }
        }
        Ok(None)
    }

    pub async fn say(&mut self, frame: &C::FromClient) -> Result<(), ClientError> {
        let text = serde_json::to_string(frame).map_err(unserializable)?;
        self.socket.send(Message::Text(text.into())).await.map_err(|error| self.lost(error))
    }

    fn lost(&self, error: tokio_tungstenite::tungstenite::Error) -> ClientError {
        ClientError::Unreachable { address: self.address.clone(), source: Box::new(error) }
    }
}

pub(crate) fn accepts(headers: &HeaderMap, key: &str) -> bool {
    let expected = derive_accept_key(key.as_bytes());
    headers.get(header::SEC_WEBSOCKET_ACCEPT).is_some_and(|it| it.as_bytes() == expected.as_bytes())
}

#[cfg(test)]
mod tests {
    use contract::{
        Code,
        events::{WatchEvents, WatchFilter, WatchFrame, WatchRequest},
        id::OrganizationId,
        organizations::OrganizationPath,
    };
    use tokio::net::TcpListener;

    use super::*;
    use crate::{
        Credential,
        scripted::{Act, Server},
    };

    async fn watch(url: &str) -> Result<Conversation<WatchEvents>, ClientError> {
        let client = Client::new(url, Credential::bearer("gk-1-hidden")).unwrap();
        let path = OrganizationPath { organization_id: OrganizationId::generate() };
        client.open::<WatchEvents>(path, WatchFilter { subject: Some("project.".into()), after: None }).await
    }

    #[tokio::test]
    async fn channel_frames_go_both_ways_and_unknown_ones_are_ignored() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
            for text in [r#"{"type":"of_tomorrow"}"#, r#"{"type":"ready"}"#] {
                socket.send(Message::text(text)).await.unwrap();
            }
            let heard = socket.next().await.unwrap().unwrap().into_text().unwrap().to_string();
            socket.close(None).await.unwrap();
            heard
        });
        let mut conversation = watch(&url).await.unwrap();
        assert!(matches!(conversation.next().await.unwrap(), Some(WatchFrame::Ready)));
        conversation.say(&WatchRequest::Ping).await.unwrap();
        assert!(conversation.next().await.unwrap().is_none());
        assert_eq!(server.await.unwrap(), r#"{"type":"ping"}"#);
    }

    #[tokio::test]
    async fn a_refused_channel_returns_the_same_problem_as_any_call() {
        let server = Server::start(vec![Act::problem(Code::Forbidden)]).await;
        let error = watch(&server.url).await.err().unwrap();
        assert!(error.is(Code::Forbidden), "{error}");
        let request = &server.requests()[0];
        assert!(request.line.ends_with("/events/watch?subject=project."), "{}", request.line);
        assert_eq!(request.header("authorization"), Some("Bearer gk-1-hidden"));
        assert_eq!(request.header("upgrade"), Some("websocket"));
    }

    #[tokio::test]
    async fn a_channel_response_without_an_upgrade_is_malformed() {
        let server = Server::start(vec![Act::text(200, "<html></html>".into())]).await;
        let error = watch(&server.url).await.err().unwrap();
        assert!(matches!(error, ClientError::Malformed { .. }), "{error}");
    }
}
