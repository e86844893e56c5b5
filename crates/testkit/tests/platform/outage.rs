//! The database goes away under a running server, and comes back.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use gpuaasd::dev::postgres::{Cluster, ClusterOptions};
use serde_json::{Value, json};
use testkit::{
    process::{Daemon, command, free_port, run},
    server::eventually,
};
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream,
    tungstenite::{Message, client::IntoClientRequest},
};

const PASSWORD: &str = "correct horse battery"; // secret-scan: allow
/// Who waits for the database to come back is never answered within it.
const PATIENCE: Duration = Duration::from_secs(120);

/// Somebody who talks to the server in plain JSON.
struct Caller {
    base: String,
    token: String,
}

impl Caller {
    async fn send(&self, verb: &str, address: &str, body: Option<Value>) -> (u16, Value) {
        let method = verb.parse().unwrap();
        let mut request = reqwest::Client::new().request(method, format!("{}{address}", self.base)).timeout(PATIENCE);
        if !self.token.is_empty() {
            request = request.bearer_auth(&self.token);
        }
        if let Some(body) = body {
            request = request.header("idempotency-key", uuid::Uuid::now_v7().to_string()).json(&body);
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    async fn done(&self, verb: &str, address: &str, body: Option<Value>) -> Value {
        let (status, body) = self.send(verb, address, body).await;
        assert!(status < 300, "{verb} {address}: {status} {body}");
        body
    }

    /// Listens to an organization's events.
    async fn watch(&self, organization: &str) -> Watch {
        let base = self.base.replace("http://", "ws://");
        let address = format!("{base}/v1/organizations/{organization}/events/watch");
        let mut request = address.into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {}", self.token).parse().unwrap());
        Watch(tokio_tungstenite::connect_async(request).await.unwrap().0)
    }

    /// Refused while the database is still away, with a problem that says why.
    async fn is_turned_away(&self, verb: &str, address: &str, body: Option<Value>) {
        let (status, body) = self.send(verb, address, body).await;
        assert_eq!((status, body["code"].as_str()), (503, Some("unavailable")), "{verb} {address}: {body}");
    }
}

struct Watch(WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>);

impl Watch {
    /// Why the server ends it.
    async fn closing(&mut self) -> String {
        loop {
            let frame = tokio::time::timeout(Duration::from_secs(60), self.0.next()).await;
            let Message::Text(text) = frame.expect("a frame").expect("a last word").unwrap() else { continue };
            let frame: Value = serde_json::from_str(&text).unwrap();
            if frame["type"] == "closing" {
                return frame["reason"].as_str().unwrap().to_owned();
            }
        }
    }
}

/// Makes the first operator as a new installation does.
async fn first_operator(url: &str) {
    let said = run(&["migrate", "up"], url).await;
    assert!(said.is_success, "{said:?}");
    let mut create = command(&["admin", "create-operator", "--email", "op@example.test"], url);
    let mut child = create.stdin(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(format!("{PASSWORD}\n").as_bytes()).await.unwrap();
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_fail_fast_while_the_database_is_away_and_recover_when_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
    let options = || ClusterOptions { durable: false, ..ClusterOptions::durable(folder.path().join("postgres")) };
    let cluster = Cluster::start(options()).await.unwrap();
    gpuaasd::dev::prepare(&cluster).await.unwrap();
    let url = cluster.url_as("gpuaas", "gpuaas");
    first_operator(&url).await;
    let daemon = Daemon::serve(&url, free_port(), &[("GPUAAS_LOG", "error")]).await;
    let mut caller = Caller { base: daemon.base.clone(), token: String::new() };
    let credentials = json!({ "email": "op@example.test", "password": PASSWORD });
    let session = caller.done("POST", "/v1/sessions", Some(credentials.clone())).await;
    caller.token = session["access_token"].as_str().unwrap().to_owned();
    caller.done("PUT", "/v1/platform/policies/identity.self_service", Some(json!({ "value": "true" }))).await;
    let organization = caller.done("POST", "/v1/organizations", Some(json!({ "name": "One" }))).await;
    let projects = format!("/v1/organizations/{}/projects", organization["id"].as_str().unwrap());
    let first = caller.done("POST", &projects, Some(json!({ "name": "first" }))).await;
    let project = format!("/v1/projects/{}", first["id"].as_str().unwrap());

    let mut watch = caller.watch(organization["id"].as_str().unwrap()).await;
    cluster.stop().await.unwrap();
    let reason = watch.closing().await;
    assert!(reason.contains("the database does not respond"), "nothing is wrong with the access: {reason}");
    let (status, body) = caller.send("GET", "/readyz", None).await;
    assert_eq!((status, &body["missing"]), (503, &json!(["database"])), "{body}");
    for _ in 0..2 {
        caller.is_turned_away("GET", &project, None).await;
        caller.is_turned_away("POST", &projects, Some(json!({ "name": "second" }))).await;
        caller.is_turned_away("POST", "/v1/sessions", Some(credentials.clone())).await;
    }
    assert_eq!(
        reqwest::get(format!("{}/healthz", caller.base)).await.unwrap().status(),
        200,
        "it is alive, only not ready"
    );

    let cluster = Cluster::start(options()).await.unwrap();
    let started = Instant::now();
    eventually("the server to recover by itself", || async { caller.send("GET", "/readyz", None).await.0 == 200 })
        .await;
    println!("ready {:?} after the database was back", started.elapsed());
    assert_eq!(caller.done("GET", &project, None).await["name"], "first", "what was acknowledged is there");
    caller.done("POST", &projects, Some(json!({ "name": "second" }))).await;
    let page = caller.done("GET", &projects, None).await;
    assert_eq!(page["items"].as_array().unwrap().len(), 2, "what was refused had no effect");
    // The background roles are back too: a deletion is reconciled to its end.
    caller.done("DELETE", &project, None).await;
    eventually("the project to be deleted", || async {
        let (status, body) = caller.send("GET", &project, None).await;
        status == 404 || body["state"] == "deleted"
    })
    .await;
    assert!(daemon.stop().await.success());
    cluster.stop().await.unwrap();
}
