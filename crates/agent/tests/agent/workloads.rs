//! The seam of workloads: a second one beside the first, through the real engine and
//! real streams, and the simulated one for every shape.
#![allow(clippy::unwrap_used)]

use crate::gateway::Gateway;
use crate::plane::{Plane, eventually, fast};
use agent::enroll::enroll;
use agent::host::Host;
use agent::journal::{Bounds, Journal};
use agent::poll::{Agent, Keep, Start};
use agent::sim::{Fleet, SimHardware, SimHost, of_sim};
use agent::steps::{Failure, Result, Steps, no_points};
use agent::streams::Refused;
use agent::streams::shell::{PortRoute, Prepared, Program};
use agent::workloads::{Evidence, Proof, Workload, Workloads};
use bytes::Bytes;
use protocol::stream::{Grant, Kind, refusals};
use protocol::{
    Done, GpuRef, Isolation, Login, LoginRef, LoginSpec, Outcome, SelfTest, Shape, Verb, WorkloadRef, WorkloadSpec,
};
use std::sync::{Arc, Mutex};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;
use trust::{PendingRequest, Trust};

/// Runs containers, as far as the agent can tell; remembers what it was asked for.
struct Containers {
    calls: Mutex<Vec<String>>,
    fails_to_prove: bool,
}

impl Containers {
    fn note(&self, call: &str, user: &str) {
        self.calls.lock().unwrap().push(format!("{call} {user}"));
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }
}

impl Workload for Containers {
    type Spec = LoginSpec;

    async fn ensure(&self, steps: &mut Steps, spec: &LoginSpec) -> Result<()> {
        steps.enter("pull_image");
        self.note("ensure", &spec.login.user);
        Ok(())
    }

    async fn prove(&self, steps: &mut Steps, spec: &LoginSpec) -> Result<Proof> {
        steps.enter("start_container");
        self.note("prove", &spec.login.user);
        if self.fails_to_prove {
            return Err(Failure::lasting("self_test", "it does not start"));
        }
        let self_test = SelfTest { passed: true, detail: "it starts".into() };
        Ok(Proof { gpus: vec![], driver_version: None, self_test })
    }

    async fn open(&self, _: &mut Steps, spec: &LoginSpec) -> Result<()> {
        self.note("open", &spec.login.user);
        Ok(())
    }

    async fn close(&self, spec: &LoginSpec) {
        self.note("close", &spec.login.user);
    }

    async fn keys(&self, _: &mut Steps, workload: &LoginRef, _: &[String]) -> Result<()> {
        self.note("keys", &workload.user);
        Ok(())
    }

    async fn stop(&self, _: &mut Steps, workload: &LoginRef, _: &[GpuRef]) -> Result<Evidence> {
        self.note("stop", &workload.user);
        Ok(Evidence { processes_killed: 1, home_removed: false, user_removed: false, gpu_processes_left: 0 })
    }

    async fn remove(&self, _: &mut Steps, workload: &LoginRef, _: &[GpuRef], _: Isolation) -> Result<Evidence> {
        self.note("remove", &workload.user);
        Ok(Evidence::of_nothing(0))
    }

    async fn wiped(&self) -> Result<()> {
        self.note("wiped", "host");
        Ok(())
    }

    async fn open_stream(&self, workload: &LoginRef, program: Program<'_>) -> std::result::Result<Prepared, Refused> {
        let Program::Command(line) = program else {
            return Err(Refused::new(refusals::UNSUPPORTED, "commands only"));
        };
        let mut command = Command::new("/bin/echo");
        command.args([&format!("container {}:", workload.user), line]);
        Ok(Prepared { command, owner: None })
    }

    async fn reach_port(&self, _: &LoginRef, port: u16) -> std::result::Result<PortRoute, Refused> {
        let reached = TcpStream::connect(("127.0.0.1", port)).await;
        reached.map(PortRoute::Socket).map_err(|error| Refused::new(refusals::NOTHING_LISTENS, error.to_string()))
    }
}

/// An agent on a pretended host with chosen workloads, connected to a gateway.
struct World {
    plane: Plane,
    gateway: Gateway,
    node: String,
    stop: CancellationToken,
}

