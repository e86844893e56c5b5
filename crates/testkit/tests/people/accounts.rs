//! Who an account belongs to: addresses are proven before they own anything, and
//! what a credential opened ends with it.

use std::{net::IpAddr, sync::Arc};

use client::ClientError;
use contract::{
    Code, Permission, Role, SecretText, Word,
    account_tokens::{ConfirmSignUp, PasswordResetSpec, RequestPasswordReset, SignUpConfirmation},
    id::OrganizationId,
    invitations::{
        AcceptInvitation, CreateInvitation, InvitationFilter, InvitationSpec, InvitationState, InvitationToken,
        ListInvitations, NewInvitation,
    },
    members::{ChangeMember, LeaveOrganization, MemberPath, MemberSpec, RemoveMember},
    organizations::{GetOrganization, OrganizationPath},
    sessions::{CreateSession, Credentials, RefreshSession, RefreshToken, TokenSet},
    users::{EraseUser, NewUser, SignUp, UserPath},
};
use gpuaasd::{roles::Role as ServerRole, upkeep};
use platform::policies::settings;
use serde_json::json;
use testkit::{
    Database, Member, Server, World,
    world::{PASSWORD, set_policy},
};

fn at(organization_id: OrganizationId) -> OrganizationPath {
    OrganizationPath { organization_id }
}

async fn invite(world: &World, by: &Member, to: OrganizationId, email: &str, role: Role) -> NewInvitation {
    let spec = InvitationSpec { email: email.parse().unwrap(), role };
    world.as_(by).call::<CreateInvitation>(at(to), Default::default(), spec).await.unwrap()
}

async fn accept(world: &World, person: &Member, token: &str) -> Result<OrganizationId, ClientError> {
    let body = InvitationToken { token: SecretText::new(token.into()) };
    let client = world.signed_in(person.id).await;
    client.call::<AcceptInvitation>(Default::default(), Default::default(), body).await.map(|it| it.id)
}

