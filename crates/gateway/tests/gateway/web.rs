//! Web services at names of their own.

use crate::stage::{NODE, Stage, bind, eventually};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::{Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use protocol::stream::Kind;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::{WebSocketStream, client_async};

type ServiceBody = UnsyncBoxBody<Bytes, Infallible>;

/// A web service: `/headers` tells what it saw, `/stream` says one word, and four more when told to,
/// `/length` counts a body, `/ws` echoes.
async fn web_service() -> u16 {
    web_service_and_go_on().await.0
}

/// The web service, and what makes its streams go on after their first word.
async fn web_service_and_go_on() -> (u16, Arc<Notify>) {
    let listener = bind().await;
    let port = listener.local_addr().unwrap().port();
    let go_on = Arc::new(Notify::new());
    let given = go_on.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let go_on = given.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request| serve(request, go_on.clone()));
                let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                let _ = served.with_upgrades().await;
            });
        }
    });
    (port, go_on)
}

fn text(text: impl Into<Bytes>) -> ServiceBody {
    Full::new(text.into()).boxed_unsync()
}

async fn serve(mut request: Request<Incoming>, go_on: Arc<Notify>) -> Result<Response<ServiceBody>, Infallible> {
    Ok(match request.uri().path() {
        "/headers" => {
            let lines: Vec<String> =
                request.headers().iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
            let mut response = Response::new(text(format!("{}\n{}", request.uri(), lines.join("\n"))));
            response.headers_mut().append(header::SET_COOKIE, "theirs=1".parse().unwrap());
            response.headers_mut().append(header::SET_COOKIE, "gpuaas-app=forged".parse().unwrap());
            response
        }
        "/stream" => {
            let words = futures_util::stream::unfold((0, go_on), |(number, go_on)| async move {
                if number == 1 {
                    go_on.notified().await;
                }
                let word = Bytes::from(format!("word {number}\n"));
                (number < 5).then_some((Ok(Frame::data(word)), (number + 1, go_on)))
            });
            Response::new(StreamBody::new(words).boxed_unsync())
        }
        "/length" => {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            Response::new(text(body.len().to_string()))
        }
        "/ws" => {
            let key = request.headers()[header::SEC_WEBSOCKET_KEY].clone();
            let upgrade = hyper::upgrade::on(&mut request);
            tokio::spawn(async move {
                let upgraded = TokioIo::new(upgrade.await.unwrap());
                let mut socket = WebSocketStream::from_raw_socket(upgraded, Role::Server, None).await;
                while let Some(Ok(message)) = socket.next().await {
                    if message.is_text() {
                        socket.send(message).await.unwrap();
                    }
                }
            });
            let response = Response::builder()
                .status(StatusCode::SWITCHING_PROTOCOLS)
                .header(header::CONNECTION, "upgrade")
                .header(header::UPGRADE, "websocket")
                .header(header::SEC_WEBSOCKET_ACCEPT, derive_accept_key(key.as_bytes()));
            response.body(text("")).unwrap()
        }
        _ => Response::new(text("root")),
    })
}

/// A browser that knows one web service.
struct Browser<'a> {
    stage: &'a Stage,
    host: String,
    cookie: Option<String>,
}

impl<'a> Browser<'a> {
    fn new(stage: &'a Stage, port: u16, allocation: &str) -> Self {
        Self { stage, host: format!("{port}--{allocation}.web.localhost:{}", stage.public.port()), cookie: None }
    }

    fn request(&self, method: &str, path: &str) -> http::request::Builder {
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, &self.host);
        if let Some(cookie) = &self.cookie {
            request = request.header(header::COOKIE, format!("mine=1; {cookie}"));
        }
        request
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        let stream = TcpStream::connect(self.stage.public).await.unwrap();
        let (mut line, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        line.send_request(request).await.unwrap()
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let response = self.send(self.request("GET", path).body(Full::default()).unwrap()).await;
        let status = response.status();
        (status, String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap())
    }

