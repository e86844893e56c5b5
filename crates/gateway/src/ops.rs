//! The listener for those who watch over the gateway: whether it lives, whether
//! it can take people in, and what it counts.

use crate::Gateway;
use crate::public::{Body, plain};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

const MOST_CONNECTIONS: usize = 32; // bound: a few probes and scrapers
const HEADERS: Duration = Duration::from_secs(30); // bound: also the silence between two requests
const PAUSE: Duration = Duration::from_millis(50); // bound: a pause when file handles are short, not a limit

/// Serves until the last session has ended.
pub async fn serve(gateway: Arc<Gateway>, listener: TcpListener) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let place = places.clone().acquire_owned().await.expect("the semaphore is never closed");
        let accepted = tokio::select! {
            () = gateway.finished.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let gateway = gateway.clone();
        tokio::spawn(async move {
            let _place = place;
            let finished = gateway.finished.clone();
            let service = service_fn(move |request| {
                let answered = answer(&gateway, &request);
                async move { Ok::<_, Infallible>(answered) }
            });
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HEADERS);
            tokio::select! {
                _ = builder.serve_connection(TokioIo::new(stream), service) => (),
                () = finished.cancelled() => (),
            }
        });
    }
}

fn answer(gateway: &Gateway, request: &Request<Incoming>) -> Response<Body> {
    match request.uri().path() {
        "/healthz" => plain(StatusCode::OK, "ok\n"),
        "/readyz" if gateway.stop.is_cancelled() => {
            plain(StatusCode::SERVICE_UNAVAILABLE, "this gateway is shutting down\n")
        }
        "/readyz" if !gateway.is_heard.load(Relaxed) => {
            plain(StatusCode::SERVICE_UNAVAILABLE, "the control plane does not respond to this gateway\n")
        }
        "/readyz" => plain(StatusCode::OK, "ok\n"),
        "/metrics" => match gateway.settings.metrics {
            Some(page) => plain(StatusCode::OK, page()),
            None => plain(StatusCode::NOT_FOUND, "this process has no metrics\n"),
        },
        _ => plain(StatusCode::NOT_FOUND, "/healthz, /readyz and /metrics are here\n"),
    }
}
