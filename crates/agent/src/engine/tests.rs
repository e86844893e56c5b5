use super::*;
use crate::journal::Bounds;
use crate::sim::{Failing, SimHardware, SimHost, of_sim};
use crate::steps::no_points;
use jiff::SignedDuration;
use protocol::{Done, GpuRef, Login, LoginSpec, Shape, SigningKey, Verb, WorkloadSpec};
use std::path::Path;
use std::time::Duration;

/// An engine over a journal on disk, so that it can be killed and started again.
struct Host {
    engine: Engine<SimHost>,
    sim: Arc<SimHost>,
    clock: ControlClock,
    key: SigningKey,
}

fn noon() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn host_at(folder: &Path, sim: Option<Arc<SimHost>>, points: Points) -> Host {
    let hardware = SimHardware { name: "h".into(), gpus: 2, model: "m".into(), gpu_memory_bytes: 1 };
    let sim = sim.unwrap_or_else(|| Arc::new(SimHost::new(hardware)));
    let clock = ControlClock::default();
    clock.learn(noon());
    let journal = Journal::open(&folder.join("journal"), Bounds::HOST).unwrap();
    let place =
        EngineIdentity { node: "node-a".into(), generation: 3, epoch: 5, keys: vec![], clock: clock.clone(), points };
    let engine = Engine::new(place, Arc::clone(&sim), of_sim(&sim), Arc::new(Mutex::new(journal)));
    Host { engine, sim, clock, key: SigningKey::from_seed(&[1; 32]).unwrap() }
}

fn allocation(user: String, gpus: Vec<GpuRef>) -> Verb {
    let login = Login { user, keys: vec![] };
    let spec = LoginSpec { shape: Shape::GpuSlice, gpus, login, self_test: true, limits: None };
    Verb::EnsureAllocation { workload: WorkloadSpec::Login(spec) }
}

fn task(version: i64) -> Task {
    let verb = allocation(format!("user{version}"), vec![]);
    Task::new("node-a", "allocation-1", (5, version), (noon(), noon() + SignedDuration::from_mins(5)), verb)
}

impl Host {
    fn admit(&self, task: &Task) {
        let signed = SignedTask::sign(task, &self.key).unwrap();
        self.engine.admit(&[signed], &[self.key.public()]);
    }

    async fn done(&self) -> Vec<Outcome> {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(5);
        while self.engine.is_busy() {
            tokio::time::timeout_at(deadline, self.engine.task_ended()).await.unwrap();
        }
        self.engine.reports(100).into_iter().map(|report| report.outcome).collect()
    }

    /// How often something was really done: each allocation makes a login.
    fn logins(&self) -> usize {
        self.sim.logins().len()
    }
}

fn refused(reason: Refusal) -> Outcome {
    Outcome::Refused { reason }
}

#[tokio::test]
async fn a_good_task_is_done_stored_and_reported_with_the_generation() {
    let folder = tempfile::tempdir().unwrap();
    let host = host_at(folder.path(), None, no_points());
    host.admit(&task(1));
    assert!(matches!(host.done().await.as_slice(), [Outcome::Done { result: Done::Proof { .. } }]));
    assert_eq!(host.engine.reports(9)[0].generation, 3);
    assert_eq!(host.logins(), 1);
}

#[tokio::test]
async fn every_refusal_is_counted_and_nothing_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let host = host_at(folder.path(), None, no_points());
    let keys = [host.key.public()];
    let good = SignedTask::sign(&task(1), &host.key).unwrap();
    let other_key = SigningKey::from_seed(&[2; 32]).unwrap();
    let unknown = SignedTask::sign(&task(1), &other_key).unwrap();
    let bad = SignedTask { signature: unknown.signature.clone(), ..good.clone() };
    let malformed = SignedTask { payload: "%".into(), ..good };
    host.engine.admit(&[unknown, bad, malformed], &keys);
    host.admit(&Task { node: "node-b".into(), ..task(1) });
    host.admit(&Task { expires_at: noon(), ..task(1) });
    host.admit(&Task { epoch: 4, ..task(9) });
    let later = Task { protocol: 9, ..task(1) };
    host.admit(&later);
    let counts = host.engine.refused();
    for reason in Refusal::ALL {
        assert_eq!(counts.of(*reason), 1, "{}", reason.name());
    }
    let told = host.done().await;
    // Only what was genuinely signed can be named in a report.
    assert_eq!(told, [Refusal::ForeignNode, Refusal::Expired, Refusal::Stale].map(refused));
    assert_eq!(host.logins(), 0);
}

#[tokio::test]
async fn an_older_version_is_stale_across_a_restart_and_a_new_epoch_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let host = host_at(folder.path(), None, no_points());
    host.admit(&task(7));
    host.done().await;
    let host = host_at(folder.path(), None, no_points());
    host.admit(&task(6));
    assert_eq!(host.engine.refused().stale, 1);
    host.admit(&Task { epoch: 6, ..task(1) });
    host.done().await;
    assert_eq!((host.logins(), host.engine.refused().stale), (1, 1));
}