impl World {
    async fn new(workloads: impl FnOnce(&Arc<SimHost>) -> Workloads) -> Self {
        let plane = Plane::start().await;
        let gateway = Gateway::start(&plane, "gw-1").await;
        plane.state().gateways = vec![gateway.entry()];
        let hardware = SimHardware { name: "h".into(), gpus: 2, model: "m".into(), gpu_memory_bytes: 1 << 30 };
        let host = Arc::new(SimHost::new(hardware));
        let trust = Trust::in_roots(&plane.authority.roots).unwrap();
        let inventory = host.inventory().await;
        let identity = enroll(&plane.url, "token-0", &trust, inventory, PendingRequest::new().unwrap()).await.unwrap();
        let node = identity.node_id.clone();
        let agent = Agent::new(Start {
            identity,
            generation: 1,
            workloads: workloads(&host),
            host,
            journal: Arc::new(Mutex::new(Journal::in_memory(Bounds::SIM))),
            keep: Keep::default(),
            timing: fast(),
            points: no_points(),
            trust: None,
            voice: None,
            guard: None,
            streams: true,
        });
        let stop = CancellationToken::new();
        tokio::spawn(agent.unwrap().run(stop.clone()));
        gateway.connected().await;
        Self { plane, gateway, node, stop }
    }

    async fn perform(&self, resource: &str, version: i64, verb: Verb) -> Outcome {
        let task = self.plane.deliver(self.plane.task(&self.node, resource, version, verb));
        eventually("a report", || self.plane.report_of(task)).await.outcome
    }

