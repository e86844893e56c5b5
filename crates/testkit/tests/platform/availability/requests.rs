//! Requests that stall, repeat themselves or are too large.

use std::{sync::Arc, time::Duration};

use contract::{Nothing, id::OrganizationId};
use gpuaasd::roles::Role;
use testkit::{Database, Member, Server, World, world::set_policy};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

struct Stand {
    world: World,
    organization: OrganizationId,
    owner: Member,
}

impl Stand {
    async fn new() -> Stand {
        let server = Server::with(Arc::new(Database::new().await), &[Role::Api], |_| ()).await;
        let world = World::on(server).await;
        let (organization, owner) = world.organization().await;
        Stand { world, organization, owner }
    }

    /// A request to create a project, as bytes on the wire.
    fn request(&self, headers: &str, length: usize) -> String {
        let (organization, token) = (self.organization, &self.owner.token);
        format!(
            "POST /v1/organizations/{organization}/projects HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
             idempotency-key: k\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n"
        )
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.world.server.base.trim_start_matches("http://")).await.unwrap()
    }

    async fn post(&self, headers: &str, body: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(self.request(headers, body.len()).as_bytes()).await.unwrap();
        stream.write_all(body).await.unwrap();
        answer(stream).await
    }
}

/// The first answer on a connection: its head and as much of its body as came with it.
async fn answer(mut stream: TcpStream) -> String {
    let mut said = Vec::new();
    let mut buffer = [0; 4096];
    while !String::from_utf8_lossy(&said).contains("correlation_id\":") {
        let read = tokio::time::timeout(Duration::from_secs(30), stream.read(&mut buffer)).await;
        match read.expect("an answer within half a minute") {
            Ok(0) => break,
            Ok(count) => said.extend_from_slice(&buffer[..count]),
            Err(error) => panic!("the connection broke before the answer: {error}"),
        }
    }
    String::from_utf8_lossy(&said).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_body_is_answered_with_a_timeout_of_the_client() {
    let stand = Stand::new().await;
    let operator = stand.world.as_(&stand.world.operator().await);
    set_policy(&operator, "http.request_seconds", "2").await;
    stand.world.server.control_plane.policies.refresh(&stand.world.server.control_plane.db).await.unwrap();
    let mut stream = stand.connect().await;
    stream.write_all(stand.request("", 100).as_bytes()).await.unwrap();
    stream.write_all(b"{\"na").await.unwrap();
    let said = answer(stream).await;
    assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
    assert!(said.contains("request_timeout"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn providers_event_that_stalls_or_is_too_large_is_answered() {
    let stand = Stand::new().await;
    let operator = stand.world.as_(&stand.world.operator().await);
    set_policy(&operator, "http.request_seconds", "2").await;
    stand.world.server.control_plane.policies.refresh(&stand.world.server.control_plane.db).await.unwrap();
    let head = |length: usize| {
        format!("POST /v1/payments/stripe/events HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n")
    };
    let mut stalled = stand.connect().await;
    stalled.write_all((head(100) + "{").as_bytes()).await.unwrap();
    let said = answer(stalled).await;
    assert!(said.starts_with("HTTP/1.1 408 "), "{said}");

    let large = vec![b'x'; 8 * 1024 * 1024];
    let mut stream = stand.connect().await;
    stream.write_all(head(large.len()).as_bytes()).await.unwrap();
    stream.write_all(&large).await.expect("all of it is read before the connection closes");
    let said = answer(stream).await;
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
}

/// Raises the code that a project's new name ends with.
const RAISE: &str = "CREATE FUNCTION raise_code() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'made by a test' USING ERRCODE = upper(substr(NEW.name, 6)); END $$;
  CREATE TRIGGER raise_code BEFORE UPDATE ON projects FOR EACH ROW WHEN (NEW.name LIKE 'code-%')
    EXECUTE FUNCTION raise_code()";

#[tokio::test(flavor = "multi_thread")]
async fn request_that_meets_others_at_the_same_rows_learns_when_to_come_back() {
    let database = Arc::new(Database::new().await);
    let server = Server::with(database.clone(), &[Role::Api], |config| config.database.lock_timeout_ms = 200).await;
    let world = World::on(server).await;
    let (organization, owner) = world.organization().await;
    let project = world.project(organization).await;
    let rename = async |name: &str| {
        let address = format!("{}/v1/projects/{project}", world.server.base);
        let request = reqwest::Client::new().patch(address).bearer_auth(&owner.token);
        let request = request.header("idempotency-key", name).json(&serde_json::json!({ "name": name }));
        let answer = request.send().await.unwrap();
        let wait = answer.headers().get("retry-after").map(|it| it.to_str().unwrap().to_owned());
        (answer.status().as_u16(), wait, answer.text().await.unwrap())
    };
    let mut admin = database.superuser().await;
    sqlx::raw_sql(RAISE).execute(&mut admin).await.unwrap();
    for code in ["55p03", "40p01", "40001", "25p03"] {
        let (status, wait, body) = rename(&format!("code-{code}")).await;
        assert_eq!((status, wait.as_deref()), (503, Some("2")), "{code}: {body}");
        assert!(body.contains("had no effect"), "{body}");
    }

    // The same by a lock that another transaction really holds.
    sqlx::raw_sql("BEGIN; SELECT FROM projects FOR UPDATE").execute(&mut admin).await.unwrap();
    let (status, wait, body) = rename("waits").await;
    assert_eq!((status, wait.as_deref()), (503, Some("2")), "{body}");
    sqlx::raw_sql("COMMIT").execute(&mut admin).await.unwrap();
    let (status, _, body) = rename("waits").await;
    assert_eq!(status, 200, "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicate_keys_of_a_body_are_refused() {
    let stand = Stand::new().await;
    for body in [r#"{"name":"one","name":"two"}"#, r#"{"name":"one","n\u0061me":"two"}"#] {
        let said = stand.post("", body.as_bytes()).await;
        assert!(said.starts_with("HTTP/1.1 400 ") && said.contains("more than once"), "{body}: {said}");
    }
    let projects = contract::organizations::OrganizationPath { organization_id: stand.organization };
    let client = stand.world.as_(&stand.owner);
    let page = client.call::<contract::projects::ListProjects>(projects, Default::default(), Nothing {}).await.unwrap();
    assert!(page.items.is_empty(), "{page:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_authorization_headers_are_refused() {
    let stand = Stand::new().await;
    let said = stand.post("authorization: Bearer another\r\n", br#"{"name":"one"}"#).await;
    assert!(said.starts_with("HTTP/1.1 400 ") && said.contains("invalid_header"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_large_body_is_answered_before_the_connection_closes() {
    let stand = Stand::new().await;
    for size in [200_000, 4 << 20] {
        let said = stand.post("", &vec![b'x'; size]).await;
        assert!(said.starts_with("HTTP/1.1 413 "), "{size} bytes: {said}");
    }
    // Who asks first is answered without sending anything.
    let mut stream = stand.connect().await;
    stream.write_all(stand.request("expect: 100-continue\r\n", 4 << 20).as_bytes()).await.unwrap();
    let said = answer(stream).await;
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn times_before_the_databases_calendar_are_refused() {
    let stand = Stand::new().await;
    let base = format!("{}/v1/organizations/{}", stand.world.server.base, stand.organization);
    for query in ["recordings?since=-009000-01-01T00:00:00Z", "access-sessions?since=-004713-01-01T00:00:00Z"] {
        let request = reqwest::Client::new().get(format!("{base}/{query}")).bearer_auth(&stand.owner.token);
        let answer = request.send().await.unwrap();
        let (status, text) = (answer.status().as_u16(), answer.text().await.unwrap());
        assert_eq!(status, 400, "{query}: {text}");
        assert!(text.contains("4713 BC") && text.contains("since"), "{text}");
    }
    // What is derived from a time, as the beginning of its month, is known to the database, too.
    for (until, expected) in [("-004713-11-24T00:00:00Z", 400), ("-004712-01-01T00:00:00Z", 200)] {
        let request = reqwest::Client::new().get(format!("{base}/usage?until={until}")).bearer_auth(&stand.owner.token);
        let answer = request.send().await.unwrap();
        let (status, text) = (answer.status().as_u16(), answer.text().await.unwrap());
        assert_eq!(status, expected, "{until}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_for_this_machine_and_readiness_for_everybody() {
    let stand = Stand::new().await;
    let base = &stand.world.server.base;
    let ask = async |path: &str, forwarded: Option<&str>| {
        let mut request = reqwest::Client::new().get(format!("{base}{path}"));
        if let Some(address) = forwarded {
            request = request.header("x-forwarded-for", address);
        }
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(ask("/metrics", None).await, 200);
    assert_eq!(ask("/metrics", Some("203.0.113.9")).await, 404, "what a proxy carries is from elsewhere");
    assert_eq!(ask("/healthz", Some("203.0.113.9")).await, 200);
    assert_eq!(ask("/readyz", Some("203.0.113.9")).await, 200);
}
