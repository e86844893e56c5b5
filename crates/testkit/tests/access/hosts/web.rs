//! Web services of an allocation in a browser: one origin for each allocation and port,
//! signed in to through the command line, and nothing between them.

use std::{net::SocketAddr, process::Stdio, time::Duration};

use client::ClientError;
use contract::{
    Within,
    access_sessions::AccessSessionState,
    access_tickets::{AccessTicketSpec, TicketKind},
    allocations::Allocation,
};
use futures_util::{SinkExt, StreamExt};
use reqwest::{
    Method, RequestBuilder, Response, StatusCode,
    header::{COOKIE, LOCATION, SET_COOKIE},
};
use testkit::{
    Tenant,
    cloud::ask,
    process::{binary, free_port},
    server::eventually,
    shell::{Shell, terminal},
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpStream,
    process::Command,
};
use tokio_tungstenite::{
    client_async,
    tungstenite::{Message, client::IntoClientRequest},
};

use crate::hosts::site::Site;

/// What knows one web service, and the cookie that it was given there.
pub struct Browser {
    http: reqwest::Client,
    /// With the gateway's port.
    host: String,
    gateway: SocketAddr,
    pub cookie: Option<String>,
}

impl Browser {
    /// At a web service of the gateway at `gateway`, whatever the name means to others.
    pub fn at(web_url: &str, gateway: SocketAddr) -> Browser {
        let url: reqwest::Url = web_url.parse().unwrap();
        let name = url.host_str().unwrap();
        let http = reqwest::Client::builder().resolve(name, gateway).redirect(reqwest::redirect::Policy::none());
        let host = format!("{name}:{}", url.port().unwrap());
        Browser { http: http.build().unwrap(), host, gateway, cookie: None }
    }

    fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("http://{}{path}", self.host));
        match &self.cookie {
            Some(cookie) => request.header(COOKIE, format!("mine=1; {cookie}")),
            None => request,
        }
    }

    async fn get(&self, path: &str) -> Response {
        self.ask(Method::GET, path).send().await.unwrap()
    }

    pub async fn text(&self, path: &str) -> (StatusCode, String) {
        let answer = self.get(path).await;
        (answer.status(), answer.text().await.unwrap())
    }

    /// Sends the form that the command line's page sends.
    pub async fn enter(&mut self, ticket: &str) -> Response {
        let form = self.ask(Method::POST, "/.gpuaas/enter").body(format!("ticket={ticket}"));
        let form = form.header("content-type", "application/x-www-form-urlencoded");
        // The page that holds the form is of this machine, and no web service's.
        let answer = form.header("origin", "http://127.0.0.1:1").send().await.unwrap();
        if let Some(cookie) = answer.headers().get(SET_COOKIE) {
            let cookie = cookie.to_str().unwrap();
            assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
            assert!(!cookie.to_lowercase().contains("domain"), "it is for this origin alone: {cookie}");
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        answer
    }

    async fn websocket(&self, origin: &str) -> Result<(), String> {
        let mut request = format!("ws://{}/ws", self.host).into_client_request().unwrap();
        request.headers_mut().insert("origin", origin.parse().unwrap());
        if let Some(cookie) = &self.cookie {
            request.headers_mut().insert("cookie", cookie.parse().unwrap());
        }
        let stream = TcpStream::connect(self.gateway).await.unwrap();
        let (mut socket, _) = client_async(request, stream).await.map_err(|error| error.to_string())?;
        for word in ["hello", "again"] {
            socket.send(Message::text(word)).await.unwrap();
            assert_eq!(socket.next().await.unwrap().unwrap(), Message::text(word));
        }
        socket.close(None).await.unwrap();
        Ok(())
    }
}

impl Site {
    /// Starts the web service on a port of an allocation; the shell that runs it.
    pub async fn web_service(&self, of: &Allocation, port: u16, word: &str) -> Shell {
        let script = self.shared().join("web_service.py");
        std::fs::write(&script, include_str!("web_service.py")).unwrap();
        let (_, mut shell) = self.tenant.shell(of.id).await;
        shell.types(&format!("python3 {} {port} {word}\r", script.display())).await;
        shell.shows(&format!("{word} serves")).await;
        shell
    }
}

pub async fn http_ticket(by: &Tenant, of: &Allocation, port: u16) -> contract::access_tickets::NewAccessTicket {
    let port = Some(Within::new(u64::from(port)).unwrap());
    by.ticket(of.id, AccessTicketSpec { kind: TicketKind::Http, port, ..terminal() }).await.unwrap()
}

