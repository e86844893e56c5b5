//! An organization that closes or is suspended.

use contract::{
    Code, Nothing,
    allocations::AllocationState,
    organizations::{CloseOrganization, OrganizationPath, ResumeOrganization, SuspendOrganization},
    projects::ProjectState,
};
use testkit::{
    Cloud, Tenant,
    cloud::{ask, because},
    process::binary,
    server::eventually,
};

use crate::ending::{
    projects::{busy, project},
    stand::{burn, cloud, left},
};

fn path(tenant: &Tenant) -> OrganizationPath {
    OrganizationPath { organization_id: tenant.organization }
}

async fn close(tenant: &Tenant) {
    tenant.client.call::<CloseOrganization>(path(tenant), Nothing {}, Nothing {}).await.unwrap();
}

pub async fn suspend(cloud: &Cloud, tenant: &Tenant) {
    cloud.fleet.operator.call::<SuspendOrganization>(path(tenant), Nothing {}, because()).await.unwrap();
}

pub async fn resume(cloud: &Cloud, tenant: &Tenant) {
    cloud.fleet.operator.call::<ResumeOrganization>(path(tenant), Nothing {}, because()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_organization_has_nothing_and_costs_nothing() {
    let cloud = cloud(1, 2).await;
    let tenant = cloud.tenant().await;
    busy(&cloud, &tenant).await;
    close(&tenant).await;
    eventually("everything to end", || async { left(&cloud).await == (0, 0, 0) }).await;
    assert_eq!(burn(&tenant).await, 0);
    eventually("the project to be deleted", || async { project(&tenant).await.state == ProjectState::Deleted }).await;
    cloud.has_free(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn suspended_organization_is_stopped_and_nothing_is_placed_for_it() {
    let cloud = cloud(1, 2).await;
    let (tenant, other) = (cloud.tenant().await, cloud.tenant().await);
    let active = tenant.get_one(ask(2)).await;
    let waiting = tenant.ask(ask(2)).await;
    tenant.waits(waiting).await;
    suspend(&cloud, &tenant).await;
    let stopped = tenant.reaches(active.id, AllocationState::Stopped).await;
    assert_eq!(stopped.reason.as_deref(), Some("the organization is suspended"));
    assert_eq!(stopped.reason_code, Some(contract::allocations::AllocationReason::Suspended.into()));
    assert_eq!(burn(&tenant).await, 0, "a suspension costs nothing");
    let refused = tenant.start(active.id).await.unwrap_err();
    assert!(refused.is(Code::Suspended), "{refused}");

    // Members may still release, and what waits does not get the room.
    tenant.gives_back(active.id).await;
    let served = other.ask(ask(1)).await;
    eventually("somebody else or nobody to get the room", || async {
        let waits = tenant.get(waiting).await;
        assert_eq!(waits.state, AllocationState::Requested, "nothing is placed for a suspended organization");
        other.get(served).await.state != AllocationState::Requested
            || waits.reason.as_deref() == Some("the organization is suspended")
    })
    .await;
    let why = tenant.why(waiting).await;
    assert!(why.rule.contains("suspended"), "{why:?}");
    other.release(served).await.unwrap();
    resume(&cloud, &tenant).await;
    tenant.reaches(waiting, AllocationState::Active).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_release_and_stop_also_while_suspended_or_closed() {
    let cloud = cloud(1, 4).await;
    let tenant = cloud.tenant().await;
    let (one, two) = (tenant.get_one(ask(1)).await, tenant.get_one(ask(1)).await);
    suspend(&cloud, &tenant).await;
    // Whoever stops first, the member or the suspension: the member is not refused for the suspension.
    if let Err(refused) = tenant.stop(two.id).await {
        assert!(refused.is(Code::Conflict), "{refused}");
    }
    tenant.reaches(two.id, AllocationState::Stopped).await;
    tenant.gives_back(one.id).await;
    close(&tenant).await;
    if let Err(refused) = tenant.release(two.id).await {
        assert!(refused.is(Code::Conflict), "{refused}");
    }
    tenant.reaches(two.id, AllocationState::Released).await;
    cloud.has_free(4).await;
}

/// Who is recognized is cached for a moment; the state is looked at where the request is written.
#[tokio::test(flavor = "multi_thread")]
async fn request_is_refused_in_the_moment_in_which_its_caller_is_still_cached() {
    let cloud = cloud(1, 2).await;
    let tenant = cloud.tenant().await;
    let stopped = tenant.get_one(ask(1)).await;
    tenant.stop(stopped.id).await.unwrap();
    tenant.reaches(stopped.id, AllocationState::Stopped).await;
    let mut above = cloud.world().server.database.superuser().await;
    for state in ["suspended", "closed"] {
        tenant.get(stopped.id).await;
        // tidy: planted because the events of the real move would end the cache
        let statement = format!("UPDATE organizations SET state = '{state}', version = version + 1 WHERE id = $1");
        sqlx::query(sqlx::AssertSqlSafe(statement)).bind(tenant.organization.uuid()).execute(&mut above).await.unwrap();
        for refused in [tenant.try_ask(ask(1)).await.unwrap_err(), tenant.start(stopped.id).await.unwrap_err()] {
            assert!(refused.is(Code::Suspended), "{state}: {refused}");
        }
    }
}

/// As an operator types it: what is stopped is listed, and nothing happens without a yes.
#[tokio::test(flavor = "multi_thread")]
async fn command_that_suspends_an_organization_says_what_it_stops() {
    let cloud = cloud(1, 2).await;
    let tenant = cloud.tenant().await;
    let active = tenant.get_one(ask(2)).await;
    let operator = cloud.world().operator().await;
    let id = tenant.organization.to_string();
    let run = async |arguments: &[&str]| {
        let mut command = tokio::process::Command::new(binary("gpuaas"));
        command.args(["organizations", "suspend", &id, "--reason", "invoice overdue"]).args(arguments);
        command.env("GPUAAS_URL", &cloud.world().server.base).env("GPUAAS_TOKEN", &operator.token);
        command.env("GPUAAS_CONFIG", "/nonexistent/config.toml").stdin(std::process::Stdio::null());
        let said = command.output().await.unwrap();
        (said.status.success(), String::from_utf8(said.stderr).unwrap())
    };
    let (is_done, said) = run(&[]).await;
    assert!(!is_done && said.contains("Pass --yes"), "{said}");
    assert_eq!(tenant.get(active.id).await.state, AllocationState::Active);
    let (is_done, said) = run(&["--yes"]).await;
    assert!(is_done && said.contains("This stops 1 allocation with 2 GPUs:"), "{said}");
    assert!(said.contains(&active.id.to_string()), "{said}");
    tenant.reaches(active.id, AllocationState::Stopped).await;
}
