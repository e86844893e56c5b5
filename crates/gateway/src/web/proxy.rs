//! Passes a request on to the web service and its answer back, piece by piece, upgrades
//! included. Nothing is kept whole.

use super::visits::Visit;
use super::{WebOrigin, cookies, pages};
use crate::Gateway;
use crate::public::{Body, Visitor};
use crate::sessions::Session;
use bytes::Bytes;
use http::header::{self, HeaderName};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri, Version};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use protocol::stream::Kind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

pub type UpBody = UnsyncBoxBody<Bytes, hyper::Error>;

const ANSWER: Duration = Duration::from_secs(300); // bound: notebooks think long before they answer
const BUFFER_BYTES: usize = 64 * 1024; // bound: headers of one answer
const COPY_BYTES: usize = 16 * 1024; // bound: one direction of an upgraded connection

/// Meant for one connection only.
const HOP_BY_HOP: [HeaderName; 8] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

pub async fn pass(
    gateway: &Gateway,
    visitor: &Visitor,
    web: &WebOrigin,
    visit: &Arc<Visit>,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let Ok(place) = visit.places.clone().try_acquire_owned() else { return pages::too_many() };
    let wanted = upgrade_of(request.headers());
    let browser = wanted.is_some().then(|| hyper::upgrade::on(&mut request));
    let Ok(outgoing) = outgoing(gateway, visitor, web, visit, request, wanted.as_ref()) else {
        return pages::bad_request();
    };
    let (answer, line) = match tokio::time::timeout(ANSWER, send(visit, web.port, outgoing)).await {
        Ok(Ok(answered)) => answered,
        Ok(Err(Unreachable)) => return pages::unreachable(web.port),
        Err(_) => return pages::slow(),
    };
    let mut answer = answer;
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        let (Some(browser), Some(wanted)) = (browser, wanted) else { return pages::unreachable(web.port) };
        let host = hyper::upgrade::on(&mut answer);
        let (session, connection) = (visit.session.clone(), visitor.place.clone());
        tokio::spawn(async move {
            // It stays among the listener's connections, and one of its visit's requests.
            let (_place, _busy) = (place, connection.busy());
            tokio::select! {
                () = carry(&session, browser, host) => (),
                () = connection.cut() => (),
            }
        });
        let mut response = incoming(answer.map(|_| Empty::new().map_err(|never| match never {}).boxed_unsync()));
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        response.headers_mut().insert(header::UPGRADE, wanted);
        return response;
    }
    let body = |body: Incoming| {
        let passing = ResponseBody { body, visit: visit.clone(), line: Some(line), is_over: false, _place: place };
        passing.map_err(Into::into).boxed_unsync()
    };
    incoming(answer.map(body))
}

struct Unreachable;

/// Sends it on a kept connection or on a new one.
async fn send(
    visit: &Visit,
    port: u16,
    request: Request<UpBody>,
) -> Result<(Response<Incoming>, SendRequest<UpBody>), Unreachable> {
    let request = match visit.take() {
        None => request,
        Some(mut line) => match line.try_send_request(request).await {
            Ok(answer) => return Ok((answer, line)),
            // The web service closed it meanwhile and saw nothing of the request.
            Err(mut error) => error.take_message().ok_or(Unreachable)?,
        },
    };
    let mut line = connect(visit, port).await?;
    let answer = line.send_request(request).await.map_err(|error| {
        tracing::debug!(%error, "a web service closed the connection unexpectedly");
        Unreachable
    })?;
    Ok((answer, line))
}

async fn connect(visit: &Visit, port: u16) -> Result<SendRequest<UpBody>, Unreachable> {
    let opened = visit.session.open(Kind::Tcp { port }).await;
    let (stream, _) = opened.map_err(|error| {
        tracing::info!(session = %visit.session.id, %error, "a web service cannot be reached");
        Unreachable
    })?;
    let shaken = http1::Builder::new().max_buf_size(BUFFER_BYTES).handshake(TokioIo::new(stream.raw())).await;
    let (line, connection) = shaken.map_err(|_| Unreachable)?;
    let session = visit.session.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = connection.with_upgrades() => (),
            _ = session.ended() => (),
        }
    });
    Ok(line)
}

