//! What moves money, opens a door or takes a guard away asks for the second
//! factor again.

use std::time::Duration;

use client::{Client, ClientError};
use contract::{
    Code, Permission,
    account_tokens::{AddressChangeSpec, RequestAddressChange},
    invitations::{CreateInvitation, InvitationSpec},
    keys::{CreatePersonalKey, KeySpec, NewKey},
    mfa::{FactorPath, RemoveFactor, ReplaceRecoveryCodes, StartTotp},
    organizations::OrganizationPath,
    policies::{ListPlatformPolicies, PlatformPolicyPath, PolicyValue, SetPlatformPolicy},
    users::{ChangePassword, NewPassword},
};
use testkit::{World, world::set_policy};

use crate::mfa::stand::{
    ask_step_up, by_code, challenged, enroll, finish, mfa, operator_with_password, password, refused, session, verify,
    with, world,
};

const RECENT_S: u64 = 60;

async fn set(client: &Client) -> Result<contract::policies::Policy, ClientError> {
    let path = PlatformPolicyPath { key: "projects.max".into() };
    client.call::<SetPlatformPolicy>(path, Default::default(), PolicyValue { value: "77".into() }).await
}

async fn make_key(client: &Client) -> Result<NewKey, ClientError> {
    let scopes = vec![Permission::PlatformPoliciesWrite, Permission::PlatformPoliciesRead];
    let body = KeySpec { name: "deploy".parse().unwrap(), scopes, expires_at: None };
    client.call::<CreatePersonalKey>(Default::default(), Default::default(), body).await
}

async fn with_short_memory() -> World {
    let world = world().await;
    let operator = world.operator().await;
    set_policy(&world.as_(&operator), "identity.mfa_step_up_seconds", &RECENT_S.to_string()).await;
    world.server.control_plane.policies.refresh(&world.server.control_plane.db).await.unwrap();
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn step_up_is_asked_for_when_the_second_factor_is_not_recent() {
    let world = with_short_memory().await;
    let operator = operator_with_password(&world).await;
    let client = session(&world, &operator).await;
    set(&client).await.expect("an account without a factor, where policy requires none");
    let (app, added) = enroll(&world, &client).await;
    set(&client).await.expect("whoever enrolls has just used it");

    world.server.control_plane.db.clock.advance(Duration::from_secs(RECENT_S + 1));
    // A caller is cached for a moment: until then the server knows them without a factor.
    testkit::server::eventually("the factor to be asked for", || async {
        set(&client).await.is_err_and(|error| error.is(Code::StepUpRequired))
    })
    .await;
    refused(make_key(&client).await, Code::StepUpRequired);
    let path = FactorPath { factor_id: added.factor.id };
    refused(client.call::<RemoveFactor>(path, Default::default(), Default::default()).await, Code::StepUpRequired);
    let codes = client.call::<ReplaceRecoveryCodes>(Default::default(), Default::default(), Default::default()).await;
    refused(codes, Code::StepUpRequired);
    // A thief must not add a factor of their own.
    let another = client.call::<StartTotp>(Default::default(), Default::default(), Default::default()).await;
    refused(another, Code::StepUpRequired);
    // Nor give the account another way in, or another owner.
    let body = AddressChangeSpec { email: "thief@example.test".parse().unwrap(), password: None };
    let moved = client.call::<RequestAddressChange>(Default::default(), Default::default(), body).await;
    refused(moved, Code::StepUpRequired);
    let secret = |text: &str| contract::SecretText::new(text.into());
    let body = NewPassword { current: secret(testkit::world::PASSWORD), new: secret("another long phrase") };
    refused(client.call::<ChangePassword>(Default::default(), Default::default(), body).await, Code::StepUpRequired);
    client
        .call::<ListPlatformPolicies>(Default::default(), Default::default(), Default::default())
        .await
        .expect("reading needs no step-up");

    let challenge = ask_step_up(&client).await.unwrap();
    refused(verify(&client, by_code(&challenge, &app.wrong(&world))).await, Code::InvalidValue);
    refused(set(&client).await, Code::StepUpRequired);
    let verified = verify(&client, by_code(&challenge, &app.next(&world))).await.unwrap();
    assert_eq!(verified.recent_until.as_second() - verified.verified_at.as_second(), RECENT_S as i64);
    set(&client).await.expect("it is recent now");
    let refusals: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM audit WHERE action = 'denied.SetPlatformPolicy' AND outcome = 'step_up_required'",
    )
    .fetch_one(&mut world.server.database.superuser().await)
    .await
    .unwrap();
    assert_eq!(refusals, 2);
}

