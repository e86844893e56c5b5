//! Whom hosts let in by themselves: derived from who may be there now, written
//! again within seconds of any change, and a person is asked where that fails.

use std::sync::Arc;

use agent::sim::Failing;
use compute::allocations::AllocationReconciler;
use contract::{
    allocations::{Allocation, AllocationSpec, AllocationState},
    id::{AllocationId, SshKeyId},
    members::{ChangeMember, MemberPath, MemberSpec, RemoveMember},
    organizations::{CloseOrganization, OrganizationPath, ResumeOrganization, SuspendOrganization},
    ssh_keys::{RemoveSshKey, SshKeyPath},
    users::{EraseUser, UserPath},
};
use gpuaasd::roles::Role;
use kernel::work::Reconciler;
use testkit::{
    Cloud, Database, Server, Tenant,
    cloud::{ask, because, new_key},
    server::eventually,
    world::set_policy,
};

/// A colleague's allocation that lets in the colleague's own key.
struct Stand {
    cloud: Cloud,
    tenant: Tenant,
    colleague: Tenant,
    key: SshKeyId,
    active: Allocation,
}

impl Stand {
    async fn new() -> Stand {
        let cloud = Cloud::new(1, 2).await;
        let tenant = cloud.tenant().await;
        let owner = cloud.world().member_of(tenant.organization, contract::Role::Member).await;
        let colleague = Tenant { client: cloud.world().as_(&owner), owner, ..tenant.clone() };
        let key = new_key(cloud.world(), colleague.owner.id, "laptop").await.id;
        let active = colleague.get_one(AllocationSpec { ssh_keys: Some(vec![key]), ..ask(1) }).await;
        let stand = Stand { cloud, tenant, colleague, key, active };
        assert_eq!(stand.keys(), 1, "the colleague gets in to begin with");
        stand
    }

    /// How many keys the host lets in; nobody signs in to what is stopped.
    fn keys(&self) -> usize {
        let logins = self.cloud.hosts.node(0).logins();
        logins.get(&self.active.login).filter(|it| !it.stopped).map_or(0, |it| it.keys)
    }

    async fn lets_in(&self, count: usize) {
        eventually("the host to know its keys", || async { self.keys() == count }).await;
    }

    fn member(&self) -> MemberPath {
        MemberPath { organization_id: self.tenant.organization, user_id: self.colleague.owner.id }
    }