#[tokio::test(flavor = "multi_thread")]
async fn inviter_cannot_sign_up_for_the_address_that_was_invited() {
    let world = World::new().await;
    let (organization, mallory) = world.organization().await;
    let new = invite(&world, &mallory, organization, "alice@corp.example", Role::Viewer).await;
    let body = SignUpConfirmation {
        token: SecretText::new(new.token.expose().into()),
        name: "Alice".parse().unwrap(),
        password: SecretText::new(PASSWORD.into()),
    };
    let anyone = world.server.client(None);
    let refused = anyone.call::<ConfirmSignUp>(Default::default(), Default::default(), body).await;
    let refused = refused.expect_err("the token that the inviter sees creates no account");
    assert!(refused.is(Code::NotFound) && refused.to_string().contains("create-account"), "{refused}");
    let found: i64 = sqlx::query_scalar("SELECT count(*) FROM users WHERE email = 'alice@corp.example'")
        .fetch_one(&mut world.server.database.superuser().await)
        .await
        .unwrap();
    assert_eq!(found, 0, "nothing is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn invitation_used_by_its_maker_does_nothing() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let admin = world.member_of(organization, Role::Admin).await;
    let other = invite(&world, &admin, organization, "somebody@example.test", Role::Admin).await;
    let refused = accept(&world, &admin, other.token.expose()).await.unwrap_err();
    assert!(refused.is(Code::NotFound), "{refused}");
    let own = invite(&world, &admin, organization, admin.email.as_str(), Role::Admin).await;
    let refused = accept(&world, &admin, own.token.expose()).await.unwrap_err();
    assert!(refused.is(Code::Conflict), "{refused}");
    let as_owner = world.as_(&owner);
    let page = as_owner.call::<ListInvitations>(at(organization), Default::default(), Default::default());
    assert!(page.await.unwrap().items.iter().all(|it| it.state == InvitationState::Pending), "neither was used");
}

#[tokio::test(flavor = "multi_thread")]
async fn invitation_ends_with_what_its_maker_may_give() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let path = |user_id| MemberPath { organization_id: organization, user_id };
    let as_owner = world.as_(&owner);
    for is_removed in [true, false] {
        let admin = world.member_of(organization, Role::Admin).await;
        let guest = world.person().await;
        let new = invite(&world, &admin, organization, guest.email.as_str(), Role::Admin).await;
        if is_removed {
            as_owner.call::<RemoveMember>(path(admin.id), Default::default(), Default::default()).await.unwrap();
        } else {
            let role = MemberSpec { role: Role::Member };
            as_owner.call::<ChangeMember>(path(admin.id), Default::default(), role).await.unwrap();
        }
        let refused = accept(&world, &guest, new.token.expose()).await;
        let refused = refused.expect_err("whoever made it may not make administrators any more");
        assert!(refused.is(Code::NotFound), "{refused}");
        let page = as_owner.call::<ListInvitations>(at(organization), InvitationFilter::default(), Default::default());
        let shown = page.await.unwrap().items.into_iter().find(|it| it.id == new.invitation.id).unwrap();
        assert_eq!(shown.state, InvitationState::Revoked, "and the list says so");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn key_cannot_give_a_role_that_grants_more_than_its_scopes() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let member = world.member_of(organization, Role::Viewer).await;
    let key = world.key(&owner, &[Permission::MembersRead, Permission::MembersWrite]).await;
    let program = world.server.client(Some(&key));
    let spec = InvitationSpec { email: "accomplice@example.test".parse().unwrap(), role: Role::Owner };
    let invited = program.call::<CreateInvitation>(at(organization), Default::default(), spec).await;
    let refused = invited.expect_err("a key for members makes no owner");
    assert!(refused.is(Code::ScopeExceeded), "{refused}");
    let path = MemberPath { organization_id: organization, user_id: member.id };
    let changed = program.call::<ChangeMember>(path.clone(), Default::default(), MemberSpec { role: Role::Owner });
    let refused = changed.await.expect_err("nor by a change of role");
    assert!(refused.is(Code::ScopeExceeded), "{refused}");
    let viewing: Vec<Permission> = Permission::ALL.iter().copied().filter(|it| Role::Viewer.grants(*it)).collect();
    let key = world.key(&owner, &[viewing, vec![Permission::MembersWrite]].concat()).await;
    let spec = InvitationSpec { email: "reader@example.test".parse().unwrap(), role: Role::Viewer };
    let program = world.server.client(Some(&key));
    program.call::<CreateInvitation>(at(organization), Default::default(), spec).await.expect("what it holds itself");
}

async fn sign_in_from(world: &World, email: &str, password: &str, address: &str) -> u16 {
    let body = json!({ "email": email, "password": password });
    let request = reqwest::Client::new().post(format!("{}/v1/sessions", world.server.base)).json(&body);
    request.header("x-forwarded-for", address).send().await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn outsider_who_guesses_does_not_lock_out_the_owner() {
    let database = Arc::new(Database::new().await);
    let local: IpAddr = "127.0.0.1".parse().unwrap();
    let server = Server::with(database, &ServerRole::ALL, |config| config.http.trusted_proxies = vec![local]).await;
    let world = World::on(server).await;
    set_policy(&world.as_(&world.operator().await), "rate_limit.login_per_minute", "5").await;
    let person = world.person_with_password().await;
    let email = person.email.as_str();
    assert_eq!(sign_in_from(&world, email, PASSWORD, "192.0.2.1").await, 201);
    // Every guess comes from another place; the allowance refills while a slow machine guesses.
    let (mut guesses, mut status) = (0..100, 401);
    while status == 401 {
        let guess = guesses.next().expect("guessing from many places is throttled");
        status = sign_in_from(&world, email, "a wrong guess", &format!("198.51.100.{guess}")).await;
    }
    assert_eq!(status, 429);
    assert_eq!(sign_in_from(&world, email, PASSWORD, "192.0.2.1").await, 201, "where they signed in before");
}

#[tokio::test(flavor = "multi_thread")]
async fn successful_sign_ins_do_not_count_as_guesses() {
    let database = Arc::new(Database::new().await);
    let local: IpAddr = "127.0.0.1".parse().unwrap();
    let server = Server::with(database, &ServerRole::ALL, |config| config.http.trusted_proxies = vec![local]).await;
    let world = World::on(server).await;
    set_policy(&world.as_(&world.operator().await), "rate_limit.login_per_minute", "5").await;
    let person = world.person_with_password().await;
    for place in 0..15 {
        let status = sign_in_from(&world, person.email.as_str(), PASSWORD, &format!("203.0.113.{place}")).await;
        assert_eq!(status, 201, "sign-in {place}");
    }
}

async fn refresh(world: &World, token: &str) -> Result<TokenSet, ClientError> {
    let body = RefreshToken { refresh_token: SecretText::new(token.into()) };
    world.server.client(None).call::<RefreshSession>(Default::default(), Default::default(), body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn refresh_token_within_the_grace_has_one_successor() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let body = Credentials { email: person.email.clone(), password: SecretText::new(PASSWORD.into()) };
    let anyone = world.server.client(None);
    let first = anyone.call::<CreateSession>(Default::default(), Default::default(), body).await.unwrap();
    let second = refresh(&world, first.refresh_token.expose()).await.unwrap();
    let again = refresh(&world, first.refresh_token.expose()).await.unwrap();
    assert_eq!(again.refresh_token.expose(), second.refresh_token.expose(), "a repetition is no second chain");
    let third = refresh(&world, second.refresh_token.expose()).await.unwrap();
    // The client that shows the first one now did not get the second, which somebody used.
    let refused = refresh(&world, first.refresh_token.expose()).await.unwrap_err();
    assert!(refused.is(Code::Unauthenticated), "{refused}");
    let refused = refresh(&world, third.refresh_token.expose()).await.unwrap_err();
    assert!(refused.is(Code::Unauthenticated), "the session is over for both: {refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tenant_role_cannot_read_password_hashes() {
    let world = World::new().await;
    let mut connection = world.server.database.superuser().await;
    for role in ["gpuaas_tenant", "gpuaas_operator"] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!("SET ROLE {role}"))).execute(&mut connection).await.unwrap();
        let read = sqlx::query("SELECT password_hash FROM users").execute(&mut connection).await;
        let error = read.map(|_| ()).expect_err(role).to_string();
        assert!(error.contains("permission denied"), "{error}");
        sqlx::query("SELECT id, email, name FROM users").execute(&mut connection).await.unwrap();
        sqlx::raw_sql("RESET ROLE").execute(&mut connection).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn denied_request_is_filed_under_the_organization_that_was_addressed() {
    let world = World::new().await;
    let (organization, _) = world.organization().await;
    let (_, stranger) = world.organization().await;
    let viewer = world.member_of(organization, Role::Viewer).await;
    let (as_stranger, as_viewer) = (world.as_(&stranger), world.as_(&viewer));
    let refused = as_stranger.call::<GetOrganization>(at(organization), Default::default(), Default::default());
    assert!(refused.await.unwrap_err().is(Code::NotFound));
    let spec = InvitationSpec { email: "x@example.test".parse().unwrap(), role: Role::Viewer };
    let refused = as_viewer.call::<CreateInvitation>(at(organization), Default::default(), spec);
    assert!(refused.await.unwrap_err().is(Code::Forbidden));
    let nowhere = at(OrganizationId::generate());
    let nowhere = as_stranger.call::<GetOrganization>(nowhere, Default::default(), Default::default());
    assert!(nowhere.await.unwrap_err().is(Code::NotFound));
    let mut connection = world.server.database.superuser().await;
    let filed: Vec<(String, String)> = sqlx::query_as(
        "SELECT actor, action FROM audit WHERE organization_id = $1 AND action LIKE 'denied.%' ORDER BY id",
    )
    .bind(organization.uuid())
    .fetch_all(&mut connection)
    .await
    .unwrap();
    let wanted = [
        (format!("user:{}", stranger.id), "denied.GetOrganization".to_owned()),
        (format!("user:{}", viewer.id), "denied.CreateInvitation".to_owned()),
    ];
    assert_eq!(filed, wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_person_leaves_no_network_address() {
    let world = World::new().await;
    let (organization, _) = world.organization().await;
    let person = world.member_of(organization, Role::Member).await;
    let mut connection = world.server.database.superuser().await;
    // What the row belongs to is not what is tested here.
    sqlx::raw_sql("SET session_replication_role = replica").execute(&mut connection).await.unwrap();
    sqlx::query(
        "INSERT INTO access_sessions (id, organization_id, project_id, allocation_id, node_id, kind, actor, principal_id, user_id,
           address, gateway_id, generation, grace_seconds, until, state, ended_at)
         VALUES (gen_random_uuid(), $1, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'terminal', $2, $3, $3,
           '198.51.100.77', gen_random_uuid(), 0, 0, now(), 'ended', now())",
    )
    .bind(organization.uuid())
    .bind(format!("user:{}", person.id))
    .bind(person.id.uuid())
    .execute(&mut connection)
    .await
    .unwrap();
    let operator = world.operator().await;
    let path = UserPath { user_id: person.id };
    world.as_(&operator).call::<EraseUser>(path, Default::default(), Default::default()).await.unwrap();
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM access_sessions WHERE address = '198.51.100.77'")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(kept, 0, "the address that they came from is still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn member_leaves_an_organization_without_asking_anybody() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let viewer = world.member_of(organization, Role::Viewer).await;
    let leave = async |person: &Member| {
        let client = world.signed_in(person.id).await;
        client.call::<LeaveOrganization>(at(organization), Default::default(), Default::default()).await
    };
    leave(&viewer).await.expect("nobody is kept against their will");
    assert!(leave(&viewer).await.unwrap_err().is(Code::NotFound), "once is enough");
    assert!(leave(&owner).await.unwrap_err().is(Code::LastOwner));
    let stranger = world.person().await;
    assert!(leave(&stranger).await.unwrap_err().is(Code::NotFound));
    let key = world.as_(&owner);
    let by_key = key.call::<LeaveOrganization>(at(organization), Default::default(), Default::default());
    assert!(by_key.await.unwrap_err().is(Code::SignInNeeded), "a key does not end its owner's membership");
    let roles: Vec<String> = sqlx::query_scalar("SELECT role FROM memberships WHERE organization_id = $1")
        .bind(organization.uuid())
        .fetch_all(&mut world.server.database.superuser().await)
        .await
        .unwrap();
    assert_eq!(roles, ["owner"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn account_without_mail_is_made_by_an_operator_at_the_server() {
    let world = World::new().await;
    let operator = world.as_(&world.operator().await);
    set_policy(&operator, settings::SELF_SERVICE.0.name, "true").await;
    world.server.control_plane.policies.refresh(&world.server.control_plane.db).await.unwrap();
    let (anyone, email) = (world.server.client(None), "ada@example.test");
    let body = NewUser { email: email.parse().unwrap() };
    let refused = anyone.call::<SignUp>(Default::default(), Default::default(), body).await.unwrap_err();
    assert!(refused.is(Code::MailOff), "{refused}");
    let body = PasswordResetSpec { email: email.parse().unwrap() };
    let refused = anyone.call::<RequestPasswordReset>(Default::default(), Default::default(), body).await.unwrap_err();
    assert!(refused.is(Code::MailOff), "{refused}");
    let (db, password) = (&world.server.control_plane.db, |text: &str| SecretText::new(text.into()));
    let (address, name) = (email.parse().unwrap(), "Ada".parse().unwrap());
    upkeep::create_account(db, &address, &name, &password(PASSWORD)).await.unwrap();
    let again = upkeep::create_account(db, &address, &name, &password(PASSWORD)).await.unwrap_err();
    assert!(again.to_string().contains("reset-password"), "{again}");
    let sign_in = async |given: &str| {
        let body = Credentials { email: email.parse().unwrap(), password: password(given) };
        anyone.call::<CreateSession>(Default::default(), Default::default(), body).await
    };
    let session = sign_in(PASSWORD).await.unwrap();
    upkeep::reset_password(db, &address, &password("another long phrase")).await.unwrap();
    assert!(sign_in(PASSWORD).await.is_err());
    sign_in("another long phrase").await.unwrap();
    refresh(&world, session.refresh_token.expose()).await.expect_err("the earlier session ended");
}
