//! What every request meets, whatever the endpoint.

use std::time::Duration;

use client::ClientError;
use contract::{
    Code, Name, Role, SecretText,
    organizations::OrganizationPath,
    projects::{CreateProject, GetProject, ListProjects, ProjectFilter, ProjectPath, ProjectSpec, RenameProject},
    service_accounts::{
        CreateServiceAccount, CreateServiceAccountKey, DeleteServiceAccount, ServiceAccountPath, ServiceAccountSpec,
    },
    sessions::{CreateSession, Credentials, RefreshSession, RefreshToken},
};
use kernel::{Access, Tx};
use testkit::{Server, World, world::PASSWORD};

fn spec(name: &str) -> ProjectSpec {
    ProjectSpec { name: name.parse::<Name>().unwrap() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_identical_requests_make_one_effect_and_one_answer() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let calls = (0..100).map(|_| {
        let client = world.as_(&owner);
        tokio::spawn(async move {
            let path = OrganizationPath { organization_id: organization };
            client.call_with_key::<CreateProject>("one-key", path, Default::default(), spec("once")).await.unwrap()
        })
    });
    let calls: Vec<_> = calls.collect();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap());
    }
    assert_eq!(answers.len(), 100);
    assert!(answers.iter().all(|it| *it == answers[0]), "one answer");
    let path = OrganizationPath { organization_id: organization };
    let page =
        world.as_(&owner).call::<ListProjects>(path, ProjectFilter::default(), Default::default()).await.unwrap();
    assert_eq!(page.items.len(), 1, "one effect");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_used_for_another_body_is_refused() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    let path = || OrganizationPath { organization_id: organization };
    client.call_with_key::<CreateProject>("k", path(), Default::default(), spec("a")).await.unwrap();
    let error = client.call_with_key::<CreateProject>("k", path(), Default::default(), spec("b")).await.unwrap_err();
    assert!(error.is(Code::KeyReused), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_is_repeated_to_copies_of_a_request() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    let path = || OrganizationPath { organization_id: organization };
    let create = async || client.call_with_key::<CreateProject>("k", path(), Default::default(), spec("taken")).await;
    let other = client.call::<CreateProject>(path(), Default::default(), spec("taken")).await.unwrap();
    let first = create().await.unwrap_err();
    assert!(first.is(Code::NameTaken), "{first}");
    assert!(!first.problem().unwrap().is_replay);

    let at = ProjectPath { project_id: other.id };
    client.call::<RenameProject>(at, Default::default(), spec("renamed")).await.unwrap();
    let copy = create().await.unwrap_err();
    assert!(copy.is(Code::NameTaken), "the name is free by now, and the copy is refused all the same: {copy}");
    let (first, copy) = (first.problem().unwrap(), copy.problem().unwrap());
    assert!(copy.is_replay, "a header says that it repeats an earlier answer");
    assert_eq!(copy.correlation_id, first.correlation_id);
    let error = client.call_with_key::<CreateProject>("k", path(), Default::default(), spec("b")).await.unwrap_err();
    assert!(error.is(Code::KeyReused), "{error}");

    world.server.control_plane.db.clock.advance(Duration::from_secs(61));
    create().await.expect("after `idempotency.refusal_seconds` it is a new request");
}

