//! What hosts measure: written in batches, rolled up exactly, and shown to a
//! tenant only as far as it held the GPUs.

use std::{sync::Arc, time::Duration};

use contract::{
    Code, Nothing, Timestamp,
    allocations::{Allocation, AllocationPath, AllocationState, CreateAllocation, GetAllocation, ReleaseAllocation},
    nodes::NodePath,
    projects::ProjectPath,
    telemetry::{
        AllocationTelemetry, AllocationTelemetryRange, GetAllocationTelemetry, GetNodeTelemetry, NodeTelemetry,
        Resolution, TelemetryRange,
    },
};
use fleet::samples;
use gpuaasd::roles::Role;
use jiff::SignedDuration;
use protocol::{
    Done, GpuSample, HostSample, LoginSpec, Outcome, PollRequest, Sample, SelfTest, Task, Verb, WorkloadSpec,
};
use testkit::{Agent, Database, Fleet, Server, World, cloud::add_slice, server::eventually};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// A fleet whose samples are rolled up only when the test says so.
async fn fleet() -> Fleet {
    let roles = [Role::Api, Role::Nodes, Role::Reconcile, Role::Relay];
    Fleet::on(Server::with(Arc::new(Database::new().await), &roles, |_| ()).await).await
}

fn now(fleet: &Fleet) -> Timestamp {
    fleet.world.server.control_plane.db.clock.estimate()
}

/// The start of the minute that the fleet is in.
fn this_minute(fleet: &Fleet) -> Timestamp {
    let second = now(fleet).as_second();
    Timestamp::from_second(second - second % 60).unwrap()
}

fn gpu(uuid: &str, percent: u32) -> GpuSample {
    GpuSample {
        uuid: uuid.into(),
        utilization_percent: percent,
        memory_used_bytes: u64::from(percent) << 30,
        temperature_c: 40 + percent as i32 / 2,
        power_mw: percent * 7_000,
    }
}

/// A sample as if taken at that moment.
fn sample(fleet: &Fleet, at: Timestamp, gpus: Vec<GpuSample>) -> Sample {
    let at_ms_ago = u32::try_from(now(fleet).duration_since(at).as_millis()).unwrap();
    Sample { at_ms_ago, host: HostSample { cpu_percent: 50, memory_used_bytes: 1 << 33 }, gpus }
}

async fn say(fleet: &Fleet, agent: &mut Agent, samples: Vec<Sample>) {
    let request = PollRequest { samples, ..agent.quiet() };
    agent.send(&request).await.unwrap();
    samples::flush(&fleet.world.server.control_plane.fleet).await.unwrap();
}

/// Two keepers at once, as in two processes.
async fn keep(fleet: &Fleet) {
    let area = &fleet.world.server.control_plane.fleet;
    let (one, other) = tokio::join!(samples::keep(area), samples::keep(area));
    one.unwrap();
    other.unwrap();
}

async fn read(fleet: &Fleet, agent: &Agent, resolution: Resolution) -> NodeTelemetry {
    let query = TelemetryRange { resolution: Some(resolution), since: Some(now(fleet) - 20 * HOUR), until: None };
    fleet.operator.call::<GetNodeTelemetry>(NodePath { node_id: agent.node }, query, Nothing {}).await.unwrap()
}

