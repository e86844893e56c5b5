//! A simulated node with a login, connected to a gateway.

use crate::gateway::{Gateway, Stream};
use crate::plane::{Plane, eventually};
use agent::sim::{Fleet, Handle};
use agent::streams::Sessions;
use protocol::stream::{Grant, Kind};
use protocol::{GpuRef, Isolation, Login, LoginSpec, Outcome, Shape, TaskId, Verb, WorkloadRef, WorkloadSpec};

pub struct World {
    pub plane: Plane,
    pub gateway: Gateway,
    pub fleet: Handle,
    pub node: String,
}

pub fn allocation(user: &str, gpus: Vec<GpuRef>) -> Verb {
    let login = Login { user: user.into(), keys: vec![] };
    let spec = LoginSpec { shape: Shape::GpuSlice, gpus, login, self_test: false, limits: None };
    Verb::EnsureAllocation { workload: WorkloadSpec::Login(spec) }
}

/// How tasks and grants name the login of a user.
pub fn login(user: &str) -> WorkloadRef {
    WorkloadRef::login(Shape::GpuSlice, user)
}

pub fn gone(user: &str) -> Verb {
    Verb::EnsureGone { workload: login(user), gpus: vec![], isolation: Isolation::UserRevoke }
}

pub async fn done(plane: &Plane, task: TaskId) {
    let outcome = eventually("a report", || plane.report_of(task)).await.outcome;
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
}

/// Waits until what the plane says now has been heard.
pub async fn polled(plane: &Plane) {
    for _ in 0..2 {
        let before = plane.state().polls.len();
        eventually("another poll", || (plane.state().polls.len() > before).then_some(())).await;
    }
}

impl World {
    pub async fn new() -> Self {
        let bwrap = std::path::Path::new("/usr/bin/bwrap");
        assert!(bwrap.exists(), "bubblewrap is missing: run `scripts/bootstrap.sh --test`");
        let plane = Plane::start().await;
        let gateway = Gateway::start(&plane, "gw-1").await;
        plane.state().gateways = vec![gateway.entry()];
        let fleet = Fleet::start(plane.sim(1)).await.unwrap();
        let node = fleet.node(0).id().unwrap();
        let gpus = eventually("an inventory", || {
            let state = plane.state();
            state.polls.iter().find_map(|(_, poll)| poll.inventory.clone()).map(|inventory| inventory.gpus)
        })
        .await;
        let gpus = gpus.into_iter().take(2).map(|gpu| GpuRef { uuid: gpu.uuid, pci: gpu.pci }).collect();
        done(&plane, plane.deliver(plane.task(&node, "allocation-1", 1, allocation("u", gpus)))).await;
        gateway.connected().await;
        Self { plane, gateway, fleet, node }
    }

    pub fn grant(&self, kind: Kind) -> Grant {
        self.gateway.grant(&self.plane, &self.node, kind)
    }

    pub async fn open(&self, kind: Kind) -> (Grant, Stream) {
        let grant = self.grant(kind);
        let stream = self.gateway.open(&self.plane, &grant).await.unwrap();
        (grant, stream)
    }

    /// The code and status of the refusal.
    pub async fn refusal(&self, grant: &Grant) -> (u16, String) {
        match self.gateway.open(&self.plane, grant).await {
            Ok(_) => panic!("it was opened"),
            Err((status, problem)) => {
                assert!(!problem.title.is_empty() && !problem.advice.is_empty(), "{problem:?}");
                (status, problem.code)
            }
        }
    }

    pub fn sessions(&self) -> Sessions {
        self.fleet.node(0).sessions().unwrap()
    }

    pub async fn nobody_left(&self) {
        eventually("every session ended", || (self.sessions().live() == 0).then_some(())).await;
    }

    pub async fn perform(&self, version: i64, verb: Verb) {
        let task = self.plane.task(&self.node, "allocation-1", version, verb);
        done(&self.plane, self.plane.deliver(task)).await;
    }
}
