//! What operators' tools see: health and metrics on every role, and spans.

use std::time::Duration;

use testkit::{
    Database,
    process::{Daemon, command, free_port},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_process_without_an_api_still_reports_its_health() {
    let database = Database::new().await;
    let ops = format!("127.0.0.1:{}", free_port());
    let mut command = command(&["serve", "--roles", "reconcile"], &database.url());
    command.env("GPUAAS_OPS_LISTEN", &ops);
    let daemon = Daemon { child: command.spawn().unwrap(), base: format!("http://{ops}") };
    daemon.ready(Duration::from_secs(30)).await;
    let get = async |path: &str| {
        let answer = reqwest::get(format!("http://{ops}{path}")).await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    assert_eq!(get("/healthz").await.0, 200);
    let (status, page) = get("/metrics").await;
    assert_eq!(status, 200);
    assert!(page.contains("gpuaas_database_connections_max"), "{page}");
    assert_eq!(get("/v1/whoami").await.0, 404, "requests are another role's business");
    assert!(daemon.stop().await.success());
}

/// Takes every request that an exporter sends and hands out their bodies.
fn collector(listener: TcpListener) -> tokio::sync::mpsc::Receiver<(String, Vec<u8>)> {
    let (send, receive) = tokio::sync::mpsc::channel(100);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let send = send.clone();
            tokio::spawn(async move {
                while let Some((head, body)) = request(&mut stream).await {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                    if stream.write_all(answer).await.is_err() || send.send((head, body)).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    receive
}

async fn request(stream: &mut tokio::net::TcpStream) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let length = head.lines().find_map(|it| it.strip_prefix("content-length:")?.trim().parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, body))
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_reach_the_collector_under_the_trace_that_came_in() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let mut received = collector(listener);
    let database = Database::new().await;
    let more = [("GPUAAS_OTLP_ENDPOINT", endpoint.as_str())];
    let daemon = Daemon::serve(&database.url(), free_port(), &more).await;
    let trace: [u8; 16] = *uuid::Uuid::now_v7().as_bytes();
    let hex: String = trace.iter().map(|it| format!("{it:02x}")).collect();
    let request = reqwest::Client::new().get(format!("{}/.well-known/jwks.json", daemon.base));
    let answer = request.header("traceparent", format!("00-{hex}-00f067aa0ba902b7-01")).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    // Stopping sends what is left.
    assert!(daemon.stop().await.success());
    let mut found = false;
    while let Ok(Some((head, body))) = tokio::time::timeout(Duration::from_secs(5), received.recv()).await {
        assert!(head.starts_with("post /v1/traces "), "{head}");
        let contains = |needle: &[u8]| body.windows(needle.len()).any(|it| it == needle);
        if contains(&trace) {
            assert!(contains(b"GetJwks"), "the span says which operation it was");
            found = true;
            break;
        }
    }
    assert!(found, "a span of the trace arrives");
}
