//! A gateway in the test's own process, which joined as any other does, and
//! clients of its terminals.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use client::Client;
use contract::{
    Nothing,
    gateways::{CreateGateway, Gateway as Shown, GatewayPath, GatewaySpec, GatewayStatus, GetGateway},
    id::{GatewayId, RegionId},
};
use futures_util::{SinkExt, StreamExt};
use gateway::{
    Listeners, Settings,
    control::Control,
    identity::{Folder, Identity, join},
};
use http::header::SEC_WEBSOCKET_PROTOCOL;
use protocol::stream::{Frame, StreamEnded};
use tempfile::TempDir;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest},
};
use tokio_util::sync::CancellationToken;
use trust::{ControlClock, Trust};

use crate::{Server, server::eventually};

pub const WEB_DOMAIN: &str = "web.localhost";

pub struct Gateway {
    pub id: GatewayId,
    pub public: SocketAddr,
    /// Where hosts reach it.
    pub agents: SocketAddr,
    pub ssh: SocketAddr,
    pub folder: TempDir,
    stop: CancellationToken,
    running: Option<JoinHandle<()>>,
}

impl Gateway {
    /// Adds a gateway to the region, joins and runs it.
    pub async fn start(server: &Server, operator: &Client, region: RegionId, name: &str) -> Gateway {
        Gateway::start_with(server, operator, region, name, |_| ()).await
    }

    pub async fn start_with(
        server: &Server,
        operator: &Client,
        region: RegionId,
        name: &str,
        adjust: impl FnOnce(&mut Settings),
    ) -> Gateway {
        let agents = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let public = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let ssh = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (identity, folder) = joined(server, operator, region, name, (&agents, &public)).await;
        let id = identity.gateway_id.parse().unwrap();
        let [address, hosts, ssh_address] = [&public, &agents, &ssh].map(|it| it.local_addr().unwrap());
        let mut settings = Settings::new(folder.path(), "test");
        (settings.web_domain, settings.is_web_secure) = (Some(WEB_DOMAIN.into()), false);
        adjust(&mut settings);
        let stop = CancellationToken::new();
        let running = tokio::spawn({
            let stop = stop.clone();
            let listeners = Listeners { agents, public, ssh: Some(ssh), ops: None };
            async move { gateway::run(settings, listeners, stop).await.unwrap() }
        });
        Gateway { id, public: address, agents: hosts, ssh: ssh_address, folder, stop, running: Some(running) }
    }

    /// Waits until so many hosts are connected to it.
    pub async fn has_hosts(&self, operator: &Client, count: u32) {
        eventually("hosts at the gateway", || async {
            let shown = self.shown(operator).await;
            shown.status == GatewayStatus::Live && shown.nodes == count
        })
        .await;
    }

    pub async fn shown(&self, operator: &Client) -> Shown {
        let path = GatewayPath { gateway_id: self.id };
        operator.call::<GetGateway>(path, Nothing {}, Nothing {}).await.unwrap()
    }

    /// Ends as a signal ends it.
    pub async fn stop(&mut self) {
        self.stop.cancel();
        if let Some(running) = self.running.take() {
            running.await.unwrap();
        }
    }

    pub fn identity(&self) -> Identity {
        Folder::open(self.folder.path()).unwrap().identity().unwrap().unwrap()
    }

