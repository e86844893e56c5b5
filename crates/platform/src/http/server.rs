//! The API's listener: what is said on a connection, with slow senders cut off.

use std::{pin::pin, sync::Arc, time::Duration};

use axum::{Router, body::Body};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::{admit::PeerAddress, channel::Line, opening};
use listen::{Accepted, Bounds, Limits, accept};

// bound: a client that takes longer to say its first word is cut off
const FIRST_BYTES_PATIENCE: Duration = Duration::from_secs(10);
// bound: a client that takes longer to send its headers is cut off
const HEADER_PATIENCE: Duration = Duration::from_secs(10);
// bound: how often a connection of HTTP/2 is asked whether somebody is there
const PING_EVERY: Duration = Duration::from_secs(20);
// bound: one that takes longer to answer that is closed
const PING_PATIENCE: Duration = Duration::from_secs(10);
// bound: after this long a stop no longer waits for requests
const STOP_PATIENCE: Duration = Duration::from_secs(20);
// bound: a connection this old takes no further requests; those that run are finished.
// A peer that answers pings and takes no answers keeps them in memory no longer than that.
const AGE: Duration = Duration::from_secs(900);
// bound: how long they may take, then it is cut off
const LAST_WORDS: Duration = Duration::from_secs(900);
// bound: room for headers in one connection's buffer; policy narrows it further
const BUFFER_BYTES: usize = 128 * 1024;

/// Serves until stopped, then finishes what runs.
pub async fn serve(listener: TcpListener, router: Router, limits: Limits, stop: CancellationToken) {
    serve_aged(listener, router, limits, stop, (AGE, LAST_WORDS)).await;
}

async fn serve_aged(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    stop: CancellationToken,
    (age, last_words): (Duration, Duration),
) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .max_buf_size(BUFFER_BYTES)
        .keep_alive(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_PATIENCE)
        .max_concurrent_streams(128)
        .max_header_list_size(64 * 1024);
    let builder = Arc::new(builder);
    let bounds = Bounds { name: "api", limits, stop_patience: STOP_PATIENCE };
    let stopping = stop.clone();
    accept(listener, bounds, stop, |Accepted { stream, address, watcher, place }| {
        let (builder, router, stopping) = (builder.clone(), router.clone(), stopping.clone());
        let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(PeerAddress(address));
            request.extensions_mut().insert(Line::new(&place));
            let (router, busy) = (router.clone(), place.busy());
            async move {
                let answer = kernel::one_connection(router.oneshot(request)).await?;
                Ok::<_, std::convert::Infallible>(answer.map(|body| match body.size_hint().exact() {
                    Some(_) => body,
                    // What is still being made keeps the connection busy.
                    None => Body::new(body.map_frame(move |frame| {
                        let _ = &busy;
                        frame
                    })),
                }))
            }
        });
        async move {
            let Some(stream) = opening::open(stream, FIRST_BYTES_PATIENCE).await else { return };
            // A stop waits for whoever holds one.
            let _watcher = watcher;
            let mut connection = pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
            tokio::select! {
                // A peer that breaks off is its own business.
                _ = connection.as_mut() => return,
                () = stopping.cancelled() => (),
                () = tokio::time::sleep(age) => (),
            }
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(last_words, connection).await;
        }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
    };

    use super::*;

    /// What a client of HTTP/2 begins with: the preface and settings that change nothing.
    const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

    #[tokio::test]
    async fn old_connection_is_closed_while_its_peer_still_answers() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let ages = (Duration::from_millis(100), Duration::from_millis(100));
        let limits = Limits { most: 8, per_peer: 8, exempt: Vec::new() };
        let serving = tokio::spawn(serve_aged(listener, Router::new(), limits, stop.clone(), ages));
        let mut peer = TcpStream::connect(address).await.unwrap();
        peer.write_all(HELLO).await.unwrap();
        // Without a limit it would be asked for a sign of life every twenty seconds, and stay.
        let mut said = Vec::new();
        let closed = tokio::time::timeout(PING_EVERY / 2, peer.read_to_end(&mut said)).await;
        assert!(closed.is_ok(), "it is still open");
        stop.cancel();
        serving.await.unwrap();
    }
}