/// Samples, average and maximum of each point of the first GPU.
fn uses(telemetry: &NodeTelemetry) -> Vec<(u64, u32, u32)> {
    let points = telemetry.gpus.first().map(|it| it.points.as_slice()).unwrap_or_default();
    points.iter().map(|it| (it.samples, it.utilization_percent_avg, it.utilization_percent_max)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn samples_become_minutes_and_hours_and_none_is_lost_or_counted_twice() {
    let fleet = fleet().await;
    let mut agent = fleet.host("a", 2).await;
    let minute = this_minute(&fleet) - 2 * MINUTE;
    let at = |second: u64| minute + Duration::from_millis(second * 1_000 + 300);
    let said = [(5, 10), (15, 20), (25, 60)].map(|(second, percent)| {
        sample(&fleet, at(second), vec![gpu("GPU-a-0", percent), gpu("GPU-a-1", 1), gpu("GPU-of-nobody", 99)])
    });
    say(&fleet, &mut agent, said.into()).await;
    let raw = read(&fleet, &agent, Resolution::Raw).await;
    assert_eq!(uses(&raw), [(1, 10, 10), (1, 20, 20), (1, 60, 60)]);
    assert_eq!((raw.gpus.len(), raw.host.len(), raw.next_since), (2, 3, None), "GPUs that it does not have are none");
    assert_eq!(raw.gpus[1].gpu_uuid, "GPU-a-1");
    assert!(uses(&read(&fleet, &agent, Resolution::Minute).await).is_empty());

    fleet.advance(4 * MINUTE);
    keep(&fleet).await;
    let minutes = read(&fleet, &agent, Resolution::Minute).await;
    assert_eq!(uses(&minutes), [(3, 30, 60)]);
    assert_eq!(minutes.gpus[0].points[0].at, minute);
    assert_eq!((minutes.host[0].samples, minutes.host[0].cpu_percent_avg), (3, 50));
    // One that comes late is added; the same second again is not.
    let late = vec![sample(&fleet, at(35), vec![gpu("GPU-a-0", 90)]), sample(&fleet, at(5), vec![gpu("GPU-a-0", 99)])];
    say(&fleet, &mut agent, late).await;
    keep(&fleet).await;
    assert_eq!(uses(&read(&fleet, &agent, Resolution::Minute).await), [(4, 45, 90)]);

    fleet.advance(65 * MINUTE);
    keep(&fleet).await;
    assert_eq!(uses(&read(&fleet, &agent, Resolution::Hour).await), [(4, 45, 90)]);
    let late = vec![sample(&fleet, at(45), vec![gpu("GPU-a-0", 20)])];
    say(&fleet, &mut agent, late).await;
    keep(&fleet).await;
    assert_eq!(uses(&read(&fleet, &agent, Resolution::Minute).await), [(5, 40, 90)]);
    assert_eq!(uses(&read(&fleet, &agent, Resolution::Hour).await), [(5, 40, 90)], "its hour knows it too");

    // Past its time a sample is gone, and one that comes even later does not replace what was counted.
    fleet.advance(3 * HOUR);
    keep(&fleet).await;
    let late = vec![sample(&fleet, at(55), vec![gpu("GPU-a-0", 99)])];
    say(&fleet, &mut agent, late).await;
    keep(&fleet).await;
    assert!(uses(&read(&fleet, &agent, Resolution::Raw).await).is_empty());
    assert_eq!(uses(&read(&fleet, &agent, Resolution::Minute).await), [(5, 40, 90)]);
    fleet.advance(15 * 24 * HOUR);
    keep(&fleet).await;
    assert_eq!(rows(&fleet, "SELECT count(*) FROM gpu_rollups WHERE span_s = 60").await, 0);
    assert_eq!(rows(&fleet, "SELECT count(*) FROM gpu_rollups WHERE span_s = 3600").await, 2);
    fleet.advance(400 * 24 * HOUR);
    keep(&fleet).await;
    assert_eq!(rows(&fleet, "SELECT count(*) FROM gpu_rollups").await, 0);
    assert_eq!(rows(&fleet, "SELECT count(*) FROM node_rollups").await, 0);
}

async fn rows(fleet: &Fleet, statement: &'static str) -> i64 {
    let mut above = fleet.world.server.database.superuser().await;
    sqlx::query_scalar(statement).fetch_one(&mut above).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_samples_are_written_by_one_statement_while_two_keepers_roll_them_up() {
    let fleet = fleet().await;
    let mut agent = fleet.host("a", 1).await;
    let start = this_minute(&fleet) - 20 * MINUTE;
    let control_plane = fleet.world.server.control_plane.clone();
    let stop = tokio_util::sync::CancellationToken::new();
    let keeper = || {
        let (control_plane, stop) = (control_plane.clone(), stop.clone());
        tokio::spawn(async move {
            while !stop.is_cancelled() {
                samples::keep(&control_plane.fleet).await.unwrap();
            }
        })
    };
    let keepers = [keeper(), keeper()];
    // Every second of fifteen minutes, newest first, so that nearly all are late.
    for chunk in (0..900u64).rev().collect::<Vec<_>>().chunks(60) {
        let of = |second: &u64| {
            let at = start + Duration::from_millis(second * 1_000 + 300);
            sample(&fleet, at, vec![gpu("GPU-a-0", (second % 100) as u32)])
        };
        say(&fleet, &mut agent, chunk.iter().map(of).collect()).await;
    }
    stop.cancel();
    for keeper in keepers {
        keeper.await.unwrap();
    }
    fleet.advance(5 * MINUTE);
    keep(&fleet).await;
    let minutes = read(&fleet, &agent, Resolution::Minute).await;
    let counted: u64 = minutes.gpus[0].points.iter().map(|it| it.samples).sum();
    assert_eq!((minutes.gpus[0].points.len(), counted), (15, 900));
    assert!(minutes.host.iter().all(|it| it.samples == 60));
}

async fn answer(agent: &mut Agent, wanted: impl Fn(&Verb) -> bool, outcome: impl Fn(&Task) -> Outcome) {
    for _ in 0..20 {
        let tasks = agent.wait(2_000).await.unwrap().tasks;
        for task in agent.verified(&tasks) {
            let done = wanted(&task.verb);
            agent.report(&task, outcome(&task)).await.unwrap();
            if done {
                return;
            }
        }
    }
    panic!("the task did not come");
}

fn proof(task: &Task) -> Outcome {
    let Verb::EnsureAllocation { workload: WorkloadSpec::Login(LoginSpec { gpus, .. }) } = &task.verb else {
        panic!("{task:?}")
    };
    let result = Done::Proof {
        gpus: gpus.iter().map(|it| it.uuid.clone()).collect(),
        driver_version: Some("570.0".into()),
        self_test: SelfTest { passed: true, detail: String::new() },
        stages: vec![],
    };
    Outcome::Done { result }
}

fn evidence(_: &Task) -> Outcome {
    let result = Done::Evidence {
        stages: vec![],
        processes_killed: 0,
        home_removed: true,
        user_removed: true,
        gpu_processes_left: 0,
    };
    Outcome::Done { result }
}

struct Tenant {
    client: client::Client,
    path: AllocationPath,
}

impl Tenant {
    /// An allocation of one GPU that the host proved.
    async fn with_a_gpu(fleet: &Fleet, agent: &mut Agent) -> Tenant {
        add_slice(&fleet.operator, "slice", &[1]).await;
        let (organization, owner) = fleet.world.organization().await;
        let project_id = fleet.world.project(organization).await;
        let client = fleet.world.as_(&owner);
        let spec = serde_json::from_value(serde_json::json!({ "sku": "slice", "gpus": 1 })).unwrap();
        let made = client.call::<CreateAllocation>(ProjectPath { project_id }, Nothing {}, spec).await.unwrap();
        let tenant = Tenant { client, path: AllocationPath { project_id, allocation_id: made.id } };
        answer(agent, |it| matches!(it, Verb::EnsureAllocation { .. }), proof).await;
        tenant.is(AllocationState::Active).await;
        tenant
    }

    async fn allocation(&self) -> Allocation {
        self.client.call::<GetAllocation>(self.path.clone(), Nothing {}, Nothing {}).await.unwrap()
    }

    async fn is(&self, state: AllocationState) {
        eventually(&format!("{state}"), || async { self.allocation().await.state == state }).await;
    }

    async fn telemetry(&self, fleet: &Fleet, resolution: Resolution) -> AllocationTelemetry {
        let (resolution, since) = (Some(resolution), Some(now(fleet) - 20 * HOUR));
        let query = AllocationTelemetryRange { resolution, since, ..Default::default() };
        self.client.call::<GetAllocationTelemetry>(self.path.clone(), query, Nothing {}).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_sees_its_gpu_for_the_time_that_it_had_it_and_no_longer() {
    let fleet = fleet().await;
    let mut agent = fleet.host("a", 2).await;
    let earlier = this_minute(&fleet) - 3 * MINUTE;
    let tenant = Tenant::with_a_gpu(&fleet, &mut agent).await;
    let both = |percent| vec![gpu("GPU-a-0", percent), gpu("GPU-a-1", percent)];
    let before = sample(&fleet, earlier, both(11));
    say(&fleet, &mut agent, vec![before]).await;
    // A whole minute that was the tenant's, with the minutes around it.
    fleet.advance(3 * MINUTE);
    let during = this_minute(&fleet) - MINUTE + Duration::from_secs(10);
    let now_said = vec![sample(&fleet, during, both(22))];
    say(&fleet, &mut agent, now_said).await;

    tenant.client.call::<ReleaseAllocation>(tenant.path.clone(), Nothing {}, Nothing {}).await.unwrap();
    answer(&mut agent, |it| matches!(it, Verb::EnsureGone { .. }), evidence).await;
    tenant.is(AllocationState::Released).await;
    fleet.advance(2 * MINUTE);
    let after = now(&fleet) - Duration::from_secs(5);
    let after = vec![sample(&fleet, after, both(33))];
    say(&fleet, &mut agent, after).await;

    let seen = tenant.telemetry(&fleet, Resolution::Raw).await;
    let held = tenant.allocation().await.parts[0].gpus.clone();
    assert_eq!(seen.gpus.iter().map(|it| it.gpu_uuid.clone()).collect::<Vec<_>>(), held, "its GPU, and only that");
    let uses: Vec<u32> = seen.gpus[0].points.iter().map(|it| it.utilization_percent_max).collect();
    assert_eq!(uses, [22], "neither before nor after");
    fleet.advance(5 * MINUTE);
    keep(&fleet).await;
    let seen = tenant.telemetry(&fleet, Resolution::Minute).await;
    assert_eq!(seen.gpus[0].points.iter().map(|it| it.utilization_percent_max).collect::<Vec<_>>(), [22]);
    assert_eq!(uses_of_all(&fleet, &agent).await, [11, 22, 33], "the operator sees all of it");
    refused_to_others(&fleet.world, &tenant).await;
}

async fn uses_of_all(fleet: &Fleet, agent: &Agent) -> Vec<u32> {
    let telemetry = read(fleet, agent, Resolution::Minute).await;
    telemetry.gpus[0].points.iter().map(|it| it.utilization_percent_max).collect()
}

/// Neither another organization nor another project of the same one.
async fn refused_to_others(world: &World, tenant: &Tenant) {
    let (_, stranger) = world.organization().await;
    let refused =
        world.as_(&stranger).call::<GetAllocationTelemetry>(tenant.path.clone(), Default::default(), Nothing {}).await;
    assert!(refused.unwrap_err().is(Code::NotFound));
    let backwards = AllocationTelemetryRange {
        since: Some(Timestamp::now()),
        until: Some(Timestamp::now() - SignedDuration::from_hours(1)),
        ..Default::default()
    };
    let refused = tenant.client.call::<GetAllocationTelemetry>(tenant.path.clone(), backwards, Nothing {}).await;
    assert!(refused.unwrap_err().is(Code::InvalidValue));
    let organization = tenant.allocation().await.organization_id;
    let path = AllocationPath { project_id: world.project(organization).await, ..tenant.path.clone() };
    let refused = tenant.client.call::<GetAllocationTelemetry>(path, Default::default(), Nothing {}).await;
    assert!(refused.unwrap_err().is(Code::NotFound), "the allocation is of another project");
}
