//! The node listener: connections that are each known by the certificate that
//! they showed, and cut when that certificate stops working.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use listen::Limits;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;

use super::{
    NodeApi,
    certificate_checks::ConnectionPermit,
    refusal::{self, Refusal},
    requests,
    tls::{Tls, TlsError},
};
use crate::ca::Peer;
use listen::{Accepted, Bounds, accept};

// bound: a host that takes longer to greet is cut off
const HANDSHAKE: Duration = Duration::from_secs(10);
// bound: the longest silence between two requests of one connection, headers included
const HEADERS: Duration = Duration::from_secs(90);
// bound: who shows no certificate enrolls and goes
const STRANGER: Duration = Duration::from_secs(30);
// bound: connections of one peer that have not shown a certificate that works
const STRANGERS_PER_PEER: usize = 512;
// bound: after this long a stop no longer waits for requests
const STOP: Duration = Duration::from_secs(10);
// bound: room for headers in one connection's buffer
const BUFFER_BYTES: usize = 64 * 1024;

/// Who is at the other end of a connection.
pub struct Caller {
    pub address: IpAddr,
    /// Counts connections; the same number is the same connection.
    pub connection: u64,
    pub peer: Option<(Peer, Result<ConnectionPermit, Refusal>)>,
}

/// Serves until stopped, then finishes what runs.
pub async fn serve(api: Arc<NodeApi>, listener: TcpListener, stop: CancellationToken) -> Result<(), TlsError> {
    let tls = Tls::new(api.area.ca.clone(), api.area.config.node.names.clone())?;
    let acceptor = TlsAcceptor::from(tls.config()?);
    let counter = AtomicU64::new(1);
    let most = api.area.config.node.max_connections;
    let limits = Limits { most, per_peer: STRANGERS_PER_PEER.min(most), exempt: Vec::new() };
    let bounds = Bounds { name: "nodes", limits, stop_patience: STOP };
    accept(listener, bounds, stop, |accepted| {
        let connection = counter.fetch_add(1, Ordering::Relaxed);
        let (api, acceptor) = (api.clone(), acceptor.clone());
        async move {
            let open = metrics::gauge!("gpuaas_node_connections");
            open.increment(1.0);
            talk(api, acceptor, accepted, connection).await;
            open.decrement(1.0);
        }
    })
    .await;
    Ok(())
}

async fn talk(api: Arc<NodeApi>, acceptor: TlsAcceptor, accepted: Accepted, connection: u64) {
    let Accepted { stream, address, watcher, place } = accepted;
    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await else {
        // Who cannot greet properly is its own business; foreign certificates were counted.
        return;
    };
    let peer = match identify(&stream) {
        Ok(None) => None,
        Ok(Some(peer)) => {
            let held = api.area.certificate_checks.admit(&api.area.db, &peer, connection).await;
            if held.is_ok() {
                place.vouch();
            }
            Some((peer, held))
        }
        Err(NotANode) => return refusal::count(Refusal::NotANode.code()),
    };
    // Kept beside the service, which a request may outlive.
    let cut = match &peer {
        Some((_, Ok(held))) => held.cut.clone(),
        Some((_, Err(_))) | None => CancellationToken::new(),
    };
    let is_stranger = !matches!(peer, Some((_, Ok(_))));
    let caller = Arc::new(Caller { address, connection, peer });
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (api, caller) = (api.clone(), caller.clone());
        let busy = place.busy();
        async move {
            let _busy = busy;
            let answer = kernel::one_connection(requests::answer(&api, &caller, request)).await;
            Ok::<_, std::convert::Infallible>(answer)
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADERS).max_buf_size(BUFFER_BYTES).keep_alive(true);
    let served = watcher.watch(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // A host that breaks off is its own business.
        _ = served => (),
        () = cut.cancelled() => refusal::count("cut_off"),
        () = tokio::time::sleep(STRANGER), if is_stranger => (),
    }
}

struct NotANode;

/// Who the certificate says it is; nobody when none was shown.
fn identify(stream: &TlsStream<TcpStream>) -> Result<Option<Peer>, NotANode> {
    let (_, session) = stream.get_ref();
    match session.peer_certificates() {
        None | Some([]) => Ok(None),
        Some([leaf, ..]) => Peer::read(leaf).map(Some).ok_or(NotANode),
    }
}