    /// Who it is, for calls of its own to the control plane.
    pub fn control(&self) -> Control {
        control(&self.identity())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Calls under an identity.
pub fn control(identity: &Identity) -> Control {
    let clock = ControlClock::default();
    let tls = Trust::in_roots(&identity.roots).unwrap().identified(&identity.pair, &clock).unwrap();
    Control::new(&identity.url, tls).unwrap()
}

/// An identity that was joined with, and the folder that holds it.
pub async fn joined(
    server: &Server,
    operator: &Client,
    region: RegionId,
    name: &str,
    (agents, public): (&TcpListener, &TcpListener),
) -> (Identity, TempDir) {
    let spec = GatewaySpec {
        name: name.parse().unwrap(),
        region_id: region,
        agent_url: format!("https://{}", agents.local_addr().unwrap()).parse().unwrap(),
        public_url: format!("ws://{}", public.local_addr().unwrap()).parse().unwrap(),
        ssh_address: None,
        web_domain: WEB_DOMAIN.parse().unwrap(),
    };
    let added = operator.call::<CreateGateway>(Nothing {}, Nothing {}, spec).await.unwrap();
    let url = format!("https://{}", server.node_address.unwrap());
    let trust = Trust::in_fingerprint(&added.ca_fingerprint).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kept = Folder::open(folder.path()).unwrap();
    let identity = join(&url, added.secret.expose(), &trust, "test", kept.asked().unwrap()).await.unwrap();
    kept.save_identity(&identity).unwrap();
    (identity, folder)
}

/// A terminal as the command line opens it.
pub struct Terminal {
    socket: WebSocketStream<TcpStream>,
    /// What was printed, all together.
    pub printed: Vec<u8>,
    /// Up to which offset output was seen.
    pub seen: u64,
}

/// How a terminal ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    Exit(i32),
    /// The code of the farewell.
    Closed(u16),
    Broken,
}

// bound: what a test waits for a word
const PATIENCE: Duration = Duration::from_secs(30);

impl Terminal {
    pub async fn open(address: SocketAddr, ticket: &str) -> Terminal {
        Terminal::offering(address, ticket, "gpuaas.size.100x30").await
    }

    /// Comes back with all output up to the offset seen.
    pub async fn come_back(address: SocketAddr, ticket: &str, seen: u64) -> Terminal {
        Terminal::offering(address, ticket, &format!("gpuaas.seen.{seen}")).await
    }

    async fn offering(address: SocketAddr, ticket: &str, more: &str) -> Terminal {
        let mut request = format!("ws://{address}/v1/terminal").into_client_request().unwrap();
        let offered = format!("gpuaas.v1, gpuaas.ticket.{ticket}, {more}");
        request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, offered.parse().unwrap());
        let stream = TcpStream::connect(address).await.unwrap();
        let (socket, _) = client_async(request, stream).await.unwrap();
        Terminal { socket, printed: Vec::new(), seen: 0 }
    }

    pub async fn send(&mut self, frame: Frame) {
        self.socket.send(Message::Binary(frame.to_bytes())).await.unwrap();
    }

    pub async fn type_in(&mut self, text: &str) {
        self.send(Frame::Input(Bytes::copy_from_slice(text.as_bytes()))).await;
    }

    /// Reads until the text was printed, and says whether that happened.
    pub async fn prints(&mut self, text: &str) -> bool {
        while !String::from_utf8_lossy(&self.printed).contains(text) {
            if self.hear().await.is_some() {
                return false;
            }
        }
        true
    }

    /// Reads to the end.
    pub async fn ends(&mut self) -> Ending {
        loop {
            if let Some(ending) = self.hear().await {
                return ending;
            }
        }
    }

    async fn hear(&mut self) -> Option<Ending> {
        let heard = tokio::time::timeout(PATIENCE, self.socket.next()).await.expect("something is heard in time");
        match heard {
            Some(Ok(Message::Binary(bytes))) => match Frame::parse(&bytes).unwrap() {
                Frame::Output(offset, bytes) => {
                    self.seen = offset + bytes.len() as u64;
                    self.printed.extend_from_slice(&bytes);
                    None
                }
                Frame::Screen(offset, bytes) => {
                    self.seen = offset;
                    self.printed.extend_from_slice(&bytes);
                    None
                }
                Frame::Exit(StreamEnded { code, .. }) => Some(Ending::Exit(code)),
                _ => None,
            },
            Some(Ok(Message::Close(frame))) => Some(Ending::Closed(frame.map_or(1005, |it| it.code.into()))),
            Some(Ok(_)) => None,
            Some(Err(_)) | None => Some(Ending::Broken),
        }
    }
}
