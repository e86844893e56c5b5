//! Calls against a scripted server.

use std::time::{Duration, Instant};

use contract::{
    Code, Limit, Nothing, SecretText, Timestamp,
    id::{OrganizationId, ProjectId},
    organizations::OrganizationPath,
    projects::{
        CreateProject, GetProject, ListProjects, Project, ProjectFilter, ProjectPath, ProjectSpec, ProjectState,
    },
    sessions::{CreateSession, Credentials},
};
use serde_json::json;

use crate::{
    Client, ClientError, Credential, Options, Request,
    scripted::{Act, Server},
};

fn client(server: &Server) -> Client {
    let options = Options { timeout: Duration::from_millis(400), attempts: 3, longest_wait: Duration::from_secs(2) };
    Client::with_options(&server.url, Credential::bearer("gk-1-hidden"), options).unwrap()
}

fn project() -> Project {
    Project {
        id: ProjectId::generate(),
        organization_id: OrganizationId::generate(),
        name: "alpha".parse().unwrap(),
        state: ProjectState::Active.into(),
        version: 1,
        created_at: Timestamp::UNIX_EPOCH,
    }
}

fn answer(status: u16, project: &Project) -> Act {
    Act::text(status, serde_json::to_string(project).unwrap())
}

async fn create(client: &Client) -> Result<Project, ClientError> {
    let path = OrganizationPath { organization_id: OrganizationId::generate() };
    let body = ProjectSpec { name: "alpha".parse().unwrap() };
    client.call::<CreateProject>(path, Nothing {}, body).await
}

async fn get(client: &Client) -> Result<Project, ClientError> {
    let path = ProjectPath { project_id: ProjectId::generate() };
    client.call::<GetProject>(path, Nothing {}, Nothing {}).await
}

async fn sign_in(client: &Client) -> ClientError {
    let body =
        Credentials { email: "a@example.com".parse().unwrap(), password: SecretText::new("correct horse".into()) };
    let answer = client.call::<CreateSession>(Nothing {}, Nothing {}, body).await;
    answer.unwrap_err()
}

#[tokio::test]
async fn a_call_sends_what_the_contract_says() {
    let made = project();
    let server = Server::start(vec![answer(201, &made)]).await;
    assert_eq!(create(&client(&server)).await.unwrap(), made);

    let request = &server.requests()[0];
    assert!(request.line.starts_with("POST /v1/organizations/org-"), "{}", request.line);
    assert!(request.line.ends_with("/projects"), "{}", request.line);
    assert_eq!(request.body, r#"{"name":"alpha"}"#);
    assert_eq!(request.header("authorization"), Some("Bearer gk-1-hidden"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("accept"), Some("application/json"));
    assert_eq!(request.header("idempotency-key").unwrap().len(), 36);
    assert!(request.header("user-agent").unwrap().starts_with("gpuaas-client/"));
}

#[tokio::test]
async fn a_read_sends_neither_key_nor_body() {
    let server = Server::start(vec![answer(200, &project())]).await;
    get(&client(&server)).await.unwrap();
    let request = &server.requests()[0];
    assert_eq!(request.header("idempotency-key"), None);
    assert_eq!(request.header("content-type"), None);
    assert_eq!(request.body, "");
}

#[tokio::test]
async fn a_lost_response_is_retried_with_the_same_idempotency_key() {
    let made = project();
    let script = vec![Act::HangUp, Act::Stall, answer(201, &made)];
    let server = Server::start(script).await;
    assert_eq!(create(&client(&server)).await.unwrap(), made);
    let keys: Vec<String> =
        server.requests().iter().map(|it| it.header("idempotency-key").unwrap().to_owned()).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|it| *it == keys[0]), "{keys:?}");
}

