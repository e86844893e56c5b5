//! Signing in, staying signed in, signing out, and what ends when.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use client::{Client, ClientError};
use contract::{
    Code, Permission, Role, SecretText,
    invitations::{AcceptInvitation, CreateInvitation, InvitationSpec, InvitationToken},
    keys::{CreatePersonalKey, KeyPath, KeySpec, RevokePersonalKey},
    members::{MemberPath, RemoveMember},
    organizations::{GetOrganization, OrganizationPath},
    policies::{PlatformPolicyPath, PolicyValue, SetPlatformPolicy},
    sessions::{CreateSession, Credentials, GetJwks, RefreshSession, RefreshToken, SignOutEverywhere, TokenSet},
    users::{ChangePassword, ChangeProfile, EraseUser, NewPassword, Profile, UserPath, WhoAmI},
};
use platform::forget::Forget;
use testkit::{
    Member, World,
    world::{PASSWORD, set_policy},
};

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
        assert!(started.elapsed() < Duration::from_secs(120), "still works after two minutes");
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
    world.server.control_plane.db.clock.advance(Duration::from_secs(10));
    let reused = refresh(&world, &first).await.unwrap_err();
    assert!(reused.is(Code::Unauthenticated), "{reused}");
    let ended = refresh(&world, &second).await.unwrap_err();
    assert!(ended.is(Code::Unauthenticated), "the thief and the owner are both out: {ended}");
    refused_within(&with(&world, &second)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_session_is_retained_for_a_while_and_then_forgotten() {
    // Without the role that forgets by itself.
    let database = Arc::new(testkit::Database::new().await);
    let server = testkit::Server::with(database, &[gpuaasd::roles::Role::Api], |_| ()).await;
    let world = World::on(server).await;
    let person = world.person_with_password().await;
    sign_in(&world, &person, PASSWORD).await.unwrap();
    let db = &world.server.control_plane.db;
    let forget = async || people::sessions::forget_old(db, DAY, 10).await.unwrap();
    db.clock.advance(DAY * 30);
    assert_eq!(forget().await, 0, "it ended just now");
    db.clock.advance(DAY);
    assert_eq!(forget().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_everywhere_ends_every_session() {
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
}

/// A caller is remembered for less than a second, whatever an operator asks for: that
/// bounds how long anybody whose access ended is still let in.
#[tokio::test(flavor = "multi_thread")]
async fn callers_are_remembered_for_less_than_a_second() {
    let world = World::new().await;
    let operator = world.as_(&world.operator().await);
    set_policy(&operator, "identity.caller_cache_ms", "900").await;
    let path = PlatformPolicyPath { key: "identity.caller_cache_ms".to_owned() };
    let longer = PolicyValue { value: "1000".to_owned() };
    let refused = operator.call::<SetPlatformPolicy>(path, Default::default(), longer).await.unwrap_err();
    assert!(refused.is(Code::InvalidValue), "{refused}");
}

/// Callers are remembered for as long as policy can ask for, so that whoever only waited
/// for that would always need longer than the event takes. A busy machine may need longer
/// in one round; a replica that does not listen does in every one.
#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_stops_on_another_replica_before_its_memory_ends() {
    const MEMORY: Duration = Duration::from_millis(900);
    let world = World::new().await;
    set_policy(&world.as_(&world.operator().await), "identity.caller_cache_ms", "900").await;
    let person = world.person_with_password().await;
    let tokens = sign_in(&world, &person, PASSWORD).await.unwrap();
    let me = with(&world, &tokens);
    let other = testkit::Server::with(world.server.database.clone(), &[gpuaasd::roles::Role::Api], |_| ()).await;
    other.control_plane.policies.refresh(&other.control_plane.db).await.unwrap();
    let mut quickest = Duration::MAX;
    for round in 0..50 {
        let name = format!("ci-{round}").parse().unwrap();
        let spec = KeySpec { name, scopes: vec![Permission::ProjectsRead], expires_at: None };
        let new = me.call::<CreatePersonalKey>(Default::default(), Default::default(), spec).await.unwrap();
        let there = other.client(Some(new.secret.expose()));
        whoami(&there).await.unwrap();
        let remembered = Instant::now();
        let path = KeyPath { key_id: new.key.id };
        me.call::<RevokePersonalKey>(path, Default::default(), Default::default()).await.unwrap();
        refused_within(&there).await;
        quickest = quickest.min(remembered.elapsed());
        if quickest < MEMORY / 2 {
            break;
        }
    }
    println!("refused on the other replica after {quickest:?} at best; remembered for {MEMORY:?}");
    assert!(quickest < MEMORY / 2, "it heard of a revocation before its memory ended: {quickest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_member_loses_the_organization() {
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
        assert!(started.elapsed() < Duration::from_secs(120), "still in after two minutes");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_token_expires_by_the_one_clock() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let tokens = sign_in(&world, &person, PASSWORD).await.unwrap();
    let client = with(&world, &tokens);
    whoami(&client).await.unwrap();
    world.server.control_plane.db.clock.advance(Duration::from_secs(601));
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
    world.server.control_plane.signing.refresh(Duration::ZERO).await.unwrap();
    let after = jwks().await;
    assert_eq!((before.keys.len(), after.keys.len()), (1, 2));
    assert_ne!(before.keys[0].kid, after.keys[0].kid, "a new key signs");
    world.server.control_plane.recognizer.forget();
    whoami(&with(&world, &tokens)).await.expect("signed by the former key");
    let fresh = sign_in(&world, &person, PASSWORD).await.unwrap();
    whoami(&with(&world, &fresh)).await.expect("signed by the new key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_rotated_on_one_replica_is_known_on_the_other() {
    let world = World::new().await;
    let person = world.person_with_password().await;
    let other = testkit::Server::with(world.server.database.clone(), &[gpuaasd::roles::Role::Api], |_| ()).await;
    world.server.control_plane.signing.refresh(Duration::ZERO).await.unwrap();
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
    refused_within(&with(&world, &other)).await;
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
    let (organization, owner) = world.organization().await;
    let person = world.person_with_password().await;
    let operator = world.operator().await;
    let tokens = sign_in(&world, &person, PASSWORD).await.unwrap();
    let profile = Profile { name: "Zyxwv Erasable".parse().unwrap() };
    with(&world, &tokens).call::<ChangeProfile>(Default::default(), Default::default(), profile).await.unwrap();
    let spec = InvitationSpec { email: person.email.clone(), role: Role::Owner };
    let path = OrganizationPath { organization_id: organization };
    let invited = world.as_(&owner).call::<CreateInvitation>(path, Default::default(), spec).await.unwrap();
    let token = InvitationToken { token: SecretText::new(invited.token.expose().into()) };
    with(&world, &tokens).call::<AcceptInvitation>(Default::default(), Default::default(), token).await.unwrap();
    testkit::cloud::new_key(&world, person.id, "zyxwv-laptop").await;
    let mut connection = world.server.database.superuser().await;
    let script = WHAT_A_PERSON_LEAVES
        .replace("$person", &format!("'{}'", person.id.uuid()))
        .replace("$organization", &format!("'{}'", organization.uuid()))
        .replace("$actor", &person.id.to_string());
    sqlx::raw_sql(sqlx::AssertSqlSafe(script)).execute(&mut connection).await.unwrap();
    let traces = [person.email.as_str(), "Zyxwv", "zyxwv-laptop", "192.0.2.177"];
    let before = naming(&mut connection, &traces).await;
    println!("before, {} tables name the person: {before:?}", before.len());
    for table in ["users", "ssh_keys", "access_sessions", "notifications"] {
        assert!(before.contains(&table.to_owned()), "{table} names the person before: {before:?}");
    }
    let path = UserPath { user_id: person.id };
    world.as_(&operator).call::<EraseUser>(path, Default::default(), Default::default()).await.unwrap();
    refused_within(&with(&world, &tokens)).await;
    assert_eq!(naming(&mut connection, &traces).await, Vec::<String>::new(), "these still name the person");
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM payments WHERE created_by = $1")
        .bind(person.id.to_string())
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(kept, 1, "what was paid stays, by an id");
}

/// What somebody does beside what the test asks for: a session on a host from an address of theirs, a payment, a notice.
const WHAT_A_PERSON_LEAVES: &str = "
    SET session_replication_role = replica; -- references and states are not what is tested
    INSERT INTO access_sessions (id, organization_id, project_id, allocation_id, node_id, kind, actor, principal_id, user_id, address,
        gateway_id, generation, grace_seconds, until, state)
      VALUES (gen_random_uuid(), $organization, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'terminal', '$actor', $person, $person,
        '192.0.2.177', gen_random_uuid(), 1, 60, now() + interval '1 hour', 'ended');
    INSERT INTO payments (id, organization_id, currency, amount, provider, created_by, state)
      VALUES (gen_random_uuid(), $organization, 'USD', 1000000, 'stripe', '$actor', 'succeeded');
    INSERT INTO notifications (id, user_id, organization_id, kind, cause, title, body)
      VALUES (gen_random_uuid(), $person, $organization, 'wallet_low', gen_random_uuid(), 'Hello Zyxwv', 'to Zyxwv Erasable');
    INSERT INTO mails (id, user_id, organization_id, kind, cause, title, body, state)
      VALUES (gen_random_uuid(), $person, $organization, 'wallet_low', gen_random_uuid(), 'Hello Zyxwv', 'to Zyxwv Erasable', 'sent')";

/// The tables of which a row contains one of the texts.
async fn naming(connection: &mut sqlx::PgConnection, texts: &[&str]) -> Vec<String> {
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1",
    )
    .fetch_all(&mut *connection)
    .await
    .unwrap();
    let mut naming = Vec::new();
    for table in tables {
        let statement =
            format!("SELECT EXISTS (SELECT FROM {table} AS t, unnest($1::text[]) x WHERE strpos(t::text, x) > 0)");
        let found: bool =
            sqlx::query_scalar(sqlx::AssertSqlSafe(statement)).bind(texts).fetch_one(&mut *connection).await.unwrap();
        if found {
            naming.push(table);
        }
    }
    naming
}