/// The request as the web service sees it.
fn outgoing(
    gateway: &Gateway,
    visitor: &Visitor,
    web: &WebOrigin,
    visit: &Arc<Visit>,
    request: Request<Incoming>,
    wanted: Option<&HeaderValue>,
) -> Result<Request<UpBody>, http::Error> {
    let (mut head, body) = request.into_parts();
    // Only the path goes on: where it goes was decided by the host name.
    let path = head.uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    head.uri = Uri::builder().path_and_query(path).build()?;
    head.version = Version::HTTP_11;
    head.extensions = http::Extensions::new();
    strip_hops(&mut head.headers);
    cookies::strip(&mut head.headers);
    for name in ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"] {
        head.headers.remove(name);
    }
    let scheme = if gateway.settings.is_web_secure { "https" } else { "http" };
    head.headers.insert(header::HOST, HeaderValue::from_str(&web.host)?);
    head.headers.insert("x-forwarded-for", HeaderValue::from_str(&visitor.address.to_string())?);
    head.headers.insert("x-forwarded-host", HeaderValue::from_str(&web.host)?);
    head.headers.insert("x-forwarded-proto", HeaderValue::from_static(scheme));
    if let Some(wanted) = wanted {
        head.headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        head.headers.insert(header::UPGRADE, wanted.clone());
    }
    let body = CountedBody { body, session: visit.session.clone() }.boxed_unsync();
    Ok(Request::from_parts(head, body))
}

/// The answer as the browser sees it.
fn incoming(mut response: Response<Body>) -> Response<Body> {
    strip_hops(response.headers_mut());
    cookies::strip_set(response.headers_mut());
    *response.version_mut() = Version::HTTP_11;
    response
}

/// The protocol that a request wants to change to, if it says so properly.
fn upgrade_of(headers: &HeaderMap) -> Option<HeaderValue> {
    let lines = headers.get_all(header::CONNECTION).iter().filter_map(|it| it.to_str().ok());
    let is_asked = lines.flat_map(|it| it.split(',')).any(|it| it.trim().eq_ignore_ascii_case("upgrade"));
    headers.get(header::UPGRADE).filter(|_| is_asked).cloned()
}

fn strip_hops(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|it| it.to_str().ok())
        .flat_map(|it| it.split(','))
        .filter_map(|it| it.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// Carries an upgraded connection until one side ends it or the session must.
async fn carry(session: &Session, browser: hyper::upgrade::OnUpgrade, host: hyper::upgrade::OnUpgrade) {
    let (Ok(browser), Ok(host)) = tokio::join!(browser, host) else { return };
    let (mut browser, mut host) = (TokioIo::new(browser), TokioIo::new(host));
    let copied = tokio::io::copy_bidirectional_with_sizes(&mut browser, &mut host, COPY_BYTES, COPY_BYTES);
    tokio::select! {
        copied = copied => if let Ok((sent, got)) = copied {
            session.count_in(usize::try_from(sent).unwrap_or(usize::MAX));
            session.count_out(usize::try_from(got).unwrap_or(usize::MAX));
        },
        _ = session.ended() => (),
    }
}

/// A request's body, counted.
struct CountedBody {
    body: Incoming,
    session: Arc<Session>,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.session.count_in(frame.data_ref().map_or(0, Bytes::len));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer's body. When all of it has gone, its connection is free again.
struct ResponseBody {
    body: Incoming,
    visit: Arc<Visit>,
    line: Option<SendRequest<UpBody>>,
    is_over: bool,
    _place: OwnedSemaphorePermit,
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => self.visit.session.count_out(frame.data_ref().map_or(0, Bytes::len)),
            Poll::Ready(Some(Err(_))) => self.line = None,
            Poll::Ready(None) => self.is_over = true,
            Poll::Pending => (),
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        if let Some(line) = self.line.take()
            && (self.is_over || self.body.is_end_stream())
        {
            self.visit.keep(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hop_by_hop_headers_are_not_passed_on() {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONNECTION, HeaderValue::from_static("close, X-Secret"));
        headers.insert("x-secret", HeaderValue::from_static("1"));
        headers.insert("te", HeaderValue::from_static("trailers"));
        headers.insert("x-kept", HeaderValue::from_static("1"));
        assert_eq!(upgrade_of(&headers), None);
        strip_hops(&mut headers);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["x-kept"]);
    }

    #[test]
    fn an_upgrade_is_asked_for_by_both_headers() {
        let mut headers = HeaderMap::new();
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        assert_eq!(upgrade_of(&headers), None);
        headers.insert(header::CONNECTION, HeaderValue::from_static("keep-alive, Upgrade"));
        assert_eq!(upgrade_of(&headers).unwrap(), "websocket");
    }
}
