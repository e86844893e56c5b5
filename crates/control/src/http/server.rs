//! The API's listener: what is said on a connection, with slow senders cut off.

use std::{sync::Arc, time::Duration};

use axum::Router;
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::admit::PeerAddress;
use crate::accept::{Bounds, accept};

// bound: a client that takes longer to send its headers is cut off
const HEADER_PATIENCE: Duration = Duration::from_secs(10);
// bound: after this long a stop no longer waits for requests
const STOP_PATIENCE: Duration = Duration::from_secs(20);
// bound: room for headers in one connection's buffer; policy narrows it further
const BUFFER_BYTES: usize = 128 * 1024;

/// Serves until stopped, then finishes what runs.
pub async fn serve(listener: TcpListener, router: Router, max_connections: usize, stop: CancellationToken) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .max_buf_size(BUFFER_BYTES)
        .keep_alive(true);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(128).max_header_list_size(64 * 1024);
    let builder = Arc::new(builder);
    let bounds = Bounds { name: "api", max_connections, stop_patience: STOP_PATIENCE };
    accept(listener, bounds, stop, |stream, peer, watcher| {
        let (builder, router) = (builder.clone(), router.clone());
        let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(PeerAddress(peer));
            router.clone().oneshot(request)
        });
        async move {
            let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
            // A peer that breaks off is its own business.
            let _ = watcher.watch(connection).await;
        }
    })
    .await;
}