#[tokio::test]
async fn a_repeated_task_is_answered_and_not_done_again() {
    let folder = tempfile::tempdir().unwrap();
    let first = task(1);
    let host = host_at(folder.path(), None, no_points());
    host.admit(&first);
    host.done().await;
    let told = host.engine.reports(9);
    host.admit(&task(2));
    host.done().await;
    // Another process, another host: what it did would show.
    let host = host_at(folder.path(), None, no_points());
    host.clock.learn(noon() + SignedDuration::from_hours(1));
    host.admit(&first);
    host.done().await;
    let again: Vec<Report> = host.engine.reports(9).into_iter().filter(|report| report.task == first.id).collect();
    assert_eq!(again, told);
    assert_eq!((host.logins(), host.engine.refused().repeated), (0, 1));
    assert_eq!(host.engine.refused().expired, 0);
}

#[tokio::test]
async fn a_report_is_sent_until_it_is_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let host = host_at(folder.path(), None, no_points());
    host.admit(&task(1));
    host.done().await;
    let sent = host.engine.reports(9);
    host.engine.settle(&sent, &[]);
    assert!(host.engine.reports(9).is_empty(), "it pauses before it is sent again");
    let host = host_at(folder.path(), None, no_points());
    assert_eq!(host.engine.reports(9), sent);
    host.engine.settle(&sent, &[sent[0].task]);
    assert!(host.engine.reports(9).is_empty());
    assert!(host_at(folder.path(), None, no_points()).engine.reports(9).is_empty());
}

/// Runs a task in an engine that dies at a point, then delivers it to the next.
async fn killed_at(point: &'static str) -> (usize, Vec<Outcome>) {
    let folder = tempfile::tempdir().unwrap();
    let task = task(1);
    let (died, is_dead) = tokio::sync::watch::channel(false);
    let points = move |passed: &str| {
        died.send_if_modified(|dead| std::mem::replace(dead, passed == point) != (passed == point));
        passed == point
    };
    let first = host_at(folder.path(), None, Arc::new(points));
    first.admit(&task);
    let mut is_dead = is_dead;
    let death = is_dead.wait_for(|dead| *dead);
    tokio::time::timeout(Duration::from_secs(5), death).await.unwrap().unwrap();
    let second = host_at(folder.path(), None, no_points());
    second.admit(&task);
    let outcomes = second.done().await;
    (second.logins(), outcomes)
}

#[tokio::test]
async fn task_of_an_agent_killed_before_its_report_is_stored_runs_again_and_after_never() {
    for point in ["accepted", "executed"] {
        let (logins, outcomes) = killed_at(point).await;
        assert_eq!((logins, outcomes.len()), (1, 1), "{point}");
    }
    let (logins, outcomes) = killed_at("persisted").await;
    assert_eq!((logins, outcomes.len()), (0, 1), "persisted");
}

#[tokio::test]
async fn a_task_killed_midway_still_fences_off_older_ones() {
    let folder = tempfile::tempdir().unwrap();
    let first = host_at(folder.path(), None, Arc::new(|passed| passed == "accepted"));
    first.admit(&task(5));
    while locked(&first.engine.shared.journal).highest("allocation-1").is_none() {
        tokio::task::yield_now().await;
    }
    let second = host_at(folder.path(), None, no_points());
    second.admit(&task(4));
    assert_eq!(second.engine.refused().stale, 1);
    second.admit(&task(5));
    second.done().await;
    assert_eq!(second.logins(), 1);
}

#[tokio::test]
async fn tasks_of_one_resource_are_done_in_order_and_one_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let host = host_at(folder.path(), None, no_points());
    host.sim.script(|script| script.latency = Duration::from_millis(5));
    for version in [1, 3, 2] {
        host.admit(&task(version));
    }
    host.done().await;
    let versions: Vec<i64> = host.engine.reports(9).iter().map(|report| report.version).collect();
    assert_eq!(versions, [1, 2, 3]);
}

#[tokio::test]
async fn a_task_that_waited_too_long_is_refused_when_its_turn_comes() {
    let folder = tempfile::tempdir().unwrap();
    let host = host_at(folder.path(), None, no_points());
    host.sim.script(|script| script.latency = Duration::from_millis(20));
    host.admit(&task(1));
    host.admit(&task(2));
    tokio::task::yield_now().await;
    host.clock.learn(noon() + SignedDuration::from_mins(10));
    let outcomes = host.done().await;
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == refused(Refusal::Expired)).count(), 1, "{outcomes:?}");
}

#[tokio::test]
async fn a_failure_names_its_step() {
    let folder = tempfile::tempdir().unwrap();
    let host = host_at(folder.path(), None, no_points());
    host.sim.script(|script| script.failing = Some(Failing::at("write_keys", 1)));
    host.admit(&task(1));
    let outcomes = host.done().await;
    assert!(
        matches!(&outcomes[..], [Outcome::Failed { step, retryable: true, .. }] if step == "write_keys"),
        "{outcomes:?}"
    );
}

#[tokio::test]
async fn one_gpu_is_never_given_to_two() {
    let folder = tempfile::tempdir().unwrap();
    let host = host_at(folder.path(), None, no_points());
    let gpu = crate::host::Host::inventory(&*host.sim).await.gpus.remove(0);
    let gpus = vec![GpuRef { uuid: gpu.uuid, pci: gpu.pci }];
    for (at, resource) in ["allocation-1", "allocation-2"].iter().enumerate() {
        let verb = allocation(format!("u{at}"), gpus.clone());
        host.admit(&Task { verb, resource: (*resource).into(), ..task(1) });
        host.done().await;
    }
    assert_eq!(host.logins(), 1);
}
