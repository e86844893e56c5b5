//! Limits on how much there may be hold when many ask at once: what counts
//! against one limit takes turns.

use client::{Client, ClientError};
use contract::{
    Code, Permission, Role, SecretText,
    id::OrganizationId,
    invitations::{CreateInvitation, InvitationSpec},
    keys::{CreatePersonalKey, KeySpec},
    organizations::OrganizationPath,
    policies::{OrganizationPolicyPath, PolicyValue, SetOrganizationPolicy},
    service_accounts::{CreateServiceAccount, CreateServiceAccountKey, ServiceAccountPath, ServiceAccountSpec},
    sessions::{CreateSession, Credentials},
};
use testkit::{
    World,
    world::{PASSWORD, set_policy},
};

const TRIES: usize = 12;

fn at(organization: OrganizationId) -> OrganizationPath {
    OrganizationPath { organization_id: organization }
}

fn key(name: &str) -> KeySpec {
    KeySpec { name: name.parse().unwrap(), scopes: vec![Permission::ProjectsRead], expires_at: None }
}

fn account(name: &str) -> ServiceAccountSpec {
    ServiceAccountSpec { name: name.parse().unwrap(), role: Role::Viewer }
}

/// Sets a limit of the organization to three.
async fn limit_to_three(owner: &Client, organization: OrganizationId, policy: &str) {
    let path = OrganizationPolicyPath { organization_id: organization, key: policy.to_owned() };
    let body = PolicyValue { value: "3".into() };
    owner.call::<SetOrganizationPolicy>(path, Default::default(), body).await.unwrap();
}

/// How many of the calls made at once succeeded; the others met the limit.
async fn made_at_once<T, F>(call: impl Fn(usize) -> F) -> usize
where
    T: Send + 'static,
    F: Future<Output = Result<T, ClientError>> + Send + 'static,
{
    let calls: Vec<_> = (0..TRIES).map(|nth| tokio::spawn(call(nth))).collect();
    let mut made = 0;
    for one in calls {
        match one.await.unwrap() {
            Ok(_) => made += 1,
            Err(error) => assert!(error.is(Code::LimitReached), "{error}"),
        }
    }
    made
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_personal_keys_holds_under_a_race() {
    let world = World::new().await;
    set_policy(&world.as_(&world.operator().await), "keys.max", "3").await;
    let person = world.person_with_password().await;
    let body = Credentials { email: person.email.clone(), password: SecretText::new(PASSWORD.into()) };
    let tokens = world.server.client(None).call::<CreateSession>(Default::default(), Default::default(), body).await;
    let client = world.server.client(Some(tokens.unwrap().access_token.expose()));
    let made = made_at_once(|nth| {
        let client = client.clone();
        async move {
            client.call::<CreatePersonalKey>(Default::default(), Default::default(), key(&format!("race-{nth}"))).await
        }
    });
    assert_eq!(made.await, 2, "they have one already");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_a_service_accounts_keys_holds_under_a_race() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    limit_to_three(&client, organization, "keys.max").await;
    let robot = client.call::<CreateServiceAccount>(at(organization), Default::default(), account("robot")).await;
    let service_account_id = robot.unwrap().id;
    let made = made_at_once(|nth| {
        let client = client.clone();
        let path = ServiceAccountPath { organization_id: organization, service_account_id };
        async move { client.call::<CreateServiceAccountKey>(path, Default::default(), key(&format!("race-{nth}"))).await }
    });
    assert_eq!(made.await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_service_accounts_holds_under_a_race() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    limit_to_three(&client, organization, "service_accounts.max").await;
    let made = made_at_once(|nth| {
        let client = client.clone();
        async move {
            let spec = account(&format!("race-{nth}"));
            client.call::<CreateServiceAccount>(at(organization), Default::default(), spec).await
        }
    });
    assert_eq!(made.await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_pending_invitations_holds_under_a_race() {
    let world = World::new().await;
    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    limit_to_three(&client, organization, "invitations.max_pending").await;
    let made = made_at_once(|nth| {
        let client = client.clone();
        async move {
            let email = format!("race-{nth}@example.test").parse().unwrap();
            let spec = InvitationSpec { email, role: Role::Viewer };
            client.call::<CreateInvitation>(at(organization), Default::default(), spec).await
        }
    });
    assert_eq!(made.await, 3);
}
