//! What policy requires: who must have a second factor, and what they can do
//! until they do.

use client::{Client, ClientError};
use contract::{
    Code, Permission, Role,
    id::OrganizationId,
    keys::{CreatePersonalKey, KeySpec},
    mfa::{FactorPath, RemoveFactor},
    organizations::{GetOrganization, Organization, OrganizationPath},
    policies::{OrganizationPolicyPath, PolicyValue, SetOrganizationPolicy},
    service_accounts::{CreateServiceAccount, CreateServiceAccountKey, ServiceAccountPath, ServiceAccountSpec},
    users::{ListUsers, WhoAmI},
};
use kernel::{Access, Tx};
use people::members;
use testkit::{Member, World, server::eventually, world::set_policy};

use crate::mfa::stand::{enroll, mfa, operator_with_password, refused, session, world};

const KEY: &str = "identity.mfa_required";

async fn require(client: &Client, organization: OrganizationId, value: &str) -> Result<(), ClientError> {
    let path = OrganizationPolicyPath { organization_id: organization, key: KEY.into() };
    let body = PolicyValue { value: value.into() };
    client.call::<SetOrganizationPolicy>(path, Default::default(), body).await.map(drop)
}

async fn read(client: &Client, organization: OrganizationId) -> Result<Organization, ClientError> {
    let path = OrganizationPath { organization_id: organization };
    client.call::<GetOrganization>(path, Default::default(), Default::default()).await
}

async fn joined(world: &World, organization: OrganizationId, role: Role) -> Member {
    let person = world.person_with_password().await;
    let mut tx = Tx::system(&world.server.control_plane.db, "testkit", Access::Write).await.unwrap();
    members::join(&mut tx, organization, person.id, role).await.unwrap();
    tx.commit().await.unwrap();
    person
}

#[tokio::test(flavor = "multi_thread")]
async fn member_without_a_factor_can_only_enroll_where_policy_requires_one() {
    let world = world().await;
    let (organization, owner) = world.organization().await;
    let (elsewhere, _) = world.organization().await;
    let person = joined(&world, organization, Role::Member).await;
    let mut tx = Tx::system(&world.server.control_plane.db, "testkit", Access::Write).await.unwrap();
    members::join(&mut tx, elsewhere, person.id, Role::Member).await.unwrap();
    tx.commit().await.unwrap();
    let client = session(&world, &person).await;
    read(&client, organization).await.expect("nothing is required yet");

    require(&world.as_(&owner), organization, "everyone").await.unwrap();
    eventually("the policy to apply", || async { read(&client, organization).await.is_err() }).await;
    refused(read(&client, organization).await, Code::MfaEnrollmentRequired);
    let key = KeySpec { name: "way-around".parse().unwrap(), scopes: vec![Permission::ProjectsRead], expires_at: None };
    let key = client.call::<CreatePersonalKey>(Default::default(), Default::default(), key).await;
    refused(key, Code::MfaEnrollmentRequired);
    read(&client, elsewhere).await.expect("what another organization requires is its own business");
    client.call::<WhoAmI>(Default::default(), Default::default(), Default::default()).await.unwrap();
    assert!(mfa(&client).await.unwrap().required);

    let (_, added) = enroll(&world, &client).await;
    read(&client, organization).await.expect("enrolled");
    let path = FactorPath { factor_id: added.factor.id };
    refused(client.call::<RemoveFactor>(path, Default::default(), Default::default()).await, Code::Conflict);
    assert_eq!(mfa(&client).await.unwrap().factors.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_are_exempt_from_what_policy_requires_of_people() {
    let world = world().await;
    let (organization, owner) = world.organization().await;
    let client = world.as_(&owner);
    let path = OrganizationPath { organization_id: organization };
    let spec = ServiceAccountSpec { name: "robot".parse().unwrap(), role: Role::Member };
    let account = client.call::<CreateServiceAccount>(path, Default::default(), spec).await.unwrap();
    let path = ServiceAccountPath { organization_id: organization, service_account_id: account.id };
    let key = KeySpec { name: "robot".parse().unwrap(), scopes: vec![Permission::OrganizationRead], expires_at: None };
    let key = client.call::<CreateServiceAccountKey>(path.clone(), Default::default(), key).await.unwrap();
    require(&client, organization, "everyone").await.unwrap();
    let robot = world.server.client(Some(key.secret.expose()));
    let owners = session_of_owner(&world, organization).await;
    eventually("the policy to apply", || async { read(&owners, organization).await.is_err() }).await;
    read(&robot, organization).await.expect("a service account has no second factor");
    read(&client, organization).await.expect("nor has a key");
    // But no further key is made, nor the policy taken back, by a key without one.
    let more = KeySpec { name: "more".parse().unwrap(), scopes: vec![Permission::OrganizationRead], expires_at: None };
    let more = client.call::<CreateServiceAccountKey>(path, Default::default(), more).await;
    refused(more, Code::StepUpRequired);
    refused(require(&client, organization, "none").await, Code::StepUpRequired);
}

async fn session_of_owner(world: &World, organization: OrganizationId) -> Client {
    let person = joined(world, organization, Role::Owner).await;
    session(world, &person).await
}

#[tokio::test(flavor = "multi_thread")]
async fn staff_of_the_platform_need_a_factor_where_policy_says_so() {
    let world = world().await;
    let operator = operator_with_password(&world).await;
    let (organization, _) = world.organization().await;
    let (admin, member) =
        (joined(&world, organization, Role::Admin).await, joined(&world, organization, Role::Member).await);
    let client = session(&world, &operator).await;
    let list = async || client.call::<ListUsers>(Default::default(), Default::default(), Default::default()).await;
    list().await.unwrap();
    set_policy(&world.as_(&operator), KEY, "staff").await;
    world.server.control_plane.policies.refresh(&world.server.control_plane.db).await.unwrap();
    refused(list().await, Code::MfaEnrollmentRequired);
    refused(read(&session(&world, &admin).await, organization).await, Code::MfaEnrollmentRequired);
    read(&session(&world, &member).await, organization).await.expect("members are not staff");
    let (_, _) = enroll(&world, &client).await;
    list().await.expect("enrolled");
}
