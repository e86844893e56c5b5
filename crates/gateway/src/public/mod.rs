//! The listener for people: WebSockets for terminals and forwards, and web services, each
//! at a host name of its own.

mod batch;
mod closing;
mod failures;
mod forward;
mod offer;
mod sending;
mod terminal;
mod tls;
mod websocket;

pub use failures::Failures;
pub use forward::Forwards;
pub use tls::{TlsError, tls};
pub use websocket::exchange_for_web;

use crate::Gateway;
use crate::web::{self, Named, name};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use listen::{ConnectionPermit, Places, client_address, keep_alive};
use sending::sending;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tls::PublicTls;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

const HANDSHAKE: Duration = Duration::from_secs(10); // bound: a browser greets at once
const HEADERS: Duration = Duration::from_secs(30); // bound: also the silence between two requests
const BUFFER_BYTES: usize = 64 * 1024; // bound: headers of one request
const STOP: Duration = Duration::from_secs(10); // bound: then those who do not go are cut off
const PAUSE: Duration = Duration::from_millis(50); // bound: a pause when file handles are short, not a limit

/// Whence a request came, and its place among the connections.
#[derive(Clone)]
pub struct Visitor {
    pub address: IpAddr,
    /// Held as long as anything of the connection lives.
    pub(crate) place: Arc<ConnectionPermit>,
    /// The share of a browser's visit that vouches for the connection, once one does.
    vouched: Arc<OnceLock<OwnedSemaphorePermit>>,
}

impl Visitor {
    /// A cookie or ticket of a visit works: the connection no longer counts against
    /// its address, as long as the visit has a share left.
    pub(crate) fn vouch(&self, shares: &Arc<Semaphore>) {
        if self.vouched.get().is_none()
            && let Ok(share) = shares.clone().try_acquire_owned()
            && self.vouched.set(share).is_ok()
        {
            self.place.vouch();
        }
    }
}

/// Serves until stopped, and then until everybody has gone.
pub async fn serve(gateway: Arc<Gateway>, listener: TcpListener, tls: Option<Arc<PublicTls>>) {
    let places = Places::new(gateway.settings.limits());
    if let Some(tls) = &tls {
        tokio::spawn(tls.clone().follow(gateway.stop.clone()));
    }
    let acceptor = tls.map(|it| it.acceptor());
    loop {
        let (stream, peer) = tokio::select! {
            () = gateway.stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection failed");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            },
        };
        let Some(place) = places.take(peer.ip()) else {
            refused("no_place");
            continue;
        };
        let _ = stream.set_nodelay(true);
        keep_alive(&stream);
        let place = Arc::new(place);
        let visitor = Visitor { address: peer.ip().to_canonical(), place: place.clone(), vouched: Arc::default() };
        let (gateway, acceptor) = (gateway.clone(), acceptor.clone());
        tokio::spawn(async move {
            let talking = async {
                match acceptor {
                    None => talk(gateway, stream, visitor).await,
                    Some(acceptor) => {
                        if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                            talk::<tokio_rustls::server::TlsStream<TcpStream>>(gateway, stream, visitor).await;
                        }
                    }
                }
            };
            tokio::select! {
                () = talking => (),
                () = place.cut() => refused("made_room"),
            }
        });
    }
    drop(listener);
    if tokio::time::timeout(STOP, places.empty()).await.is_err() {
        tracing::warn!("some connections did not end in time and were closed");
    }
}

async fn talk<T>(gateway: Arc<Gateway>, stream: T, visitor: Visitor)
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let stop = gateway.stop.clone();
    let service = service_fn(move |request| {
        let (gateway, visitor) = (gateway.clone(), visitor.clone());
        async move {
            let busy = visitor.place.busy();
            let answer = answer(gateway, visitor, request).await;
            Ok::<_, Infallible>(answer.map(|body| sending(body, busy)))
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADERS).max_buf_size(BUFFER_BYTES);
    let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
    tokio::pin!(connection);
    let is_done = tokio::select! {
        _ = &mut connection => true,
        () = stop.cancelled() => false,
    };
    if !is_done {
        connection.as_mut().graceful_shutdown();
        // Who breaks off is its own business.
        let _ = tokio::time::timeout(STOP, connection).await;
    }
}

async fn answer(gateway: Arc<Gateway>, mut visitor: Visitor, request: Request<Incoming>) -> Response<Body> {
    visitor.address = client_address(&gateway.settings.trusted_proxies, visitor.address, request.headers());
    if let Some(domain) = &gateway.settings.web_domain {
        match host(&request).map_or(Named::Nobody, |it| name::read(it, domain)) {
            Named::Web(origin) => return web::answer(gateway, visitor, origin, request).await,
            Named::Nobody => return plain(StatusCode::NOT_FOUND, "no web service has this name\n"),
            Named::Gateway => (),
        }
    }
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/v1/terminal") => websocket::upgrade(gateway, visitor, request, websocket::Door::Terminal),
        (&Method::GET, "/v1/forward") => websocket::upgrade(gateway, visitor, request, websocket::Door::Forward),
        (&Method::GET, "/healthz") => plain(StatusCode::OK, "ok\n"),
        _ => plain(StatusCode::NOT_FOUND, "nothing is served here; terminals are at /v1/terminal\n"),
    }
}

/// The one name that a request gives; a second one is no name.
fn host(request: &Request<Incoming>) -> Option<&str> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    let is_same = request.uri().authority().is_none_or(|it| it.as_str().eq_ignore_ascii_case(host));
    (hosts.next().is_none() && is_same).then_some(host)
}

pub fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(full(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub fn full(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Counts somebody who was not let in.
pub fn refused(reason: &'static str) {
    metrics::counter!("gpuaas_gateway_refusals_total", "reason" => reason).increment(1);
}
