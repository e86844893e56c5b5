//! The listener for hosts: each dials in, is known by certificate, and keeps one
//! connection on which the gateway opens streams.

mod hub;
mod peer;
mod stream;
mod tls;

pub use hub::{Hub, codes};
pub use stream::{FrameReader, FrameWriter, RawReader, RawStream, RawWriter, Stream, StreamError};
pub use tls::{AgentsTls, TlsError};

use crate::Gateway;
use crate::control::ControlError;
use peer::Peer;
use protocol::PROTOCOL;
use protocol::gateway::AdmitRequest;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::{TlsAcceptor, server::TlsStream};

const HANDSHAKE: Duration = Duration::from_secs(10); // bound: a host that takes longer to greet is cut off
const PAUSE: Duration = Duration::from_millis(50); // bound: a pause when file handles are short, not a limit

/// Takes hosts in until stopped; those that are in stay until the last session has ended.
pub async fn serve(gateway: Arc<Gateway>, listener: TcpListener) {
    let acceptor = TlsAcceptor::from(gateway.agents_tls.config.clone());
    let places = Arc::new(Semaphore::new(gateway.settings.max_nodes));
    loop {
        let place = tokio::select! {
            () = gateway.stop.cancelled() => break,
            place = places.clone().acquire_owned() => place.expect("the semaphore is never closed"),
        };
        let accepted = tokio::select! {
            () = gateway.stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "accepting a host failed");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let (gateway, acceptor) = (gateway.clone(), acceptor.clone());
        tokio::spawn(async move {
            let _place = place;
            let _ = stream.set_nodelay(true);
            tokio::select! {
                () = gateway.finished.cancelled() => (),
                () = welcome(&gateway, acceptor, stream) => (),
            }
        });
    }
}

async fn welcome(gateway: &Arc<Gateway>, acceptor: TlsAcceptor, stream: TcpStream) {
    let stream = match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::info!(%error, "the greeting of a host failed");
            return refused("foreign_certificate");
        }
        Err(_) => return refused("slow_handshake"),
    };
    let Some(peer) = identify(&stream) else {
        tracing::info!("a certificate does not belong to a node");
        return refused("not_a_node");
    };
    let request = AdmitRequest { protocol: PROTOCOL, node: peer.node.clone(), serial: peer.serial };
    match gateway.control.admit(&request).await {
        Ok(answer) if answer.is_admitted => (),
        Ok(_) => {
            tracing::info!(node = %peer.node, "a host is not admitted");
            return refused("not_admitted");
        }
        Err(error) => {
            tracing::warn!(node = %peer.node, %error, "the control plane could not be asked whether a host may connect; the host will retry");
            return refused(if matches!(error, ControlError::Refused { .. }) {
                "not_admitted"
            } else {
                "control_away"
            });
        }
    }
    gateway.hub.keep(&peer.node, stream).await;
}

fn identify(stream: &TlsStream<TcpStream>) -> Option<Peer> {
    let (_, session) = stream.get_ref();
    if session.alpn_protocol() != Some(protocol::stream::ALPN) {
        return None;
    }
    Peer::read(session.peer_certificates()?.first()?)
}

fn refused(reason: &'static str) {
    metrics::counter!("gpuaas_gateway_refused_hosts_total", "reason" => reason).increment(1);
}
