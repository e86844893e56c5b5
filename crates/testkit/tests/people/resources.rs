//! What each resource does, from the outside.

use std::time::Duration;

use client::Client;
use contract::{
    Code, Name, Role, SecretText,
    id::OrganizationId,
    invitations::{
        AcceptInvitation, CreateInvitation, InvitationFilter, InvitationSpec, InvitationState, InvitationToken,
        ListInvitations,
    },
    keys::{KeyFilter, KeySpec},
    members::{ChangeMember, ListMembers, MemberFilter, MemberPath, MemberSpec, RemoveMember},
    organizations::{
        Because, CloseOrganization, ListOrganizations, OrganizationFilter, OrganizationPath, ResumeOrganization,
        SuspendOrganization,
    },
    policies::{
        GetProjectPolicy, OrganizationPolicyPath, PolicyLevel, PolicyValue, ProjectPolicyPath, SetOrganizationPolicy,
        UnsetOrganizationPolicy,
    },
    projects::{
        CreateProject, DeleteProject, GetProject, ListProjects, Project, ProjectFilter, ProjectPath, ProjectSpec,
        ProjectState, RenameProject,
    },
    service_accounts::{
        CreateServiceAccount, CreateServiceAccountKey, DeleteServiceAccount, ListServiceAccountKeys,
        ListServiceAccounts, ServiceAccountFilter, ServiceAccountPath, ServiceAccountSpec,
    },
};
use testkit::{World, server::eventually};

fn at(organization: OrganizationId) -> OrganizationPath {
    OrganizationPath { organization_id: organization }
}

fn named(name: &str) -> ProjectSpec {
    ProjectSpec { name: name.parse::<Name>().unwrap() }
}

async fn create(client: &Client, organization: OrganizationId, name: &str) -> Result<Project, client::ClientError> {
    client.call::<CreateProject>(at(organization), Default::default(), named(name)).await
}