/// What `gpuaas open` prints and hands to the browser: the web service's address and the ticket.
async fn opened(site: &Site, allocation: &Allocation, port: u16) -> (String, String) {
    let plane = site.plane.as_ref().expect("it runs");
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(binary("gpuaas"));
    command.args(["open", &allocation.id.to_string(), &port.to_string(), "--no-browser"]);
    command.env("HOME", home.path()).env("GPUAAS_CONFIG", home.path().join("config.toml"));
    command.env("GPUAAS_URL", &plane.daemon.base).env("GPUAAS_TOKEN", &site.tenant.owner.token);
    command.env("GPUAAS_PROJECT", site.tenant.project.to_string());
    let mut open = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut line = String::new();
    let mut said = BufReader::new(open.stdout.take().unwrap());
    tokio::time::timeout(Duration::from_secs(30), said.read_line(&mut line)).await.unwrap().unwrap();
    let page = line.split_whitespace().find(|it| it.starts_with("http://127.0.0.1:")).expect("a page").to_owned();
    let text = reqwest::get(&page).await.unwrap().text().await.unwrap();
    let part =
        |after: &str| text.split(after).nth(1).and_then(|it| it.split('"').next()).expect("it is there").to_owned();
    let (action, ticket) = (part("action=\""), part("value=\""));
    assert!(!line.contains(&ticket) && !action.contains(&ticket), "no address has the ticket");
    assert!(open.wait().await.unwrap().success());
    (action.strip_suffix("/.gpuaas/enter").expect("the gateway's own path").to_owned(), ticket)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn web_service_is_opened_from_the_command_line_and_used_as_if_it_were_here() {
    let site = Site::new(&[], "").await;
    let (allocation, port) = (site.allocation().clone(), free_port());
    let _serving = site.web_service(&allocation, port, "notebook").await;
    let (url, ticket) = opened(&site, &allocation, port).await;
    assert!(url.starts_with(&format!("http://{port}--{}.", allocation.id)), "{url}");
    let mut browser = Browser::at(&url, site.door.address());

    // Nobody who is not signed in sees anything of the web service.
    let (status, page) = browser.text("/secret").await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(page.contains(&format!("gpuaas open {} {port}", allocation.id)) && !page.contains("notebook"), "{page}");
    assert!(browser.websocket(&url).await.is_err());
    browser.cookie = Some("gpuaas-app=guessed".into());
    assert_eq!(browser.get("/").await.status(), StatusCode::UNAUTHORIZED);
    browser.cookie = None;

    let entered = browser.enter(&ticket).await;
    assert_eq!((entered.status(), entered.headers()[LOCATION].to_str().unwrap()), (StatusCode::SEE_OTHER, "/"));
    assert_eq!(browser.text("/").await, (StatusCode::OK, "notebook /".into()));
    let mut again = Browser::at(&url, site.door.address());
    assert_eq!(again.enter(&ticket).await.status(), StatusCode::UNAUTHORIZED, "a ticket works once");
    assert_eq!(again.cookie, None);

    // The web service sees the browser's own cookie, and neither sees nor sets the gateway's.
    let answer = browser.get("/headers?a=1").await;
    let set: Vec<_> = answer.headers().get_all(SET_COOKIE).iter().map(|it| it.to_str().unwrap().to_owned()).collect();
    assert_eq!(set, ["theirs=1"]);
    let seen = answer.text().await.unwrap().to_lowercase();
    let secret = browser.cookie.as_ref().and_then(|it| it.split_once('=')).expect("it was given").1.to_lowercase();
    assert!(seen.starts_with("get /headers?a=1 ") && seen.contains("cookie: mine=1"), "{seen}");
    assert!(!seen.contains("gpuaas-app") && !seen.contains(&secret), "{seen}");
    assert!(seen.contains("x-forwarded-for: 127.0.0.1") && seen.contains(&format!("host: {}", browser.host)), "{seen}");

    // A chunk arrives when it is sent: the next is sent only after this one was seen.
    let mut stream = browser.get("/stream").await;
    for number in 0..3 {
        let chunk = tokio::time::timeout(Duration::from_secs(10), stream.chunk()).await.expect("it comes by itself");
        assert_eq!(chunk.unwrap().unwrap(), format!("word {number}\n"));
        browser.get("/next").await;
    }
    assert_eq!(stream.chunk().await.unwrap(), None);
    let body = vec![7_u8; 3_000_000];
    let upload = browser.ask(Method::POST, "/length").header("origin", &url).body(body).send().await.unwrap();
    assert_eq!(upload.text().await.unwrap(), "3000000", "{url} {}", browser.host);
    browser.websocket(&url).await.unwrap();

    // Pages of neighbors can link here and do nothing else.
    let neighbor = url.replace(&port.to_string(), "9999");
    let post = browser.ask(Method::POST, "/length").header("origin", &neighbor).body("x").send().await.unwrap();
    assert_eq!(post.status(), StatusCode::FORBIDDEN);
    assert!(browser.websocket(&neighbor).await.is_err());
    let sessions = site.sessions(Some(AccessSessionState::Open)).await;
    let session = sessions.iter().find(|it| it.port == Some(port)).expect("it is seen by operators");
    println!("{url}: signed in, streamed, upgraded; session {} as {}", session.id, session.opened_by);
    site.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root; run by cargo xtask root-test"]
async fn web_service_is_no_way_into_another() {
    let mut site = Site::new(&[], "").await;
    let first = site.allocation().clone();
    let second = site.one_more(ask(1)).await;
    // The same port in both: only the names differ.
    let (port, other) = (free_port(), free_port());
    let _one = site.web_service(&first, port, "first").await;
    let _two = site.web_service(&first, other, "beside").await;
    let ticket = http_ticket(&site.tenant, &first, port).await;
    let url = ticket.web_url.clone().unwrap();
    let mut browser = Browser::at(&url, site.door.address());
    assert_eq!(browser.enter(ticket.ticket.expose()).await.status(), StatusCode::SEE_OTHER);
    assert_eq!(browser.text("/").await.1, "first /");

    // The first's cookie at another port, another allocation, and its ticket there.
    let beside = http_ticket(&site.tenant, &first, other).await;
    let elsewhere = http_ticket(&site.tenant, &second, port).await;
    for ticket in [&beside, &elsewhere] {
        let mut stranger = Browser::at(ticket.web_url.as_ref().unwrap(), site.door.address());
        stranger.cookie = browser.cookie.clone();
        let (status, page) = stranger.text("/").await;
        assert!(status == StatusCode::UNAUTHORIZED && !page.contains("beside"), "{page}");
        stranger.cookie = None;
        let spent = http_ticket(&site.tenant, &first, port).await;
        assert_eq!(stranger.enter(spent.ticket.expose()).await.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(stranger.cookie, None);
    }
    // On a port where nobody of the allocation listens there is nothing, whoever else does.
    let mut second_service = Browser::at(elsewhere.web_url.as_ref().unwrap(), site.door.address());
    assert_eq!(second_service.enter(elsewhere.ticket.expose()).await.status(), StatusCode::SEE_OTHER);
    let (status, page) = second_service.text("/").await;
    assert!(status == StatusCode::BAD_GATEWAY && !page.contains("first"), "a neighbor's port: {status} {page}");

    // Other people: strangers learn nothing, and who leaves is out.
    let operator = site.operator();
    let outsider = Tenant { client: site.client_of(&site.plant.stranger), ..site.tenant.clone() };
    let spec = AccessTicketSpec { kind: TicketKind::Http, port: Some(Within::new(port.into()).unwrap()), ..terminal() };
    let refused = outsider.ticket(first.id, spec.clone()).await.unwrap_err();
    assert!(matches!(&refused, ClientError::Problem(it) if it.code == "not_found"), "{refused}");
    let guest = site.colleague();
    let theirs = http_ticket(&guest, &first, port).await;
    let mut visitor = Browser::at(&url, site.door.address());
    assert_eq!(visitor.enter(theirs.ticket.expose()).await.status(), StatusCode::SEE_OTHER);
    assert_eq!(visitor.text("/").await.1, "first /");
    site.removes(&guest.owner).await;
    eventually("who left is signed out", || async { visitor.get("/").await.status() == StatusCode::UNAUTHORIZED })
        .await;
    assert_eq!(browser.text("/").await.0, StatusCode::OK, "others stay");

    // A port that policy leaves out: no ticket, and none of what was open.
    testkit::world::set_policy(&operator, "access.tcp_ports", &format!("{}-{}", port + 1, port + 1)).await;
    let refused = site.tenant.ticket(first.id, spec).await.unwrap_err();
    assert!(refused.to_string().contains("access.tcp_ports"), "{refused}");
    eventually("the port is closed", || async { browser.get("/").await.status() != StatusCode::OK }).await;
    println!("another port, another allocation, another person, and a port outside the set: refused");
    site.clear().await;
}
