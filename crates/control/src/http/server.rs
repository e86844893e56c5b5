//! The listener: bounded connections, slow senders cut off, and a stop that
//! lets running requests finish.

use std::{sync::Arc, time::Duration};

use axum::Router;
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::admit::PeerAddress;

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
    let places = Arc::new(Semaphore::new(max_connections));
    let graceful = GracefulShutdown::new();
    loop {
        let place = tokio::select! {
            () = stop.cancelled() => break,
            place = places.clone().acquire_owned() => place.expect("the semaphore is never closed"),
        };
        let (stream, peer) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection failed");
                    // Out of file handles: give others time to close theirs.
                    tokio::time::sleep(Duration::from_millis(50)).await; // bound: a pause, not a limit
                    continue;
                }
            },
        };
        let _ = stream.set_nodelay(true);
        let router = router.clone();
        let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(PeerAddress(peer.ip()));
            router.clone().oneshot(request)
        });
        let watcher = graceful.watcher();
        let builder = builder.clone();
        tokio::spawn(async move {
            let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
            // A peer that breaks off is its own business.
            let _ = watcher.watch(connection).await;
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(STOP_PATIENCE, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in time and were cut off");
    }
}
