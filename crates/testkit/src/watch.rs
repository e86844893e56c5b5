//! Watching events over a WebSocket, as a client does.

use std::time::Duration;

use contract::{
    Permission,
    id::{OrganizationId, UserId},
};
use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream,
    tungstenite::{self, Message, client::IntoClientRequest},
};

use crate::{Member, World};

pub struct Watch(WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>);

impl Watch {
    /// The next frame; fails the test after two minutes.
    pub async fn next(&mut self) -> serde_json::Value {
        loop {
            let message = tokio::time::timeout(Duration::from_secs(120), self.0.next()).await;
            match message.expect("a frame within two minutes").expect("the socket is open").unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Close(_) => panic!("the server closed the socket"),
                _ => (),
            }
        }
    }

    pub async fn send(&mut self, text: &str) {
        self.0.send(Message::Text(text.into())).await.unwrap();
    }
}

impl World {
    pub async fn watch(&self, organization: OrganizationId, token: &str, subject: &str) -> Watch {
        self.open(organization, token, subject).await.unwrap()
    }

    pub async fn try_watch(&self, organization: OrganizationId, token: &str) -> Result<Watch, tungstenite::Error> {
        self.open(organization, token, "").await
    }

    async fn open(
        &self,
        organization: OrganizationId,
        token: &str,
        subject: &str,
    ) -> Result<Watch, tungstenite::Error> {
        self.connect(&format!("/v1/organizations/{organization}/events/watch?subject={subject}"), token).await
    }

    /// Everything that happens on the platform, as a member of its staff may hear it.
    pub async fn watch_platform(&self, token: &str, query: &str) -> Result<Watch, tungstenite::Error> {
        self.connect(&format!("/v1/platform/events/watch?{query}"), token).await
    }

    /// What a person is told, as it comes.
    pub async fn watch_notifications(&self, token: &str) -> Watch {
        self.connect("/v1/me/notifications/watch", token).await.unwrap()
    }

    async fn connect(&self, path: &str, token: &str) -> Result<Watch, tungstenite::Error> {
        let address = self.server.base.replace("http://", "ws://") + path;
        let mut request = address.into_client_request()?;
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        Ok(Watch(tokio_tungstenite::connect_async(request).await?.0))
    }

    /// A client with a session of the person's own, not a key.
    pub async fn signed_in(&self, user: UserId) -> client::Client {
        let mut tx = kernel::Tx::system(&self.server.control_plane.db, "testkit", kernel::Access::Write).await.unwrap();
        let tokens = people::sessions::open(&self.server.control_plane.people, &mut tx, user).await.unwrap();
        tx.commit().await.unwrap();
        self.server.client(Some(tokens.access_token.expose()))
    }

    /// A client with a new key, for when time moved past the old one's end.
    pub async fn fresh_key(&self, member: &Member) -> client::Client {
        let token = self.key(member, <Permission as contract::Word>::ALL).await;
        self.server.client(Some(&token))
    }
}
