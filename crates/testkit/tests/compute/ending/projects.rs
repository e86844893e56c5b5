//! A project that is deleted ends what is inside first.

use contract::{
    Code, Nothing,
    allocations::AllocationState,
    projects::{DeleteProject, GetProject, PreviewProjectDeletion, Project, ProjectPath, ProjectState},
};
use testkit::{Cloud, Tenant, cloud::ask, process::binary, rounds, server::eventually};

use crate::ending::stand::{PRICE, burn, cloud, count, left};

pub async fn project(tenant: &Tenant) -> Project {
    let path = ProjectPath { project_id: tenant.project };
    tenant.client.call::<GetProject>(path, Nothing {}, Nothing {}).await.unwrap()
}

async fn delete(tenant: &Tenant) -> Result<Project, client::ClientError> {
    let path = ProjectPath { project_id: tenant.project };
    tenant.client.call::<DeleteProject>(path, Nothing {}, Nothing {}).await
}

/// One that runs, one that is stopped, and one that waits.
pub async fn busy(cloud: &Cloud, tenant: &Tenant) {
    let active = tenant.get_one(ask(1)).await;
    let stopped = tenant.get_one(ask(1)).await;
    tenant.stop(stopped.id).await.unwrap();
    tenant.reaches(stopped.id, AllocationState::Stopped).await;
    let waiting = tenant.ask(ask(2)).await;
    tenant.waits(waiting).await;
    assert_eq!(tenant.get(active.id).await.state, AllocationState::Active);
    assert_eq!((left(cloud).await, burn(tenant).await), ((3, 1, 2), PRICE));
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_project_ends_what_is_inside_and_waits_for_it() {
    let cloud = cloud(1, 2).await;
    let tenant = cloud.tenant().await;
    busy(&cloud, &tenant).await;
    let path = ProjectPath { project_id: tenant.project };
    let ends = tenant.client.call::<PreviewProjectDeletion>(path, Nothing {}, Nothing {}).await.unwrap();
    let mut states: Vec<&str> = ends.ends.iter().map(|it| it.state.as_str()).collect();
    states.sort_unstable();
    assert_eq!((states, ends.count, ends.gpus), (vec!["active", "requested", "stopped"], 3, 4));
    assert_eq!(ends.burn.iter().map(|it| it.micros_per_hour).collect::<Vec<_>>(), [PRICE]);
    assert_eq!(delete(&tenant).await.unwrap().state, ProjectState::Deleting);
    eventually("the project to be deleted", || async { project(&tenant).await.state == ProjectState::Deleted }).await;
    assert_eq!((left(&cloud).await, burn(&tenant).await), ((0, 0, 0), 0), "(live, metered, slots), burn");
    let early =
        "SELECT count(*) FROM allocations a JOIN projects p ON p.id = a.project_id WHERE p.state_since < a.ended_at";
    assert_eq!(count(&cloud, early).await, 0, "the project was deleted before what is inside had ended");
    let refused = tenant.try_ask(ask(1)).await.unwrap_err();
    assert!(refused.is(Code::Conflict), "{refused}");
    cloud.has_free(2).await;
}

/// Deleted several times at once while requests arrive and stopped ones start.
#[tokio::test(flavor = "multi_thread")]
async fn project_deleted_twice_at_once_while_something_starts_leaves_nothing() {
    let cloud = cloud(1, 4).await;
    let races = rounds(40);
    for round in 0..races {
        let tenant = cloud.tenant().await;
        let stopped = tenant.get_one(ask(1)).await;
        tenant.stop(stopped.id).await.unwrap();
        tenant.reaches(stopped.id, AllocationState::Stopped).await;
        let mut all = Vec::new();
        for _ in 0..3 {
            let one = tenant.clone();
            all.push(tokio::spawn(async move { delete(&one).await.map(|_| ()) }));
            let one = tenant.clone();
            all.push(tokio::spawn(async move { one.try_ask(ask(1)).await.map(|_| ()) }));
        }
        let one = tenant.clone();
        all.push(tokio::spawn(async move { one.start(stopped.id).await.map(|_| ()) }));
        for one in all {
            if let Err(refused) = one.await.unwrap() {
                assert!(refused.is(Code::Conflict), "round {round}: {refused}");
            }
        }
        eventually("the project to be deleted", || async { project(&tenant).await.state == ProjectState::Deleted })
            .await;
        assert_eq!(left(&cloud).await, (0, 0, 0), "round {round}: (live, metered, slots)");
    }
    println!("{races} projects deleted three times at once while something starts: nothing left of any");
}

/// As a person types it: what ends is listed, and the project is gone with it.
#[tokio::test(flavor = "multi_thread")]
async fn command_that_deletes_a_project_says_what_it_ends() {
    let cloud = cloud(1, 2).await;
    let tenant = cloud.tenant().await;
    busy(&cloud, &tenant).await;
    let name = project(&tenant).await.name;
    let run = async |arguments: &[&str]| {
        let mut command = tokio::process::Command::new(binary("gpuaas"));
        command.args(arguments).env("GPUAAS_URL", &cloud.world().server.base).env("GPUAAS_TOKEN", &tenant.owner.token);
        command.env("GPUAAS_ORGANIZATION", tenant.organization.to_string());
        command.env("GPUAAS_CONFIG", "/nonexistent/config.toml").stdin(std::process::Stdio::null());
        let said = command.output().await.unwrap();
        (said.status.success(), String::from_utf8(said.stderr).unwrap())
    };
    let (is_done, said) = run(&["projects", "delete", name.as_str()]).await;
    assert!(!is_done && said.contains("Pass --yes"), "{said}");
    let (is_done, said) = run(&["projects", "delete", name.as_str(), "--yes"]).await;
    assert!(is_done && said.contains("This ends 3 allocations with 4 GPUs, costing 3.50 USD per hour:"), "{said}");
    assert_eq!(said.matches("  allocation alloc-").count(), 3, "{said}");
    eventually("nothing to cost anything", || async { left(&cloud).await == (0, 0, 0) }).await;
    let (is_done, said) = run(&["organizations", "close", "--yes"]).await;
    assert!(is_done, "{said}");
}
