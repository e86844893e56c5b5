//! A simulated fleet against a scripted control plane: real TLS, real messages.
#![allow(clippy::unwrap_used)]

use crate::plane::{Plane, eventually};
use agent::sim::{Failing, FalseReport, Fleet};
use protocol::{
    Done, GpuRef, HealthEvent, HealthKind, Isolation, Login, LoginSpec, Outcome, Refusal, Shape, SignedTask,
    SigningKey, Verb, WorkloadRef, WorkloadSpec,
};
use std::time::Duration;

fn allocation(user: &str, gpus: Vec<GpuRef>) -> Verb {
    let login = Login { user: user.into(), keys: vec!["ssh-ed25519 AAAA".into()] };
    let spec = LoginSpec { shape: Shape::GpuSlice, gpus, login, self_test: true, limits: None };
    Verb::EnsureAllocation { workload: WorkloadSpec::Login(spec) }
}

/// The first GPUs of a node, as it told them.
async fn gpus_of(plane: &Plane, node: &str, count: usize) -> Vec<GpuRef> {
    let told = || {
        let state = plane.state();
        let inventory =
            state.polls.iter().rev().find_map(|(from, poll)| poll.inventory.clone().filter(|_| from == node));
        inventory.map(|inventory| inventory.gpus)
    };
    let gpus = eventually("an inventory", told).await;
    gpus.into_iter().take(count).map(|gpu| GpuRef { uuid: gpu.uuid, pci: gpu.pci }).collect()
}