    fn grant(&self, workload: WorkloadRef, kind: Kind) -> Grant {
        Grant { workload, allocation: "allocation-c".into(), ..self.gateway.grant(&self.plane, &self.node, kind) }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn spec(shape: Shape, user: &str) -> WorkloadSpec {
    let login = Login { user: user.into(), keys: vec![] };
    WorkloadSpec::Login(LoginSpec { shape, gpus: vec![], login, self_test: true, limits: None })
}

fn ensure(shape: Shape, user: &str) -> Verb {
    Verb::EnsureAllocation { workload: spec(shape, user) }
}

#[tokio::test(flavor = "multi_thread")]
async fn second_workload_is_ensured_proved_entered_stopped_and_removed_by_the_same_engine() {
    let containers = Arc::new(Containers { calls: Mutex::default(), fails_to_prove: false });
    let world = World::new(|host| {
        let mut workloads = of_sim(host);
        workloads.register(&[Shape::Container], Arc::clone(&containers));
        workloads
    })
    .await;
    // Beside a login on the same host, whose tasks it never sees.
    let login = world.perform("allocation-l", 1, ensure(Shape::GpuSlice, "l")).await;
    assert!(matches!(login, Outcome::Done { result: Done::Proof { .. } }), "{login:?}");
    let container = WorkloadRef::login(Shape::Container, "c");
    let Outcome::Done { result: Done::Proof { self_test, stages, .. } } =
        world.perform("allocation-c", 1, ensure(Shape::Container, "c")).await
    else {
        panic!("no proof")
    };
    let steps: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!((self_test.detail.as_str(), steps), ("it starts", vec!["pull_image", "start_container"]));
    let verb = Verb::EnsureKeys { workload: container.clone(), keys: vec![] };
    let keys = world.perform("allocation-c", 2, verb).await;
    assert_eq!(keys, Outcome::Done { result: Done::Keys { count: 0 } });
    assert_eq!(containers.calls(), ["ensure c", "prove c", "open c", "keys c"]);

    let grant = world.grant(container.clone(), Kind::Exec { command: "inside".into() });
    let mut stream = world.gateway.open(&world.plane, &grant).await.unwrap();
    assert_eq!(stream.rest().await.0, b"container c: inside\n");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let grant = world.grant(container.clone(), Kind::Tcp { port });
    let mut stream = world.gateway.open(&world.plane, &grant).await.unwrap();
    let (mut socket, _) = listener.accept().await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut socket, b"from the port").await.unwrap();
    assert_eq!(stream.raw().await, Some(Bytes::from_static(b"from the port")));
    drop((stream, socket));

    let verb = Verb::EnsureStopped { workload: container.clone(), gpus: vec![] };
    let stopped = world.perform("allocation-c", 3, verb).await;
    assert!(matches!(stopped, Outcome::Done { result: Done::Evidence { home_removed: false, .. } }), "{stopped:?}");
    let verb = Verb::EnsureGone { workload: container, gpus: vec![], isolation: Isolation::UserRevoke };
    let gone = world.perform("allocation-c", 4, verb).await;
    assert!(matches!(gone, Outcome::Done { result: Done::Evidence { home_removed: true, .. } }), "{gone:?}");
    world.perform("node", 1, Verb::EnsureSanitized {}).await;
    assert_eq!(containers.calls(), ["stop c", "remove c", "wiped host"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn workload_that_is_not_proved_is_closed_and_never_opened() {
    let containers = Arc::new(Containers { calls: Mutex::default(), fails_to_prove: true });
    let world = World::new(|_| {
        let mut workloads = Workloads::default();
        workloads.register(&[Shape::Container], Arc::clone(&containers));
        workloads
    })
    .await;
    let outcome = world.perform("allocation-c", 1, ensure(Shape::Container, "c")).await;
    let Outcome::Failed { step, code, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!((step.as_str(), code.as_str()), ("start_container", "self_test"));
    assert_eq!(containers.calls(), ["ensure c", "prove c", "close c"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn unregistered_workload_is_refused_with_what_to_do() {
    let containers = Arc::new(Containers { calls: Mutex::default(), fails_to_prove: false });
    let world = World::new(|_| {
        let mut workloads = Workloads::default();
        workloads.register(&[Shape::Container], Arc::clone(&containers));
        workloads
    })
    .await;
    let slice = WorkloadRef::login(Shape::MigSlice, "m");
    let verbs = [
        ensure(Shape::MigSlice, "m"),
        Verb::EnsureKeys { workload: slice.clone(), keys: vec![] },
        Verb::EnsureStopped { workload: slice.clone(), gpus: vec![] },
        Verb::EnsureGone { workload: slice.clone(), gpus: vec![], isolation: Isolation::UserRevoke },
    ];
    for (version, verb) in (1..).zip(verbs) {
        let name = verb.name();
        let outcome = world.perform("allocation-m", version, verb).await;
        let Outcome::Failed { code, detail, retryable, .. } = outcome else { panic!("{name}: {outcome:?}") };
        assert_eq!((code.as_str(), retryable), ("unsupported_workload", false), "{name}");
        assert!(detail.contains("it runs login for container: place the allocation on another host"), "{detail}");
    }
    let refused = world.gateway.open(&world.plane, &world.grant(slice, Kind::File)).await.err().unwrap();
    assert_eq!((refused.0, refused.1.code.as_str()), (422, refusals::UNSUPPORTED));
    assert!(refused.1.advice.contains("a host that runs this workload"), "{:?}", refused.1);
    assert!(containers.calls().is_empty(), "nobody else is asked in its place");
}

#[tokio::test(flavor = "multi_thread")]
async fn simulated_host_runs_every_workload_in_every_shape() {
    let plane = Plane::start().await;
    let fleet = Fleet::start(plane.sim(1)).await.unwrap();
    let node = fleet.node(0).id().unwrap();
    for shape in Shape::ALL {
        let (user, resource) = (format!("u-{shape}").replace('_', "-"), format!("allocation-{shape}"));
        let workload = WorkloadRef::login(*shape, &user);
        let verbs = [
            ensure(*shape, &user),
            Verb::EnsureKeys { workload: workload.clone(), keys: vec![] },
            Verb::EnsureStopped { workload: workload.clone(), gpus: vec![] },
            Verb::EnsureGone { workload, gpus: vec![], isolation: Isolation::UserRevoke },
        ];
        for (version, verb) in (1..).zip(verbs) {
            let name = verb.name();
            let task = plane.deliver(plane.task(&node, &resource, version, verb));
            let outcome = eventually("a report", || plane.report_of(task)).await.outcome;
            assert!(matches!(outcome, Outcome::Done { .. }), "{shape} {name}: {outcome:?}");
            assert_eq!(fleet.node(0).logins().contains_key(&user), name != "ensure_gone");
        }
    }
}
