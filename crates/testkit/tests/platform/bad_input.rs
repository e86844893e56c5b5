//! Wrong requests get a 4xx problem that says what is wrong and what to do,
//! never a 5xx.

use reqwest::{Client, Method, header::HeaderMap};
use testkit::World;

struct Probe {
    world: World,
    base: String,
    token: String,
    organization: String,
}

async fn probe() -> Probe {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let base = world.server.base.clone();
    Probe { world, base, token: owner.token, organization: organization.to_string() }
}

impl Probe {
    fn projects(&self) -> String {
        format!("{}/v1/organizations/{}/projects", self.base, self.organization)
    }

    async fn send(&self, body: impl Into<reqwest::Body>, headers: &[(&str, &str)]) -> (u16, serde_json::Value) {
        let mut all = HeaderMap::new();
        let defaults = [("content-type", "application/json"), ("idempotency-key", "bad-input")];
        for (name, value) in defaults.iter().chain(headers) {
            all.insert(reqwest::header::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        let request = Client::new().request(Method::POST, self.projects()).bearer_auth(&self.token).headers(all);
        let answer = request.body(body).send().await.unwrap();
        let (status, kind) = (answer.status().as_u16(), answer.headers()["content-type"].to_str().unwrap().to_owned());
        assert_eq!(kind, "application/problem+json");
        assert!(answer.headers().contains_key("x-correlation-id"));
        (status, answer.json().await.unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_bodies_are_named_for_what_they_are() {
    let probe = probe().await;
    let deep = format!("{{\"name\":{}1{}}}", "[".repeat(60), "]".repeat(60));
    let large = format!("{{\"name\":\"{}\"}}", "x".repeat(100_000));
    let cases: Vec<(Vec<u8>, u16, &str)> = vec![
        (b"".to_vec(), 400, "a JSON body is required"),
        (b"{".to_vec(), 400, "EOF"),
        (b"[]".to_vec(), 400, "must be a JSON object"),
        (b"{}".to_vec(), 400, "missing field `name`"),
        (br#"{"name":1}"#.to_vec(), 400, "invalid type"),
        (br#"{"name":"ok","surprise":1}"#.to_vec(), 400, "unknown field `surprise`"),
        (br#"{"name":"bad\u0000name"}"#.to_vec(), 400, "NUL"),
        (br#"{"name":"!"}"#.to_vec(), 400, "a name has 1 to 64"),
        (b"{\"name\":\"\xff\xfe\"}".to_vec(), 400, "invalid"),
        (deep.into_bytes(), 400, "nested deeper than 32"),
        (large.into_bytes(), 413, "at most 65536 bytes"),
    ];
    for (body, status, words) in cases {
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        let (got, problem) = probe.send(body, &[]).await;
        let detail = problem["detail"].as_str().unwrap();
        assert_eq!(got, status, "{shown}: {problem}");
        assert!(detail.contains(words), "{shown}: {detail}");
        assert!(!problem["advice"].as_str().unwrap().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_headers_are_refused() {
    let probe = probe().await;
    let body = r#"{"name":"fine"}"#;
    let long = "x".repeat(129);
    let huge = "x".repeat(20_000);
    let cases: Vec<(&[(&str, &str)], u16)> = vec![
        (&[("content-type", "text/plain")], 415),
        (&[("idempotency-key", "")], 400),
        (&[("idempotency-key", "with space")], 400),
        (&[("authorization", "Basic abc")], 401),
    ];
    for (headers, status) in cases {
        let (got, problem) = probe.send(body, headers).await;
        assert_eq!(got, status, "{headers:?}: {problem}");
    }
    assert_eq!(probe.send(body, &[("idempotency-key", &long)]).await.0, 400);
    assert_eq!(probe.send(body, &[("x-junk", &huge)]).await.0, 431);
    let many: Vec<(String, String)> = (0..80).map(|n| (format!("x-junk-{n}"), "1".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(probe.send(body, &many).await.0, 431);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_addresses_and_queries_are_refused() {
    let probe = probe().await;
    let base = &probe.base;
    let organization = &probe.organization;
    let long = format!("{base}/v1/organizations/{organization}/projects?name={}", "x".repeat(5000));
    let cases = [
        (Method::GET, format!("{base}/v1/projects/nonsense"), 400),
        (Method::GET, format!("{base}/v1/projects/{organization}"), 400),
        (Method::GET, format!("{base}/v1/projects/%00"), 400),
        (Method::GET, format!("{base}/v1/organizations/{organization}/projects?limit=0"), 400),
        (Method::GET, format!("{base}/v1/organizations/{organization}/projects?limit=201"), 400),
        (Method::GET, format!("{base}/v1/organizations/{organization}/projects?limit=ten"), 400),
        (Method::GET, format!("{base}/v1/organizations/{organization}/projects?cursor=x"), 400),
        (Method::GET, format!("{base}/v1/organizations/{organization}/projects?state=odd"), 400),
        (Method::GET, format!("{base}/v1/organizations/{organization}/projects?surprise=1"), 400),
        (Method::GET, format!("{base}/v1/organizations/{organization}/audit?action=%00"), 400),
        (Method::GET, long, 431),
        (Method::GET, format!("{base}/v1/nowhere"), 404),
        (Method::GET, format!("{base}/"), 404),
        (Method::PUT, format!("{base}/v1/organizations/{organization}/projects"), 405),
    ];
    for (method, address, status) in cases {
        let answer = Client::new().request(method, &address).bearer_auth(&probe.token).send().await.unwrap();
        let got = answer.status().as_u16();
        let problem: serde_json::Value = answer.json().await.unwrap();
        assert_eq!(got, status, "{address:.120}: {problem}");
        assert!(problem["code"].is_string() && problem["correlation_id"].is_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_body_and_malformed_bytes_on_the_wire_do_no_harm() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let probe = probe().await;
    let address = probe.base.trim_start_matches("http://").to_owned();
    let half = format!(
        "POST /v1/organizations/{}/projects HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nidempotency-key: k\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{\"na",
        probe.organization, probe.token
    );
    for rubbish in [half.as_bytes(), b"\x00\xff\xfe nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", &b"A".repeat(300_000)]
    {
        let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
        let _ = stream.write_all(rubbish).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let text = String::from_utf8_lossy(&answer);
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 4"), "{text:.200}");
    }
    assert!(probe.world.server.control_plane.db.ping().await.is_ok());
    let (status, _) = probe.send("{}", &[]).await;
    assert_eq!(status, 400, "the server goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_in_a_hurry_learns_when_to_come_back() {
    let probe = probe().await;
    let operator = probe.world.operator().await;
    testkit::world::set_policy(&probe.world.as_(&operator), "rate_limit.default_per_minute", "10").await;
    probe.world.server.control_plane.policies.refresh(&probe.world.server.control_plane.db).await.unwrap();
    let mut refused = None;
    for _ in 0..12 {
        let answer = Client::new().get(probe.projects()).bearer_auth(&probe.token).send().await.unwrap();
        if answer.status() == 429 {
            let wait: u64 = answer.headers()["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1..=6).contains(&wait), "{wait}");
            refused = Some(wait);
        }
    }
    assert!(refused.is_some(), "the eleventh request is too many");
}