async fn outcome(plane: &Plane, task: protocol::TaskId) -> Outcome {
    eventually("a report", || plane.report_of(task)).await.outcome
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allocation_is_proved_and_given_back_with_evidence() {
    let plane = Plane::start().await;
    let fleet = Fleet::start(plane.sim(1)).await.unwrap();
    let node = fleet.node(0).id().unwrap();
    let gpus = gpus_of(&plane, &node, 2).await;
    let task = plane.deliver(plane.task(&node, "allocation-1", 1, allocation("u", gpus.clone())));
    let Outcome::Done { result: Done::Proof { gpus: proved, self_test, stages, .. } } = outcome(&plane, task).await
    else {
        panic!("no proof")
    };
    assert_eq!(proved, gpus.iter().map(|gpu| gpu.uuid.clone()).collect::<Vec<_>>());
    assert!(self_test.passed);
    let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["check_gpus", "create_user", "write_keys", "assign_gpus", "self_test"]);
    assert_eq!(fleet.node(0).logins()["u"].keys, 1);
    let gone =
        Verb::EnsureGone { workload: WorkloadRef::login(Shape::GpuSlice, "u"), gpus, isolation: Isolation::UserRevoke };
    let task = plane.deliver(plane.task(&node, "allocation-1", 2, gone));
    let outcome = outcome(&plane, task).await;
    assert!(
        matches!(outcome, Outcome::Done { result: Done::Evidence { user_removed: true, home_removed: true, .. } }),
        "{outcome:?}"
    );
    assert!(fleet.node(0).logins().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_reaches_a_waiting_node_and_its_report_returns_within_milliseconds() {
    let plane = Plane::start().await;
    let mut config = plane.sim(1);
    config.timing.heartbeat = Duration::from_secs(600);
    let fleet = Fleet::start(config).await.unwrap();
    let node = fleet.node(0).id().unwrap();
    gpus_of(&plane, &node, 1).await;
    let mut slowest = Duration::ZERO;
    for version in 1..=20 {
        let began = std::time::Instant::now();
        let task = plane.deliver(plane.task(&node, "a", version, allocation("u", vec![])));
        while plane.report_of(task).is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert!(began.elapsed() < Duration::from_secs(120), "it waits for the heartbeat");
        }
        slowest = slowest.max(began.elapsed());
    }
    println!("slowest of 20: {slowest:?}");
    assert_eq!(plane.state().connections, 2, "one to enroll, one for everything else");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_tasks_are_refused_and_counted() {
    let plane = Plane::start().await;
    let fleet = Fleet::start(plane.sim(1)).await.unwrap();
    let node = fleet.node(0).id().unwrap();
    let good = plane.task(&node, "a", 5, allocation("u", vec![]));
    let first = plane.deliver(good.clone());
    outcome(&plane, first).await;
    let foreign = protocol::Task { node: "node-other".into(), ..plane.task(&node, "a", 9, allocation("x", vec![])) };
    let mut expired = plane.task(&node, "a", 9, allocation("x", vec![]));
    expired.expires_at = expired.issued_at;
    let stale = plane.task(&node, "a", 4, allocation("x", vec![]));
    let sign = |task: &protocol::Task| SignedTask::sign(task, &plane.key).unwrap();
    let thief = SigningKey::from_seed(&[66; 32]).unwrap();
    let unknown = SignedTask::sign(&stale, &thief).unwrap();
    let mut tampered = sign(&stale);
    tampered.signature = unknown.signature.clone();
    let garbage = SignedTask { payload: "!".into(), ..sign(&stale) };
    let replayed = sign(&good);
    let hostile = vec![sign(&foreign), sign(&expired), sign(&stale), unknown, tampered, garbage, replayed];
    plane.state().raw = hostile;
    plane.wake();
    let counts = eventually("every refusal counted", || {
        let state = plane.state();
        let counts = state.polls.last()?.1.refused;
        (counts.repeated == 1 && counts.malformed == 1).then_some(counts)
    })
    .await;
    for reason in [
        Refusal::ForeignNode,
        Refusal::Expired,
        Refusal::Stale,
        Refusal::UnknownKey,
        Refusal::BadSignature,
        Refusal::Malformed,
    ] {
        assert_eq!(counts.of(reason), 1, "{}", reason.name());
    }
    assert_eq!(fleet.node(0).logins().keys().collect::<Vec<_>>(), ["u"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_fail_steps_delay_them_and_lie() {
    let plane = Plane::start().await;
    let fleet = Fleet::start(plane.sim(1)).await.unwrap();
    let handle = fleet.node(0);
    let node = handle.id().unwrap();
    handle.script(|script| script.failing = Some(Failing::at("assign_gpus", 1)));
    let task = plane.deliver(plane.task(&node, "a", 1, allocation("u", vec![])));
    assert!(matches!(outcome(&plane, task).await, Outcome::Failed { step, .. } if step == "assign_gpus"));
    handle.script(|script| {
        script.latency_of.insert("self_test".into(), Duration::from_millis(120));
    });
    let task = plane.deliver(plane.task(&node, "a", 2, allocation("u", vec![])));
    let Outcome::Done { result: Done::Proof { stages, .. } } = outcome(&plane, task).await else { panic!("no proof") };
    assert!(stages.iter().any(|stage| stage.name == "self_test" && stage.took_ms >= 100), "{stages:?}");
    let count = || {
        let state = plane.state();
        let gpus = state.polls.iter().rev().find_map(|(_, poll)| poll.inventory.as_ref().map(|it| it.gpus.clone()))?;
        let mut uuids: Vec<String> = gpus.into_iter().map(|gpu| gpu.uuid).collect();
        let all = uuids.len();
        uuids.sort();
        uuids.dedup();
        Some((all, uuids.len()))
    };
    for (lie, told) in
        [(FalseReport::MoreGpus(3), (11, 11)), (FalseReport::SlotTwice, (9, 8)), (FalseReport::OtherUuids, (8, 8))]
    {
        handle.script(|script| script.lie = Some(lie));
        plane.state().wants_inventory = true;
        eventually("the lie is told", || (count() == Some(told)).then_some(())).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_restart_and_health_are_seen() {
    let plane = Plane::start().await;
    let fleet = Fleet::start(plane.sim(2)).await.unwrap();
    let handle = fleet.node(0);
    let (silent, neighbor) = (handle.id().unwrap(), fleet.node(1).id().unwrap());
    let polls = |node: &String| plane.state().polls.iter().filter(|(from, _)| from == node).count();
    eventually("both poll", || (polls(&silent) > 1 && polls(&neighbor) > 1).then_some(())).await;
    handle.silence();
    // What was under way when it fell silent may still arrive, late on a busy machine. A node
    // that speaks polls as often as its neighbor, so it misses no three of the neighbor's polls.
    let (mut before, mut quiet, mut rounds) = (polls(&silent), 0, 0..60);
    while quiet < 3 {
        assert!(rounds.next().is_some(), "a silent node says nothing");
        let heard = polls(&neighbor);
        eventually("its neighbor polls", || (polls(&neighbor) > heard).then_some(())).await;
        let now = polls(&silent);
        quiet = if now == before { quiet + 1 } else { 0 };
        before = now;
    }
    handle.speak();
    eventually("it speaks again", || (polls(&silent) > before).then_some(())).await;
    let event = HealthEvent { gpu: None, kind: HealthKind::Xid, code: Some(79), detail: "XID 79".into(), fatal: true };
    handle.notice(event.clone());
    eventually("the event", || plane.state().polls.iter().any(|(_, poll)| poll.health.contains(&event)).then_some(()))
        .await;
    assert_eq!(plane.state().polls.iter().map(|(_, poll)| poll.health.len()).sum::<usize>(), 1, "told once");
    handle.restart().unwrap();
    eventually("generation 2", || {
        plane.state().polls.iter().any(|(_, poll)| poll.generation == 2 && poll.inventory.is_some()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_on_disk_comes_back_as_the_same_nodes() {
    let plane = Plane::start().await;
    let folder = tempfile::tempdir().unwrap();
    let mut config = plane.sim(3);
    config.data_dir = Some(folder.path().to_owned());
    let first = Fleet::start(config.clone()).await.unwrap();
    let ids: Vec<_> = first.nodes().map(|node| node.id()).collect();
    drop(first);
    let second = Fleet::start(config).await.unwrap();
    assert_eq!(second.nodes().map(|node| node.id()).collect::<Vec<_>>(), ids);
    assert_eq!(plane.state().nodes, 3, "no token was spent twice");
    eventually("generation 2", || plane.state().polls.iter().any(|(_, poll)| poll.generation == 2).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_that_cannot_enroll_says_which_node_and_why() {
    let plane = Plane::start().await;
    plane.state().tokens.clear();
    let error = Fleet::start(plane.sim(1)).await.err().unwrap();
    assert!(error.to_string().contains("sim-0001"), "{error}");
}

/// Resident memory of this process, the plane included.
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// `GPUAAS_SIM_NODES=5000` shows how a large fleet fares.
#[tokio::test(flavor = "multi_thread")]
async fn many_nodes_share_one_process() {
    let nodes: usize = std::env::var("GPUAAS_SIM_NODES").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let plane = Plane::start().await;
    let before = resident_mib();
    let mut config = plane.sim(nodes);
    config.timing = agent::poll::Timing::default();
    let began = std::time::Instant::now();
    let fleet = Fleet::start(config).await.unwrap();
    let enrolled = began.elapsed();
    eventually("every node polls", || {
        let mut state = plane.state();
        // Only who polled counts here.
        for (_, poll) in &mut state.polls {
            poll.samples = Vec::new();
            poll.inventory = None;
        }
        let mut seen: Vec<&String> = state.polls.iter().map(|(node, _)| node).collect();
        seen.sort();
        seen.dedup();
        (seen.len() == nodes).then_some(())
    })
    .await;
    let after = resident_mib();
    println!("{nodes} nodes enrolled in {enrolled:?}; {before} MiB before, {after} MiB with them and their plane");
    assert_eq!(fleet.len(), nodes);
    assert!((after - before) * 1024 / u64::try_from(nodes).unwrap() < 400, "KiB for a node and its connection");
}