async fn get(client: &Client, project: &Project) -> Project {
    let path = ProjectPath { project_id: project.id };
    client.call::<GetProject>(path, Default::default(), Default::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_is_created_renamed_deleted_and_its_name_is_free_again() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    let project = create(&client, organization, "alpha").await.unwrap();
    assert!(
        create(&client, organization, "ALPHA").await.unwrap_err().is(Code::NameTaken),
        "names compare without case"
    );
    let path = || ProjectPath { project_id: project.id };
    let renamed = client.call::<RenameProject>(path(), Default::default(), named("beta")).await.unwrap();
    assert_eq!((renamed.name.as_str(), renamed.version), ("beta", 2));
    let deleting = client.call::<DeleteProject>(path(), Default::default(), Default::default()).await.unwrap();
    assert_eq!(deleting.state, ProjectState::Deleting);
    eventually("the project to be deleted", || async { get(&client, &project).await.state == ProjectState::Deleted })
        .await;
    client
        .call::<DeleteProject>(path(), Default::default(), Default::default())
        .await
        .expect("asking again is harmless");
    let late = client.call::<RenameProject>(path(), Default::default(), named("gamma")).await.unwrap_err();
    assert!(late.is(Code::Conflict), "{late}");
    create(&client, organization, "beta").await.expect("the name is free again");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_page_without_gaps_or_repeats() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    for n in 0..7 {
        create(&client, organization, &format!("p{n}")).await.unwrap();
    }
    let mut filter = ProjectFilter { limit: contract::Limit::new(3).unwrap(), ..Default::default() };
    let mut names = Vec::new();
    loop {
        let page = client.call::<ListProjects>(at(organization), filter.clone(), Default::default()).await.unwrap();
        assert!(page.items.len() <= 3);
        names.extend(page.items.into_iter().map(|it| it.name.into_string()));
        match page.next_cursor {
            Some(cursor) => filter.cursor = Some(cursor),
            None => break,
        }
    }
    assert_eq!(names, ["p6", "p5", "p4", "p3", "p2", "p1", "p0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_find_what_people_know_by_name() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    world.member_of(organization, Role::Viewer).await;
    let client = world.as_(&owner);
    for name in ["robot", "other"] {
        let spec = ServiceAccountSpec { name: name.parse().unwrap(), role: Role::Viewer };
        client.call::<CreateServiceAccount>(at(organization), Default::default(), spec).await.unwrap();
    }
    let name = || Some("ROBOT".parse::<Name>().unwrap());
    let filter = ServiceAccountFilter { name: name(), ..Default::default() };
    let found = client.call::<ListServiceAccounts>(at(organization), filter, Default::default()).await.unwrap().items;
    assert_eq!(found.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["robot"]);

    let path = || ServiceAccountPath { organization_id: organization, service_account_id: found[0].id };
    for name in ["robot", "spare"] {
        let scopes = vec![contract::Permission::ProjectsRead];
        let spec = KeySpec { name: name.parse().unwrap(), scopes, expires_at: None };
        client.call::<CreateServiceAccountKey>(path(), Default::default(), spec).await.unwrap();
    }
    let filter = KeyFilter { name: name(), ..Default::default() };
    let found = client.call::<ListServiceAccountKeys>(path(), filter, Default::default()).await.unwrap().items;
    assert_eq!(found.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["robot"]);

    let email = owner.email.as_str().to_ascii_uppercase().parse().unwrap();
    let filter = MemberFilter { email: Some(email), ..Default::default() };
    let found = client.call::<ListMembers>(at(organization), filter, Default::default()).await.unwrap().items;
    assert_eq!(found.iter().map(|it| it.user_id).collect::<Vec<_>>(), [owner.id]);

    let organizations = async |name: &str| {
        let filter = OrganizationFilter { name: Some(name.parse().unwrap()), ..Default::default() };
        client.call::<ListOrganizations>(Default::default(), filter, Default::default()).await.unwrap().items.len()
    };
    assert_eq!((organizations("test organization").await, organizations("another").await), (1, 0));
}

/// Creations at once cannot pass the limit together.
#[tokio::test(flavor = "multi_thread")]
async fn the_project_limit_holds_under_a_race() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    let path = OrganizationPolicyPath { organization_id: organization, key: "projects.max".into() };
    client.call::<SetOrganizationPolicy>(path, Default::default(), PolicyValue { value: "5".into() }).await.unwrap();
    let tries: Vec<_> = (0..20)
        .map(|n| {
            let client = world.as_(&owner);
            tokio::spawn(async move { create(&client, organization, &format!("race-{n}")).await })
        })
        .collect();
    let (mut made, mut refused) = (0, 0);
    for one in tries {
        match one.await.unwrap() {
            Ok(_) => made += 1,
            Err(error) if error.is(Code::LimitReached) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((made, refused), (5, 15));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_organization_can_be_read_and_nothing_else() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    let operator = world.as_(&world.operator().await);
    let why = || Because { reason: "unpaid".parse().unwrap() };
    operator.call::<SuspendOrganization>(at(organization), Default::default(), why()).await.unwrap();
    eventually("the suspension to be noticed", || async {
        matches!(create(&client, organization, "x").await, Err(error) if error.is(Code::Suspended))
    })
    .await;
    client.call::<ListProjects>(at(organization), Default::default(), Default::default()).await.expect("reading works");
    let twice = operator.call::<SuspendOrganization>(at(organization), Default::default(), why()).await.unwrap_err();
    assert!(twice.is(Code::Conflict), "{twice}");
    operator.call::<ResumeOrganization>(at(organization), Default::default(), why()).await.unwrap();
    eventually("the resumption to be noticed", || async { create(&client, organization, "y").await.is_ok() }).await;
}

/// The consumer of `organization.closed` asks for every project's end.
#[tokio::test(flavor = "multi_thread")]
async fn a_closed_organization_takes_its_projects_with_it() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    let (a, b) = (create(&client, organization, "a").await.unwrap(), create(&client, organization, "b").await.unwrap());
    client.call::<CloseOrganization>(at(organization), Default::default(), Default::default()).await.unwrap();
    eventually("both projects to be deleted", || async {
        get(&client, &a).await.state == ProjectState::Deleted && get(&client, &b).await.state == ProjectState::Deleted
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_accepted_once_by_whom_it_was_made_for() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let (guest, thief) = (world.person().await, world.person().await);
    let spec = InvitationSpec { email: guest.email.clone(), role: Role::Member };
    let new = world.as_(&owner).call::<CreateInvitation>(at(organization), Default::default(), spec).await.unwrap();
    let signed_in = |person: &testkit::Member| world.signed_in(person.id);
    let token = || InvitationToken { token: SecretText::new(new.token.expose().into()) };
    let stolen = signed_in(&thief)
        .await
        .call::<AcceptInvitation>(Default::default(), Default::default(), token())
        .await
        .unwrap_err();
    assert!(stolen.is(Code::NotFound), "{stolen}");
    let joined = signed_in(&guest)
        .await
        .call::<AcceptInvitation>(Default::default(), Default::default(), token())
        .await
        .unwrap();
    assert_eq!((joined.id, joined.role.unwrap().as_str()), (organization, "member"));
    let again = signed_in(&guest)
        .await
        .call::<AcceptInvitation>(Default::default(), Default::default(), token())
        .await
        .unwrap_err();
    assert!(again.is(Code::NotFound), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_runs_out_by_itself() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    let spec = InvitationSpec { email: "late@example.test".parse().unwrap(), role: Role::Viewer };
    client.call::<CreateInvitation>(at(organization), Default::default(), spec).await.unwrap();
    world.server.control_plane.db.clock.advance(Duration::from_secs(8 * 86_400));
    world.server.settle().await;
    let owner = world.fresh_key(&owner).await;
    let page =
        owner.call::<ListInvitations>(at(organization), InvitationFilter::default(), Default::default()).await.unwrap();
    assert_eq!(page.items[0].state, InvitationState::Expired);
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_bound_what_members_do_to_each_other() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let admin = world.member_of(organization, Role::Admin).await;
    let path = |user_id| MemberPath { organization_id: organization, user_id };
    let as_admin = world.as_(&admin);
    let up = as_admin
        .call::<ChangeMember>(path(admin.id), Default::default(), MemberSpec { role: Role::Owner })
        .await
        .unwrap_err();
    assert!(up.is(Code::ScopeExceeded), "{up}");
    let out = as_admin.call::<RemoveMember>(path(owner.id), Default::default(), Default::default()).await.unwrap_err();
    assert!(out.is(Code::ScopeExceeded), "{out}");
    let as_owner = world.as_(&owner);
    let last = as_owner.call::<RemoveMember>(path(owner.id), Default::default(), Default::default()).await.unwrap_err();
    assert!(last.is(Code::LastOwner), "{last}");
    as_owner.call::<ChangeMember>(path(admin.id), Default::default(), MemberSpec { role: Role::Owner }).await.unwrap();
    as_owner
        .call::<RemoveMember>(path(owner.id), Default::default(), Default::default())
        .await
        .expect("another owner is there");
    let page = as_admin.call::<ListMembers>(at(organization), Default::default(), Default::default()).await.unwrap();
    assert_eq!(page.items.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_account_acts_within_its_role_and_its_keys_scopes() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    let spec = ServiceAccountSpec { name: "robot".parse().unwrap(), role: Role::Viewer };
    let robot = client.call::<CreateServiceAccount>(at(organization), Default::default(), spec).await.unwrap();
    let path = || ServiceAccountPath { organization_id: organization, service_account_id: robot.id };
    let scopes = vec![contract::Permission::ProjectsRead, contract::Permission::ProjectsWrite];
    let spec = contract::keys::KeySpec { name: "k".parse().unwrap(), scopes, expires_at: None };
    let key = client.call::<CreateServiceAccountKey>(path(), Default::default(), spec).await.unwrap();
    let as_robot = world.server.client(Some(key.secret.expose()));
    as_robot.call::<ListProjects>(at(organization), Default::default(), Default::default()).await.unwrap();
    let refused = create(&as_robot, organization, "x").await.unwrap_err();
    assert!(refused.is(Code::Forbidden), "the role limits the key: {refused}");
    client.call::<DeleteServiceAccount>(path(), Default::default(), Default::default()).await.unwrap();
    eventually("the key to stop", || async {
        as_robot.call::<ListProjects>(at(organization), Default::default(), Default::default()).await.is_err()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_is_explained_and_a_guardrail_holds() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let project = world.project(organization).await;
    let client = world.as_(&owner);
    let set = |value: &str| {
        let path = OrganizationPolicyPath { organization_id: organization, key: "projects.max".into() };
        (path, PolicyValue { value: value.into() })
    };
    let (path, body) = set("500");
    let loosened = client.call::<SetOrganizationPolicy>(path, Default::default(), body).await.unwrap_err();
    assert!(loosened.is(Code::InvalidValue), "{loosened}");
    let (path, body) = set("20");
    client.call::<SetOrganizationPolicy>(path, Default::default(), body).await.unwrap();
    let path = || ProjectPolicyPath { project_id: project, key: "projects.max".into() };
    let policy = client.call::<GetProjectPolicy>(path(), Default::default(), Default::default()).await.unwrap();
    assert_eq!((policy.value.as_str(), policy.source.clone()), ("20", PolicyLevel::Organization.into()));
    let chain: Vec<(String, Option<String>)> =
        policy.levels.iter().map(|it| (it.level.to_string(), it.value.clone())).collect();
    let text = |it: &str| it.to_owned();
    assert_eq!(
        chain,
        [
            (text("default"), Some(text("100"))),
            (text("platform"), None),
            (text("organization"), Some(text("20"))),
            (text("project"), None)
        ]
    );
    let (unset, _) = set("");
    let policy = client.call::<UnsetOrganizationPolicy>(unset, Default::default(), Default::default()).await.unwrap();
    assert_eq!(policy.value, "100");
    let mut connection = world.server.database.superuser().await;
    let told: Vec<String> = sqlx::query_scalar("SELECT subject FROM outbox WHERE subject LIKE 'policy.%' ORDER BY id")
        .fetch_all(&mut connection)
        .await
        .unwrap();
    assert_eq!(told, ["policy.set", "policy.unset"]);
}

/// The secret of a key is in its answer, and nowhere in the database.
#[tokio::test(flavor = "multi_thread")]
async fn shown_secrets_are_replayed_but_not_stored_in_clear() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let spec = || InvitationSpec { email: "secret@example.test".parse().unwrap(), role: Role::Viewer };
    let client = world.as_(&owner);
    let first =
        client.call_with_key::<CreateInvitation>("same", at(organization), Default::default(), spec()).await.unwrap();
    let again =
        client.call_with_key::<CreateInvitation>("same", at(organization), Default::default(), spec()).await.unwrap();
    assert_eq!(first.token.expose(), again.token.expose());
    let mut connection = world.server.database.superuser().await;
    let (sealed, body): (bool, Vec<u8>) = sqlx::query_as("SELECT sealed, body FROM idempotency WHERE key = 'same'")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    let held = String::from_utf8_lossy(&body);
    assert!(sealed && !held.contains(first.token.expose()) && !held.contains("secret@example.test"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_shows_events_as_they_are_committed() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let (_, stranger) = world.organization().await;
    let mut watch = world.watch(organization, &owner.token, "project.").await;
    assert_eq!(watch.next().await["type"], "ready");
    let client = world.as_(&owner);
    let started = std::time::Instant::now();
    create(&client, organization, "seen").await.unwrap();
    let frame = watch.next().await;
    println!("told after {:?}", started.elapsed());
    assert_eq!((frame["type"].as_str(), frame["event"]["subject"].as_str()), (Some("event"), Some("project.created")));
    watch.send(r#"{"type":"ping"}"#).await;
    assert_eq!(watch.next().await["type"], "pong");
    assert!(world.try_watch(organization, &stranger.token).await.is_err(), "strangers hear nothing");
    let member = world.member_of(organization, Role::Viewer).await;
    let mut theirs = world.watch(organization, &member.token, "").await;
    assert_eq!(theirs.next().await["type"], "ready");
    let path = MemberPath { organization_id: organization, user_id: member.id };
    client.call::<RemoveMember>(path, Default::default(), Default::default()).await.unwrap();
    loop {
        let frame = theirs.next().await;
        if frame["type"] == "closing" {
            break;
        }
    }
}
