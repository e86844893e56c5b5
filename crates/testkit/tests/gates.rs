//! What every request meets, whatever the endpoint.

use contract::{
    Code, Name,
    organizations::OrganizationPath,
    projects::{CreateProject, GetProject, ListProjects, ProjectFilter, ProjectPath, ProjectSpec},
};
use kernel::{Access, Tx};
use testkit::World;

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
    let mut tx = Tx::system(&world.server.app.db, "test", Access::Write).await.unwrap();
    control::members::join(&mut tx, organization, newcomer.id, contract::Role::Viewer).await.unwrap();
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