#[tokio::test]
async fn a_request_that_must_not_repeat_is_sent_once() {
    let server = Server::start(vec![Act::HangUp, Act::HangUp]).await;
    let error = sign_in(&client(&server)).await;
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn retry_waits_as_long_as_retry_after_says() {
    let script = vec![
        Act::problem(Code::TooManyRequests).with_header("retry-after", "1"),
        Act::problem(Code::InProgress).with_header("retry-after", "0"),
        answer(201, &project()),
    ];
    let server = Server::start(script).await;
    let start = Instant::now();
    create(&client(&server)).await.unwrap();
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_retry_after_longer_than_allowed_is_returned_to_the_caller() {
    let busy = Act::problem(Code::TooManyRequests).with_header("retry-after", "3600");
    let server = Server::start(vec![busy]).await;
    let error = get(&client(&server)).await.unwrap_err();
    assert!(error.is(Code::TooManyRequests), "{error}");
}

#[tokio::test]
async fn a_call_gives_up_after_the_last_attempt() {
    let script = (0..5).map(|_| Act::problem(Code::Unavailable).with_header("retry-after", "0"));
    let server = Server::start(script.collect()).await;
    let error = get(&client(&server)).await.unwrap_err();
    assert!(error.is(Code::Unavailable), "{error}");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_problem_is_returned_whole_and_not_repeated() {
    let server = Server::start(vec![Act::problem(Code::NameTaken)]).await;
    let error = create(&client(&server)).await.unwrap_err();
    let problem = error.problem().unwrap();
    assert_eq!(problem.code, "name_taken");
    assert_eq!(problem.correlation_id, "c-1");
    assert_eq!(problem.advice, "Choose another name.");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_response_of_another_shape_is_malformed_and_not_quoted() {
    let bodies = [
        Act::json(200, json!({ "id": "hidden" })),
        Act::text(200, "<html>hidden</html>".into()),
        Act::text(404, "<html>hidden</html>".into()),
        Act::text(302, String::new()).with_header("location", "http://127.0.0.1:1/"),
    ];
    for act in bodies {
        let server = Server::start(vec![act]).await;
        let error = get(&client(&server)).await.unwrap_err();
        assert!(matches!(error, ClientError::Malformed { .. }), "{error}");
        assert!(!format!("{error} {error:?}").contains("hidden"), "{error:?}");
    }
}

#[tokio::test]
async fn a_missing_server_is_unreachable() {
    let server = Server::start(Vec::new()).await;
    let client = client(&server);
    tokio::task::yield_now().await;
    let error = sign_in(&client).await;
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("check the server URL"), "{error}");
}

#[tokio::test]
async fn pages_are_followed_to_the_end() {
    let cursor = contract::Cursor(uuid::Uuid::from_u128(5));
    let page = |items: &[Project], next: Option<contract::Cursor>| {
        Act::json(200, json!({ "items": items, "next_cursor": next }))
    };
    let script = vec![page(&[project(), project()], Some(cursor)), page(&[project()], None)];
    let server = Server::start(script).await;
    let client = client(&server);
    let path = OrganizationPath { organization_id: OrganizationId::generate() };
    let query =
        ProjectFilter { state: Some(ProjectState::Active), limit: Limit::new(2).unwrap(), ..ProjectFilter::default() };
    let all = client.pages::<ListProjects>(path, query).take(100).await.unwrap();
    assert_eq!(all.len(), 3);
    let lines: Vec<String> = server.requests().into_iter().map(|it| it.line).collect();
    assert!(lines[0].ends_with("/projects?limit=2&state=active"), "{}", lines[0]);
    assert!(lines[1].contains(&format!("cursor={cursor}&limit=2&state=active")), "{}", lines[1]);
}

#[tokio::test]
async fn the_callers_idempotency_key_is_sent_and_an_invalid_one_is_refused() {
    let server = Server::start(vec![answer(201, &project())]).await;
    let client = client(&server);
    let request = |key: &str| {
        let path = OrganizationPath { organization_id: OrganizationId::generate() };
        let body = ProjectSpec { name: "alpha".parse().unwrap() };
        Request::<CreateProject>::new(path, Nothing {}, body).with_key(key)
    };
    for bad in ["", "two words", "line\nbreak", &"k".repeat(129)] {
        let error = client.send(&request(bad)).await.unwrap_err();
        assert!(matches!(error, ClientError::Unsendable(_)), "{error}");
    }
    client.send(&request("run-7")).await.unwrap();
    assert_eq!(server.requests()[0].header("idempotency-key"), Some("run-7"));
}

#[tokio::test]
async fn secrets_do_not_print() {
    let server = Server::start(Vec::new()).await;
    let client = client(&server);
    assert!(!format!("{client:?} {:?}", Credential::bearer("hidden")).contains("hidden"));
    let broken = client.with_credential(Credential::bearer("hidden\n"));
    let error = get(&broken).await.unwrap_err();
    assert!(matches!(error, ClientError::Unsendable(_)), "{error}");
    assert!(!format!("{error} {error:?}").contains("hidden"));
}
