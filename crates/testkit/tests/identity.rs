//! Signing in, staying signed in, signing out, and what ends when.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use client::{Client, ClientError};
use contract::{
    Code, Permission, Role, SecretText,
    keys::{CreatePersonalKey, KeyPath, KeySpec, RevokePersonalKey},
    members::{MemberPath, RemoveMember},
    organizations::{GetOrganization, OrganizationPath},
    sessions::{CreateSession, Credentials, GetJwks, RefreshSession, RefreshToken, SignOutEverywhere, TokenSet},
    users::{ChangePassword, EraseUser, NewPassword, UserPath, WhoAmI},
};
use testkit::{Member, World, world::PASSWORD};

const DAY: Duration = Duration::from_secs(86_400);

async fn sign_in(world: &World, person: &Member, password: &str) -> Result<TokenSet, ClientError> {
    let body = Credentials { email: person.email.clone(), password: SecretText::new(password.into()) };
    world.server.client(None).call::<CreateSession>(Default::default(), Default::default(), body).await
}

async fn refresh(world: &World, tokens: &TokenSet) -> Result<TokenSet, ClientError> {
    let body = RefreshToken { refresh_token: SecretText::new(tokens.refresh_token.expose().into()) };
    world.server.client(None).call::<RefreshSession>(Default::default(), Default::default(), body).await
}

async fn whoami(client: &Client) -> Result<contract::users::Whoami, ClientError> {
    client.call::<WhoAmI>(Default::default(), Default::default(), Default::default()).await
}

fn with(world: &World, tokens: &TokenSet) -> Client {
    world.server.client(Some(tokens.access_token.expose()))
}