/// Copies of one request on two replicas, while what it is refused for goes away.
#[tokio::test(flavor = "multi_thread")]
async fn copies_on_two_replicas_agree_while_the_cause_of_a_refusal_goes_away() {
    let world = World::new().await;
    let second = Server::with(world.server.database.clone(), &[gpuaasd::roles::Role::Api], |_| ()).await;
    let (organization, owner) = world.organization().await;
    let path = move || OrganizationPath { organization_id: organization };
    let (mut refused, mut made) = (0, 0);
    for round in 0..testkit::rounds(200) {
        let name = format!("p{round}");
        let other = world.as_(&owner).call::<CreateProject>(path(), Default::default(), spec(&name)).await.unwrap();
        let (at, renamed) = (ProjectPath { project_id: other.id }, format!("r{round}"));
        let rename = tokio::spawn({
            let client = world.as_(&owner);
            async move { client.call::<RenameProject>(at, Default::default(), spec(&renamed)).await }
        });
        // Copies come before, with and after the end of what they are refused for.
        let head_start = Duration::from_millis(round as u64 % 10 * 3);
        let copies: Vec<_> = (0..6)
            .map(|n| {
                let server = if n % 2 == 0 { &world.server } else { &second };
                let (client, name) = (server.client(Some(&owner.token)), name.clone());
                tokio::spawn(async move {
                    // pause: copies arrive before, with and after the end
                    tokio::time::sleep(head_start).await;
                    let key = format!("copy-{name}");
                    client.call_with_key::<CreateProject>(key, path(), Default::default(), spec(&name)).await
                })
            })
            .collect();
        rename.await.unwrap().unwrap();
        let mut answers = Vec::new();
        for copy in copies {
            answers.push(match copy.await.unwrap() {
                Ok(project) => project.id.to_string(),
                Err(error) => error.problem().expect("an answer").correlation_id.clone(),
            });
        }
        assert!(answers.iter().all(|it| *it == answers[0]), "round {round}: {answers:?}");
        if answers[0].starts_with("proj-") { made += 1 } else { refused += 1 }
    }
    println!("6 copies on two replicas: all made it in {made} rounds, all were refused in {refused}, none disagreed");
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connection_that_the_database_ends_is_answered_with_503_and_retry_after() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    execute(
        &world,
        "CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
         BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(5); RETURN NEW; END $$;
         CREATE TRIGGER planted BEFORE INSERT ON projects FOR EACH ROW EXECUTE FUNCTION planted()",
    )
    .await;
    let answer = reqwest::Client::new()
        .post(format!("{}/v1/organizations/{organization}/projects", world.server.base))
        .bearer_auth(&owner.token)
        .header("idempotency-key", "once")
        .json(&spec("one"))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 503, "{:?}", answer.text().await);
    assert_eq!(answer.headers()["retry-after"], "2");
    execute(&world, "DROP TRIGGER planted ON projects").await;
    let path = OrganizationPath { organization_id: organization };
    let made = world.as_(&owner).call_with_key::<CreateProject>("once", path, Default::default(), spec("one")).await;
    made.expect("the key was not used up");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_cannot_tell_a_foreign_project_from_none() {
    let world = World::new().await;
    let (organization, _) = world.organization().await;
    let project = world.project(organization).await;
    let (_, stranger) = world.organization().await;
    let client = world.as_(&stranger);
    let foreign =
        client.call::<GetProject>(ProjectPath { project_id: project }, Default::default(), Default::default()).await;
    let nowhere = contract::id::ProjectId::generate();
    let none =
        client.call::<GetProject>(ProjectPath { project_id: nowhere }, Default::default(), Default::default()).await;
    let text = |answer: Result<_, client::ClientError>| match answer.unwrap_err() {
        client::ClientError::Problem(problem) => (problem.status, problem.code.clone(), problem.detail.clone()),
        other => panic!("{other}"),
    };
    assert_eq!(text(foreign.map(|_| ())), text(none.map(|_| ())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_that_was_just_granted_works_at_once() {
    let world = World::new().await;
    let (organization, _) = world.organization().await;
    let newcomer = world.person().await;
    let list = async || {
        let path = OrganizationPath { organization_id: organization };
        world.as_(&newcomer).call::<ListProjects>(path, ProjectFilter::default(), Default::default()).await
    };
    assert!(list().await.unwrap_err().is(Code::NotFound), "now the server remembers a stranger");
    // As another replica would do it: this one hears nothing of it.
    let mut tx = Tx::system(&world.server.control_plane.db, "test", Access::Write).await.unwrap();
    people::members::join(&mut tx, organization, newcomer.id, contract::Role::Viewer).await.unwrap();
    tx.commit().await.unwrap();
    list().await.unwrap();
}

/// Closing and creating at once: no project outlives its organization.
#[tokio::test(flavor = "multi_thread")]
async fn no_project_is_created_in_an_organization_that_just_closed() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let path = move || OrganizationPath { organization_id: organization };
    let creating: Vec<_> = (0..20)
        .map(|n| {
            let client = world.as_(&owner);
            tokio::spawn(async move {
                let made = client.call::<CreateProject>(path(), Default::default(), spec(&format!("p{n}"))).await;
                made.map(|_| ()).map_err(|error| assert!(error.is(Code::Suspended), "{error}"))
            })
        })
        .collect();
    let closed = world
        .as_(&owner)
        .call::<contract::organizations::CloseOrganization>(path(), Default::default(), Default::default())
        .await;
    closed.unwrap();
    for one in creating {
        let _ = one.await.unwrap();
    }
    testkit::server::eventually("every project to be deleted", || async {
        let mut connection = world.server.database.superuser().await;
        let left: i64 = sqlx::query_scalar("SELECT count(*) FROM projects WHERE state <> 'deleted'")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        left == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_problems_type_leads_to_its_description() {
    let world = World::new().await;
    let http = reqwest::Client::new();
    let problem: contract::Problem =
        http.get(format!("{}/v1/whoami", world.server.base)).send().await.unwrap().json().await.unwrap();
    let kind: serde_json::Value =
        http.get(format!("{}{}", world.server.base, problem.kind)).send().await.unwrap().json().await.unwrap();
    assert_eq!((kind["code"].as_str(), kind["status"].as_u64()), (Some("unauthenticated"), Some(401)));
    let document: serde_json::Value =
        http.get(format!("{}/openapi.json", world.server.base)).send().await.unwrap().json().await.unwrap();
    assert_eq!(document["openapi"], "3.0.3");
}

async fn count(world: &World, statement: &'static str) -> i64 {
    sqlx::query_scalar(statement).fetch_one(&mut world.server.database.superuser().await).await.unwrap()
}

async fn execute(world: &World, statement: &'static str) {
    sqlx::raw_sql(statement).execute(&mut world.server.database.superuser().await).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_fails_half_way_leaves_nothing() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    let at = || OrganizationPath { organization_id: organization };
    let spec = ServiceAccountSpec { name: "robot".parse().unwrap(), role: Role::Viewer };
    let robot = client.call::<CreateServiceAccount>(at(), Default::default(), spec).await.unwrap();
    let path = || ServiceAccountPath { organization_id: organization, service_account_id: robot.id };
    let scopes = vec![contract::Permission::ProjectsRead];
    let key = contract::keys::KeySpec { name: "k".parse().unwrap(), scopes, expires_at: None };
    client.call::<CreateServiceAccountKey>(path(), Default::default(), key).await.unwrap();
    // The account is deleted before its keys are revoked, which fails.
    execute(
        &world,
        "CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$;
         CREATE TRIGGER planted BEFORE UPDATE OF revoked_at ON keys FOR EACH ROW EXECUTE FUNCTION planted()",
    )
    .await;
    let failed = client.call::<DeleteServiceAccount>(path(), Default::default(), Default::default()).await.unwrap_err();
    assert!(failed.is(Code::Internal), "{failed}");
    let gone = "SELECT count(*) FROM service_accounts WHERE deleted_at IS NOT NULL";
    let told = "SELECT count(*) FROM outbox WHERE subject = 'service_account.deleted'";
    let audited = "SELECT count(*) FROM audit WHERE action = 'service_account.delete'";
    for statement in [gone, told, audited] {
        assert_eq!(count(&world, statement).await, 0, "{statement}");
    }
    execute(&world, "DROP TRIGGER planted ON keys").await;
    client.call::<DeleteServiceAccount>(path(), Default::default(), Default::default()).await.unwrap();
    for statement in [gone, told, audited] {
        assert_eq!(count(&world, statement).await, 1, "{statement}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_without_its_event_does_not_happen() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    let create = async || {
        let path = OrganizationPath { organization_id: organization };
        client.call_with_key::<CreateProject>("one-key", path, Default::default(), spec("once")).await
    };
    execute(
        &world,
        "CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$;
         CREATE TRIGGER planted BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION planted()",
    )
    .await;
    let failed = create().await.unwrap_err();
    assert!(failed.is(Code::Internal), "{failed}");
    let made = "SELECT count(*) FROM projects";
    let audited = "SELECT count(*) FROM audit WHERE action = 'project.create'";
    let answered = "SELECT count(*) FROM idempotency WHERE key = 'one-key'";
    for statement in [made, audited, answered] {
        assert_eq!(count(&world, statement).await, 0, "{statement}");
    }
    execute(&world, "DROP TRIGGER planted ON outbox").await;
    create().await.expect("the key was not used up");
    for statement in [made, audited, answered] {
        assert_eq!(count(&world, statement).await, 1, "{statement}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_keeps_what_the_handler_wrote() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let client = world.server.client(None);
    let body = Credentials { email: person.email.clone(), password: SecretText::new(PASSWORD.into()) };
    let tokens = client.call::<CreateSession>(Default::default(), Default::default(), body).await.unwrap();
    let refresh = async || {
        let body = RefreshToken { refresh_token: SecretText::new(tokens.refresh_token.expose().into()) };
        client.call::<RefreshSession>(Default::default(), Default::default(), body).await
    };
    refresh().await.unwrap();
    world.server.control_plane.db.clock.advance(Duration::from_secs(60));
    let reused = refresh().await.unwrap_err();
    assert!(reused.is(Code::Unauthenticated), "{reused}");
    for statement in [
        "SELECT count(*) FROM sessions WHERE revoked_at IS NOT NULL",
        "SELECT count(*) FROM outbox WHERE subject = 'session.revoked'",
        "SELECT count(*) FROM audit WHERE action = 'session.refresh' AND outcome = 'unauthenticated'",
    ] {
        assert_eq!(count(&world, statement).await, 1, "{statement}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_at_the_gates_is_audited_with_who_asked() {
    let world = World::new().await;
    let (organization, _) = world.organization().await;
    let viewer = world.member_of(organization, Role::Viewer).await;
    let path = || OrganizationPath { organization_id: organization };
    let correlation_id = |error: ClientError| error.problem().unwrap().correlation_id.clone();

    let anyone = world.server.client(None).call::<ListProjects>(path(), Default::default(), Default::default()).await;
    let forged = world.server.client(Some("forged"));
    let forged = forged.call::<ListProjects>(path(), Default::default(), Default::default()).await;
    let below = world.as_(&viewer).call::<CreateProject>(path(), Default::default(), spec("x")).await;
    let credentials = Credentials { email: viewer.email.clone(), password: SecretText::new("not the password".into()) };
    let client = world.server.client(None);
    let login = client.call::<CreateSession>(Default::default(), Default::default(), credentials).await;

    let viewer = format!("user:{}", viewer.id);
    for (refused, entry) in [
        (anyone.map(|_| ()), ("public", "denied.ListProjects", "unauthenticated")),
        (forged.map(|_| ()), ("public", "denied.ListProjects", "unauthenticated")),
        (below.map(|_| ()), (viewer.as_str(), "denied.CreateProject", "forbidden")),
        (login.map(|_| ()), ("public", "session.create", "unauthenticated")),
    ] {
        let found: (String, String, String) =
            sqlx::query_as("SELECT actor, action, outcome FROM audit WHERE correlation_id = $1")
                .bind(correlation_id(refused.unwrap_err()))
                .fetch_one(&mut world.server.database.superuser().await)
                .await
                .unwrap();
        assert_eq!((found.0.as_str(), found.1.as_str(), found.2.as_str()), entry);
    }
}