/// An account of one's own, without a factor, would do what the stolen session may not.
#[tokio::test(flavor = "multi_thread")]
async fn session_that_is_not_recent_lets_nobody_else_in() {
    let world = with_short_memory().await;
    let (organization, owner) = world.organization().await;
    let client = world.signed_in(owner.id).await;
    enroll(&world, &client).await;
    world.server.control_plane.db.clock.advance(Duration::from_secs(RECENT_S + 1));
    let path = OrganizationPath { organization_id: organization };
    let spec = InvitationSpec { email: "thief@example.test".parse().unwrap(), role: contract::Role::Owner };
    refused(client.call::<CreateInvitation>(path, Default::default(), spec).await, Code::StepUpRequired);
}

#[tokio::test(flavor = "multi_thread")]
async fn first_factor_ends_sessions_that_showed_a_password_alone() {
    let world = world().await;
    let person = world.person_with_password().await;
    let (stolen, own) = (session(&world, &person).await, session(&world, &person).await);
    enroll(&world, &own).await;
    refused(mfa(&stolen).await, Code::Unauthenticated);
    mfa(&own).await.expect("whoever enrolled goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn step_up_holds_in_its_own_session_alone() {
    let world = with_short_memory().await;
    let operator = operator_with_password(&world).await;
    let own = session(&world, &operator).await;
    let (app, _) = enroll(&world, &own).await;
    let challenge = challenged(password(&world, &operator).await);
    let stolen = with(&world, &finish(&world, by_code(&challenge, &app.next(&world))).await.unwrap());
    world.server.control_plane.db.clock.advance(Duration::from_secs(RECENT_S + 1));
    refused(set(&stolen).await, Code::StepUpRequired);
    let challenge = ask_step_up(&own).await.unwrap();
    refused(verify(&stolen, by_code(&challenge, &app.next(&world))).await, Code::InvalidValue);
    verify(&own, by_code(&challenge, &app.next(&world))).await.unwrap();
    set(&own).await.unwrap();
    refused(set(&stolen).await, Code::StepUpRequired);
}

#[tokio::test(flavor = "multi_thread")]
async fn key_made_without_a_second_factor_moves_nothing_once_there_is_one() {
    let world = with_short_memory().await;
    let operator = operator_with_password(&world).await;
    let client = session(&world, &operator).await;
    let early = make_key(&client).await.unwrap();
    let early = world.server.client(Some(early.secret.expose()));
    set(&early).await.expect("nothing is asked of an account without a factor");
    let (_, _) = enroll(&world, &client).await;
    // A caller is cached for a moment: until then the server knows them without a factor.
    testkit::server::eventually("the factor to be asked for", || async {
        set(&early).await.is_err_and(|error| error.is(Code::StepUpRequired))
    })
    .await;
    early
        .call::<ListPlatformPolicies>(Default::default(), Default::default(), Default::default())
        .await
        .expect("what a key reads is not held up");
    let late = make_key(&client).await.unwrap();
    let late = world.server.client(Some(late.secret.expose()));
    set(&late).await.expect("a key that was made with the second factor");
    world.server.control_plane.db.clock.advance(Duration::from_secs(RECENT_S + 1));
    set(&late).await.expect("programs cannot step up, so their keys keep working");
    assert!(mfa(&late).await.unwrap().verified_at.is_some());
}