    fn organization(&self) -> OrganizationPath {
        OrganizationPath { organization_id: self.tenant.organization }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_member_loses_host_access() {
    let stand = Stand::new().await;
    stand.tenant.client.call::<RemoveMember>(stand.member(), Default::default(), Default::default()).await.unwrap();
    stand.lets_in(0).await;
    assert_eq!(stand.tenant.get(stand.active.id).await.state, AllocationState::Active, "what runs goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn demoted_member_loses_host_access_until_promoted() {
    let stand = Stand::new().await;
    for (role, keys) in [(contract::Role::Viewer, 0), (contract::Role::Member, 1)] {
        let body = MemberSpec { role };
        stand.tenant.client.call::<ChangeMember>(stand.member(), Default::default(), body).await.unwrap();
        stand.lets_in(keys).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_ssh_key_opens_no_host() {
    let stand = Stand::new().await;
    let session = stand.cloud.world().signed_in(stand.colleague.owner.id).await;
    let path = SshKeyPath { ssh_key_id: stand.key };
    session.call::<RemoveSshKey>(path, Default::default(), Default::default()).await.unwrap();
    stand.lets_in(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_person_loses_host_access() {
    let stand = Stand::new().await;
    let path = UserPath { user_id: stand.colleague.owner.id };
    stand.cloud.fleet.operator.call::<EraseUser>(path, Default::default(), Default::default()).await.unwrap();
    stand.lets_in(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn suspended_organization_loses_host_access_until_resumed() {
    let stand = Stand::new().await;
    let operator = &stand.cloud.fleet.operator;
    operator.call::<SuspendOrganization>(stand.organization(), Default::default(), because()).await.unwrap();
    stand.lets_in(0).await;
    operator.call::<ResumeOrganization>(stand.organization(), Default::default(), because()).await.unwrap();
    // Whether what was stopped meanwhile runs again is another story; what runs lets in who may.
    eventually("what runs to let in who may", || async {
        stand.tenant.get(stand.active.id).await.state != AllocationState::Active || stand.keys() == 1
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_organization_loses_host_access() {
    let stand = Stand::new().await;
    stand
        .tenant
        .client
        .call::<CloseOrganization>(stand.organization(), Default::default(), Default::default())
        .await
        .unwrap();
    stand.lets_in(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn required_recording_closes_hosts_and_its_end_opens_them() {
    let stand = Stand::new().await;
    let operator = &stand.cloud.fleet.operator;
    set_policy(operator, "access.recording", "required").await;
    stand.lets_in(0).await;
    set_policy(operator, "access.recording", "on").await;
    stand.lets_in(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_key_write_needs_attention_until_it_succeeds() {
    let stand = Stand::new().await;
    stand.cloud.hosts.node(0).script(|it| {
        it.failing = Some(Failing { retryable: false, ..Failing::at("write_keys", 1) });
    });
    stand.tenant.client.call::<RemoveMember>(stand.member(), Default::default(), Default::default()).await.unwrap();
    eventually("a person is asked", || async { stand.tenant.get(stand.active.id).await.needs_attention }).await;
    let shown = stand.tenant.get(stand.active.id).await;
    assert_eq!(shown.state, AllocationState::Active);
    assert!(shown.reason.is_some_and(|it| it.contains("write_keys")), "it says what failed");
    // The next change is another chance.
    set_policy(&stand.cloud.fleet.operator, "access.recording", "required").await;
    eventually("the host obeyed", || async {
        let shown = stand.tenant.get(stand.active.id).await;
        stand.keys() == 0 && !shown.needs_attention && shown.reason.is_none()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retryable_key_failure_is_tried_again_quietly() {
    let stand = Stand::new().await;
    stand.cloud.hosts.node(0).script(|it| it.failing = Some(Failing::at("write_keys", 1)));
    stand.tenant.client.call::<RemoveMember>(stand.member(), Default::default(), Default::default()).await.unwrap();
    stand.lets_in(0).await;
    assert!(!stand.tenant.get(stand.active.id).await.needs_attention);
}

/// A server on which nobody drives anything but the test, and a colleague's request.
async fn undriven(roles: &[Role]) -> (Cloud, Tenant, Tenant, AllocationId) {
    let server = Server::with(Arc::new(Database::new().await), roles, |_| ()).await;
    let cloud = Cloud::on(server, 1, 2).await;
    let tenant = cloud.tenant().await;
    let owner = cloud.world().member_of(tenant.organization, contract::Role::Member).await;
    let colleague = Tenant { client: cloud.world().as_(&owner), owner, ..tenant.clone() };
    let key = new_key(cloud.world(), colleague.owner.id, "laptop").await.id;
    let id = colleague.ask(AllocationSpec { ssh_keys: Some(vec![key]), ..ask(1) }).await;
    (cloud, tenant, colleague, id)
}

fn reconciler(cloud: &Cloud) -> AllocationReconciler {
    let control_plane = &cloud.world().server.control_plane;
    let (placement, signer, policies) =
        (control_plane.compute.placement.clone(), control_plane.fleet.signer.clone(), control_plane.policies.clone());
    AllocationReconciler { placement, signer, policies }
}

async fn remove(tenant: &Tenant, colleague: &Tenant) {
    let path = MemberPath { organization_id: tenant.organization, user_id: colleague.owner.id };
    tenant.client.call::<RemoveMember>(path, Default::default(), Default::default()).await.unwrap();
}

/// The member leaves after the visit read what it needs, and before it asks the hosts.
#[tokio::test(flavor = "multi_thread")]
async fn member_removed_during_a_visit_is_not_written_to_hosts() {
    let (cloud, tenant, colleague, id) = undriven(&[Role::Api, Role::Nodes]).await;
    let (reconciler, mut tx) = (reconciler(&cloud), cloud.fleet.tx().await);
    let visit = reconciler.load(&mut tx, id.uuid()).await.unwrap().expect("it waits");
    tx.commit().await.unwrap();
    let found = reconciler.act(&visit).await.unwrap();
    let verdict = reconciler.decide(&visit, found);
    remove(&tenant, &colleague).await;
    let mut tx = cloud.fleet.tx().await;
    reconciler.apply(&mut tx, visit, verdict).await.unwrap();
    tx.commit().await.unwrap();
    let sent: String = cloud.asked("SELECT convert_from(payload, 'UTF8') FROM tasks WHERE subject_id = $1", id).await;
    assert!(sent.contains("ensure_allocation"), "{sent}");
    assert!(!sent.contains("ssh-ed25519"), "the host lets in who left: {sent}");
}

/// Whoever is about to place it learns that its keys changed, or the hosts are asked again.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_allocation_learns_that_its_keys_changed() {
    let (cloud, tenant, colleague, id) = undriven(&[Role::Api, Role::Nodes, Role::Relay]).await;
    let before: i64 = cloud.asked("SELECT version FROM allocations WHERE id = $1", id).await;
    remove(&tenant, &colleague).await;
    eventually("its version to change", || async {
        cloud.asked::<i64>("SELECT version FROM allocations WHERE id = $1", id).await > before
    })
    .await;
}