/// How long until the client is refused.
async fn refused_within(client: &Client) -> Duration {
    let started = Instant::now();
    while whoami(client).await.is_ok() {
        assert!(started.elapsed() < Duration::from_secs(3), "still works after three seconds");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    started.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_signs_in_and_a_wrong_one_does_not() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let tokens = sign_in(&world, &person, PASSWORD).await.unwrap();
    let me = whoami(&with(&world, &tokens)).await.unwrap();
    assert_eq!(me.user.unwrap().id, person.id);
    assert_eq!(me.session_id, Some(tokens.session_id));
    let wrong = sign_in(&world, &person, "something else entirely").await.unwrap_err();
    let nobody = world.person().await;
    let none = sign_in(&world, &nobody, PASSWORD).await.unwrap_err();
    let text = |error: ClientError| match error {
        ClientError::Problem(it) => (it.status, it.code.clone(), it.detail.clone()),
        other => panic!("{other}"),
    };
    assert_eq!(text(wrong), text(none), "both look the same");
    let mut connection = world.server.database.superuser().await;
    let failed: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM audit WHERE action = 'session.create' AND outcome = 'unauthenticated'",
    )
    .fetch_one(&mut connection)
    .await
    .unwrap();
    assert_eq!(failed, 2, "failures are audited");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_token_works_once_and_its_reuse_ends_the_session() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let first = sign_in(&world, &person, PASSWORD).await.unwrap();
    let second = refresh(&world, &first).await.unwrap();
    assert_eq!(second.session_id, first.session_id);
    refresh(&world, &first).await.expect("a lost answer may be asked for again within the grace");
    world.server.app.db.clock.advance(Duration::from_secs(10));
    let reused = refresh(&world, &first).await.unwrap_err();
    assert!(reused.is(Code::Unauthenticated), "{reused}");
    let ended = refresh(&world, &second).await.unwrap_err();
    assert!(ended.is(Code::Unauthenticated), "the thief and the owner are both out: {ended}");
    assert!(refused_within(&with(&world, &second)).await < Duration::from_secs(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_session_is_kept_for_a_while_and_then_forgotten() {
    // Without the role that forgets by itself.
    let database = Arc::new(testkit::Database::new().await);
    let server = testkit::Server::with(database, &[control::roles::Role::Api], |_| ()).await;
    let world = World::on(server).await;
    let person = world.person_with_password().await;
    sign_in(&world, &person, PASSWORD).await.unwrap();
    let db = &world.server.app.db;
    let forget = async || control::sessions::forget_old(db, DAY, 10).await.unwrap();
    db.clock.advance(DAY * 30);
    assert_eq!(forget().await, 0, "it ended just now");
    db.clock.advance(DAY);
    assert_eq!(forget().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_everywhere_ends_every_session_within_a_second() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let (a, b) = (sign_in(&world, &person, PASSWORD).await.unwrap(), sign_in(&world, &person, PASSWORD).await.unwrap());
    whoami(&with(&world, &b)).await.unwrap();
    with(&world, &a)
        .call::<SignOutEverywhere>(Default::default(), Default::default(), Default::default())
        .await
        .unwrap();
    let (first, second) = (refused_within(&with(&world, &a)).await, refused_within(&with(&world, &b)).await);
    println!("refused after {first:?} and {second:?}");
    assert!(first < Duration::from_secs(1) && second < Duration::from_secs(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_stops_within_a_second_on_another_replica_too() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let tokens = sign_in(&world, &person, PASSWORD).await.unwrap();
    let me = with(&world, &tokens);
    let spec = KeySpec { name: "ci".parse().unwrap(), scopes: vec![Permission::ProjectsRead], expires_at: None };
    let new = me.call::<CreatePersonalKey>(Default::default(), Default::default(), spec).await.unwrap();
    let other = testkit::Server::with(world.server.database.clone(), &[control::roles::Role::Api], |_| ()).await;
    let there = other.client(Some(new.secret.expose()));
    whoami(&there).await.unwrap();
    me.call::<RevokePersonalKey>(KeyPath { key_id: new.key.id }, Default::default(), Default::default()).await.unwrap();
    let after = refused_within(&there).await;
    println!("refused on the other replica after {after:?}");
    assert!(after < Duration::from_secs(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_member_loses_the_organization_within_a_second() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let member = world.member_of(organization, Role::Member).await;
    let client = world.as_(&member);
    let path = || OrganizationPath { organization_id: organization };
    client.call::<GetOrganization>(path(), Default::default(), Default::default()).await.unwrap();
    let gone = MemberPath { organization_id: organization, user_id: member.id };
    world.as_(&owner).call::<RemoveMember>(gone, Default::default(), Default::default()).await.unwrap();
    let started = Instant::now();
    while client.call::<GetOrganization>(path(), Default::default(), Default::default()).await.is_ok() {
        assert!(started.elapsed() < Duration::from_secs(1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_token_expires_by_the_one_clock() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let tokens = sign_in(&world, &person, PASSWORD).await.unwrap();
    let client = with(&world, &tokens);
    whoami(&client).await.unwrap();
    world.server.app.db.clock.advance(Duration::from_secs(601));
    assert!(whoami(&client).await.unwrap_err().is(Code::Unauthenticated));
    refresh(&world, &tokens).await.expect("the session goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_keys_rotate_and_old_tokens_still_verify() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let tokens = sign_in(&world, &person, PASSWORD).await.unwrap();
    let jwks = || async {
        let client = world.server.client(None);
        client.call::<GetJwks>(Default::default(), Default::default(), Default::default()).await.unwrap()
    };
    let before = jwks().await;
    world.server.app.signing.refresh(Duration::ZERO).await.unwrap();
    let after = jwks().await;
    assert_eq!((before.keys.len(), after.keys.len()), (1, 2));
    assert_ne!(before.keys[0].kid, after.keys[0].kid, "a new key signs");
    world.server.app.recogniser.forget();
    whoami(&with(&world, &tokens)).await.expect("signed by the former key");
    let fresh = sign_in(&world, &person, PASSWORD).await.unwrap();
    whoami(&with(&world, &fresh)).await.expect("signed by the new key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_rotated_on_one_replica_is_known_on_the_other() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let other = testkit::Server::with(world.server.database.clone(), &[control::roles::Role::Api], |_| ()).await;
    world.server.app.signing.refresh(Duration::ZERO).await.unwrap();
    let tokens = sign_in(&world, &person, PASSWORD).await.unwrap();
    whoami(&other.client(Some(tokens.access_token.expose()))).await.expect("looked up when first seen");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_password_ends_the_other_sessions() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let (mine, other) =
        (sign_in(&world, &person, PASSWORD).await.unwrap(), sign_in(&world, &person, PASSWORD).await.unwrap());
    let body =
        NewPassword { current: SecretText::new(PASSWORD.into()), new: SecretText::new("another long phrase".into()) };
    with(&world, &mine).call::<ChangePassword>(Default::default(), Default::default(), body).await.unwrap();
    assert!(refused_within(&with(&world, &other)).await < Duration::from_secs(1));
    whoami(&with(&world, &mine)).await.unwrap();
    sign_in(&world, &person, "another long phrase").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_malformed_and_unsigned_tokens_are_refused() {
    let world = World::new().await;
    let other = World::new().await;
    let person = other.person_with_password().await;
    let foreign = sign_in(&other, &person, PASSWORD).await.unwrap();
    let token = foreign.access_token.expose();
    let (head, rest) = token.split_once('.').unwrap();
    let unsigned = format!("eyJhbGciOiJub25lIn0.{}.", rest.split('.').next().unwrap());
    let tampered = format!("{head}.{}x", rest);
    for bad in [token, &unsigned, &tampered, "nonsense", "a.b.c", "gpk_unknown", "", &"x".repeat(8000)] {
        let answer = whoami(&world.server.client(Some(bad))).await;
        let Err(ClientError::Problem(problem)) = answer else { panic!("{bad:.20}: {answer:?}") };
        assert_eq!(problem.status, 401, "{bad:.20}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_person_leaves_only_an_id() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let operator = world.operator().await;
    let tokens = sign_in(&world, &person, PASSWORD).await.unwrap();
    let path = UserPath { user_id: person.id };
    world.as_(&operator).call::<EraseUser>(path, Default::default(), Default::default()).await.unwrap();
    assert!(refused_within(&with(&world, &tokens)).await < Duration::from_secs(1));
    let mut connection = world.server.database.superuser().await;
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    for table in tables {
        let statement = format!("SELECT count(*) FROM {table} AS t WHERE t::text LIKE $1");
        let found: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(statement))
            .bind(format!("%{}%", person.email))
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(found, 0, "{table} still names the person");
    }
}