    async fn enter(&mut self, ticket: &str) -> StatusCode {
        let request =
            self.request("POST", "/.gpuaas/enter").header("content-type", "application/x-www-form-urlencoded");
        let response = self.send(request.body(Full::from(format!("ticket={ticket}"))).unwrap()).await;
        if let Some(cookie) = response.headers().get(header::SET_COOKIE) {
            let text = cookie.to_str().unwrap();
            assert!(text.contains("HttpOnly") && text.contains("SameSite=Lax"));
            self.cookie = Some(text.split(';').next().unwrap().to_owned());
        }
        response.status()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn browser_signs_in_with_a_ticket_and_uses_the_web_service() {
    let (stage, _host) = Stage::with_host().await;
    let port = web_service().await;
    let session = stage.plane.ticket("t", Kind::Tcp { port }, None);
    let mut browser = Browser::new(&stage, port, "alloc_1");
    let (status, page) = browser.get("/").await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(page.contains(&format!("gpuaas open alloc_1 {port}")), "{page}");
    assert_eq!(browser.enter("wrong").await, StatusCode::UNAUTHORIZED);
    assert_eq!(browser.enter("t").await, StatusCode::SEE_OTHER);
    assert_eq!(browser.get("/").await, (StatusCode::OK, "root".into()));
    for _ in 0..5 {
        browser.get("/").await;
    }
    assert_eq!(stage.plane.grants.load(SeqCst), 1, "connections to the web service are kept");

    let (_, seen) = browser.get("/headers?a=1").await;
    assert!(seen.starts_with("/headers?a=1\n"), "{seen}");
    assert!(seen.contains("cookie: mine=1") && !seen.contains("gpuaas-app"), "{seen}");
    assert!(seen.contains("x-forwarded-for: 127.0.0.1") && seen.contains("x-forwarded-proto: http"), "{seen}");
    let forged = browser.request("GET", "/headers").header("x-forwarded-for", "6.6.6.6").header("connection", "x-drop");
    let forged = forged.header("x-drop", "1").body(Full::default()).unwrap();
    let response = browser.send(forged).await;
    let cookies: Vec<_> = response.headers().get_all(header::SET_COOKIE).iter().collect();
    assert_eq!(cookies, ["theirs=1"], "a web service cannot set the gateway's cookie");
    let seen = response.into_body().collect().await.unwrap().to_bytes();
    let seen = String::from_utf8_lossy(&seen);
    assert!(!seen.contains("6.6.6.6") && !seen.contains("x-drop"), "{seen}");

    let big = Bytes::from(vec![7; 3_000_000]);
    let upload = browser.request("POST", "/length").header("origin", format!("http://{}", browser.host));
    let response = browser.send(upload.body(Full::from(big)).unwrap()).await;
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "3000000");
    eventually("a beat tells its bytes", || {
        let beats = stage.plane.beats();
        beats.iter().flat_map(|it| &it.sessions).any(|it| it.session == session && it.bytes_in >= 3_000_000)
    })
    .await;
    let plane = stage.plane.clone();
    stage.end().await;
    assert!(plane.left(session).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_stream_and_websockets_pass() {
    let (stage, _host) = Stage::with_host().await;
    let (port, go_on) = web_service_and_go_on().await;
    stage.plane.ticket("t", Kind::Tcp { port }, None);
    let mut browser = Browser::new(&stage, port, "alloc_1");
    browser.enter("t").await;
    let mut response = browser.send(browser.request("GET", "/stream").body(Full::default()).unwrap()).await;
    let first = tokio::time::timeout(Duration::from_secs(60), response.body_mut().frame()).await;
    let first = first.expect("the first word does not wait for the last").unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, "word 0\n");
    go_on.notify_one();
    let rest = response.into_body().collect().await.unwrap().to_bytes();
    assert!(rest.ends_with(b"word 4\n"));
    browser.get("/").await;
    assert_eq!(stage.plane.grants.load(SeqCst), 1, "the connection of a stream that ended is kept too");

    let open = |origin: Option<String>| {
        let mut request = format!("ws://{}/ws", browser.host).into_client_request().unwrap();
        request.headers_mut().insert(header::COOKIE, browser.cookie.clone().unwrap().parse().unwrap());
        if let Some(origin) = origin {
            request.headers_mut().insert(header::ORIGIN, origin.parse().unwrap());
        }
        async move { client_async(request, TcpStream::connect(stage.public).await.unwrap()).await }
    };
    let (mut socket, _) = open(Some(format!("http://{}", browser.host))).await.unwrap();
    socket.send(Message::text("hello")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("hello"));
    let neighbor = open(Some("http://1--other.web.localhost".into())).await;
    assert!(neighbor.is_err(), "another web service's page cannot connect");
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_on_its_way_is_not_cut_off_for_idle_connections_of_its_address() {
    let stage = Stage::with(|it| it.connections_per_address = 2).await;
    let _host = stage.host(NODE).await;
    let (port, go_on) = web_service_and_go_on().await;
    stage.plane.ticket("t", Kind::Tcp { port }, None);
    let mut browser = Browser::new(&stage, port, "alloc_1");
    browser.enter("t").await;
    let mut response = browser.send(browser.request("GET", "/stream").body(Full::default()).unwrap()).await;
    response.body_mut().frame().await.unwrap().unwrap();
    let mut silent = Vec::new();
    for _ in 0..4 {
        silent.push(TcpStream::connect(stage.public).await.unwrap());
    }
    go_on.notify_one();
    let rest = response.into_body().collect().await.expect("the answer comes whole").to_bytes();
    assert!(rest.ends_with(b"word 4\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn upgraded_connection_stays_among_those_of_the_listener() {
    let stage = Stage::with(|it| it.max_connections = 1).await;
    let _host = stage.host(NODE).await;
    let port = web_service().await;
    stage.plane.ticket("t", Kind::Tcp { port }, None);
    let mut browser = Browser::new(&stage, port, "alloc_1");
    browser.enter("t").await;
    let open = async || {
        let mut request = format!("ws://{}/ws", browser.host).into_client_request().unwrap();
        request.headers_mut().insert(header::COOKIE, browser.cookie.clone().unwrap().parse().unwrap());
        client_async(request, TcpStream::connect(stage.public).await.unwrap()).await
    };
    // The connection of the ticket gives its place back when it ends.
    let mut tries = 0..100;
    let (mut socket, _) = loop {
        match open().await {
            Ok(opened) => break opened,
            Err(error) => assert!(tries.next().is_some(), "no place: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    socket.send(Message::text("hello")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("hello"));
    assert!(open().await.is_err(), "the listener is full");
    socket.send(Message::text("still here")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("still here"));
}

#[tokio::test(flavor = "multi_thread")]
async fn cookie_is_good_for_its_own_web_service_only() {
    let (stage, _host) = Stage::with_host().await;
    let port = web_service().await;
    stage.plane.ticket("t1", Kind::Tcp { port }, None);
    stage.plane.ticket("t2", Kind::Tcp { port }, None);
    let mut browser = Browser::new(&stage, port, "alloc_1");
    browser.enter("t1").await;
    let mut other = Browser::new(&stage, port, "alloc_2");
    other.cookie = browser.cookie.clone();
    assert_eq!(other.get("/").await.0, StatusCode::UNAUTHORIZED);
    other.cookie = None;
    assert_eq!(other.enter("t2").await, StatusCode::UNAUTHORIZED, "the ticket was for another allocation");
    assert_eq!(other.cookie, None);
    let mut other_port = Browser::new(&stage, port - 1, "alloc_1");
    other_port.cookie = browser.cookie.clone();
    assert_eq!(other_port.get("/").await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_no_web_services_and_ways_around_the_name_lead_nowhere() {
    let (stage, _host) = Stage::with_host().await;
    let port = web_service().await;
    stage.plane.ticket("t", Kind::Tcp { port }, None);
    let mut browser = Browser::new(&stage, port, "alloc_1");
    browser.enter("t").await;
    for host in ["80--a.b.web.localhost", "0--alloc_1.web.localhost", "80--%2e%2e.web.localhost"] {
        let lost = Browser { stage: &stage, host: host.into(), cookie: browser.cookie.clone() };
        assert_eq!(lost.get("/").await.0, StatusCode::NOT_FOUND, "{host}");
    }
    for path in ["/.gpuaas/enter", "/.gpuaas/", "/.gpuaas", "/.gpuaas/x"] {
        assert_eq!(browser.get(path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(browser.get("/v1/terminal").await, (StatusCode::OK, "root".into()), "paths belong to the web service");
    let (status, _) = browser.get("http://elsewhere.example/").await;
    assert_eq!(status, StatusCode::NOT_FOUND, "two names are no name");
    let nobody = bind().await.local_addr().unwrap().port();
    stage.plane.ticket("closed", Kind::Tcp { port: nobody }, None);
    let mut closed = Browser::new(&stage, nobody, "alloc_1");
    closed.enter("closed").await;
    let (status, page) = closed.get("/").await;
    assert_eq!(status, StatusCode::BAD_GATEWAY);
    assert!(page.contains("No service is listening on port"), "{page}");
}
