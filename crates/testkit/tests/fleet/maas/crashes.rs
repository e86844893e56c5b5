//! The worker dies at every step of a machine's way into service and back: the
//! machine ends in service, or failed and shown; none is taken twice or lost.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use contract::machines::MachineState;
use fleet::{machines::MachineReconciler, nodes::NodeReconciler, providers::ProviderReconciler};
use futures_util::future::BoxFuture;
use gpuaasd::{adapters::maas::MaasConnector, control_plane::ControlPlane, roles};
use kernel::{
    Tx,
    work::{Next, Reconciler, Workers},
};
use platform::ports::metal::{
    Install, MachineRequirements, MetalAccess, MetalConnector, MetalError, MetalFilter, MetalMachine, MetalProvider,
    Power,
};
use tokio::sync::Notify;

use super::{Erase, KEY, NodeId, Site};

/// Where the worker shall die, the how-manyth time it comes there.
#[derive(Clone, Default)]
struct Points {
    armed: Arc<Mutex<Option<(String, usize)>>>,
    died: Arc<Notify>,
    /// What the machines were when the worker died.
    during: Arc<Mutex<String>>,
}

impl Points {
    fn arm(&self, point: &str, nth: usize) {
        *self.armed.lock().unwrap() = Some((point.to_owned(), nth));
    }

    fn is_armed(&self) -> bool {
        self.armed.lock().unwrap().is_some()
    }

    /// Comes back unless this is the point: then never.
    async fn pass(&self, point: &str) {
        let dies = {
            let mut armed = self.armed.lock().unwrap();
            match armed.as_mut() {
                Some((name, nth)) if name == point => {
                    *nth -= 1;
                    *nth == 0
                }
                _ => false,
            }
        };
        if dies {
            *self.armed.lock().unwrap() = None;
            self.died.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

struct Mortal {
    connector: MaasConnector,
    points: Points,
}

struct MortalMetal {
    metal: Arc<dyn MetalProvider>,
    points: Points,
}

impl MetalConnector for Mortal {
    fn is_api_key(&self, text: &str) -> bool {
        self.connector.is_api_key(text)
    }

    fn connect(&self, access: &MetalAccess) -> Result<Arc<dyn MetalProvider>, MetalError> {
        let metal = self.connector.connect(access)?;
        Ok(Arc::new(MortalMetal { metal, points: self.points.clone() }))
    }
}

impl MortalMetal {
    async fn around<T>(&self, name: &str, call: impl Future<Output = T>) -> T {
        self.points.pass(&format!("before {name}")).await;
        let answer = call.await;
        self.points.pass(&format!("after {name}")).await;
        answer
    }
}

impl MetalProvider for MortalMetal {
    fn list<'a>(&'a self, filter: &'a MetalFilter) -> BoxFuture<'a, Result<Vec<MetalMachine>, MetalError>> {
        Box::pin(self.around("list", self.metal.list(filter)))
    }
    fn get<'a>(&'a self, system_id: &'a str) -> BoxFuture<'a, Result<Option<MetalMachine>, MetalError>> {
        Box::pin(self.around("get", self.metal.get(system_id)))
    }
    fn allocate<'a>(&'a self, wish: &'a MachineRequirements) -> BoxFuture<'a, Result<MetalMachine, MetalError>> {
        Box::pin(self.around("allocate", self.metal.allocate(wish)))
    }
    fn install<'a>(&'a self, id: &'a str, install: &'a Install) -> BoxFuture<'a, Result<MetalMachine, MetalError>> {
        Box::pin(self.around("install", self.metal.install(id, install)))
    }
    fn release<'a>(
        &'a self,
        id: &'a str,
        erase: Erase,
        comment: &'a str,
    ) -> BoxFuture<'a, Result<MetalMachine, MetalError>> {
        Box::pin(self.around("release", self.metal.release(id, erase, comment)))
    }
    fn power_on<'a>(&'a self, system_id: &'a str) -> BoxFuture<'a, Result<(), MetalError>> {
        self.metal.power_on(system_id)
    }
    fn power_off<'a>(&'a self, system_id: &'a str) -> BoxFuture<'a, Result<(), MetalError>> {
        self.metal.power_off(system_id)
    }
    fn power<'a>(&'a self, system_id: &'a str) -> BoxFuture<'a, Result<Power, MetalError>> {
        self.metal.power(system_id)
    }
}

/// A reconciler whose visits can end between acting and committing.
struct Dying<R> {
    inner: R,
    points: Points,
}

impl<R: Reconciler> Reconciler for Dying<R> {
    const KIND: &'static str = R::KIND;
    const LANE: kernel::work::Lane = R::LANE;
    type Snapshot = R::Snapshot;
    type Observation = R::Observation;
    type Verdict = R::Verdict;
    type Error = R::Error;

    async fn load(&self, tx: &mut Tx, id: uuid::Uuid) -> Result<Option<R::Snapshot>, R::Error> {
        self.inner.load(tx, id).await
    }
    async fn act(&self, seen: &R::Snapshot) -> Result<R::Observation, R::Error> {
        self.inner.act(seen).await
    }
    fn decide(&self, seen: &R::Snapshot, found: R::Observation) -> R::Verdict {
        self.inner.decide(seen, found)
    }
    async fn apply(&self, tx: &mut Tx, seen: R::Snapshot, verdict: R::Verdict) -> Result<Next, R::Error> {
        let next = self.inner.apply(tx, seen, verdict).await?;
        self.points.pass(&format!("before the commit of a {} visit", R::KIND)).await;
        Ok(next)
    }
    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<uuid::Uuid>> {
        self.inner.overdue(tx, limit).await
    }
}

fn workers(control_plane: &ControlPlane, points: &Points) -> Workers {
    let connector: Arc<dyn MetalConnector> =
        Arc::new(Mortal { connector: MaasConnector::new(control_plane.db.clock.clone()), points: points.clone() });
    let machines = MachineReconciler {
        connector: connector.clone(),
        keyring: control_plane.keyring.clone(),
        policies: control_plane.policies.clone(),
        ca: control_plane.fleet.ca.clone(),
        node_url: control_plane.config.node.url.clone(),
    };
    let providers = ProviderReconciler {
        connector,
        keyring: control_plane.keyring.clone(),
        policies: control_plane.policies.clone(),
    };
    let mut workers = Workers::default();
    workers.add(Dying { inner: machines, points: points.clone() });
    workers.add(Dying { inner: providers, points: points.clone() });
    workers
        .add(NodeReconciler { signer: control_plane.fleet.signer.clone(), policies: control_plane.policies.clone() });
    workers
}

/// Works until nothing is due; a worker that dies is followed by another after its lease.
async fn work(site: &Site, points: &Points) {
    let control_plane = site.fleet.world.server.control_plane.clone();
    let settings = roles::work_settings(&control_plane);
    let worker = tokio::spawn({
        let points = points.clone();
        let control_plane = control_plane.clone();
        async move { workers(&control_plane, &points).settle(&control_plane.db, settings).await.unwrap() }
    });
    let abort = worker.abort_handle();
    tokio::select! {
        done = worker => { done.unwrap(); }
        () = points.died.notified() => {
            abort.abort();
            let states: Vec<String> = site.machines().await.iter().map(|it| it.state.to_string()).collect();
            let states = if states.is_empty() { "nothing known".into() } else { states.join(" and ") };
            *points.during.lock().unwrap() = states;
            site.fleet.advance(settings.lease + Duration::from_secs(1));
        }
    }
}

async fn until(site: &Site, points: &Points, is_over: impl AsyncFn() -> bool) {
    for _ in 0..1_000 {
        work(site, points).await;
        if is_over().await {
            return;
        }
        site.fleet.advance(Duration::from_secs(5));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never ended: {:?}, {:?}", site.machines().await, site.maas.complaints());
}

async fn ended(site: &Site) -> Option<(MachineState, Option<NodeId>)> {
    let machines = site.machines().await;
    let serving = machines.iter().find(|it| it.state == MachineState::InService);
    let failed = machines.iter().find(|it| it.state == MachineState::Failed);
    match (serving, failed) {
        (Some(it), _) => Some((MachineState::InService, it.node_id)),
        (None, Some(it)) => Some((MachineState::Failed, it.node_id)),
        (None, None) => None,
    }
}

async fn one_crash(point: &str, nth: usize) -> bool {
    let site = Site::with(KEY, 1, &["a1", "a2"]).await;
    let points = Points::default();
    points.arm(point, nth);
    until(&site, &points, async || ended(&site).await.is_some()).await;
    let (state, node) = ended(&site).await.unwrap();
    assert_eq!(state, MachineState::InService, "{:?}", site.machines().await);
    let node = node.unwrap();
    until(&site, &points, async || site.fleet.state(node).await.0 == "ready").await;
    site.sanitize(node).await;
    until(&site, &points, async || site.fleet.state(node).await.0 == "ready").await;
    let (state, again) = ended(&site).await.unwrap();
    assert_eq!((state, again), (MachineState::InService, Some(node)));
    let taken = site.maas.taken();
    let first = taken[0].system_id.clone();
    assert!(taken.iter().all(|it| it.system_id == first), "a second machine was taken: {taken:?}");
    assert_eq!(site.maas.held(&site.holder()), [first], "exactly what serves is held");
    let has_died = !points.is_armed();
    let (where_, calls) = (format!("{point}, time {nth}, while {}", points.during.lock().unwrap()), taken.len());
    if has_died {
        println!("died {where_}: in service, erased and in service again; allocated {calls} times, one machine");
    }
    has_died
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_dies_at_any_step_neither_loses_a_machine_nor_takes_two() {
    let steps: &[(&str, &[usize])] = &[
        ("before list", &[1, 3]),
        ("after list", &[1, 2]),
        ("before get", &[1, 2]),
        ("after get", &[1, 2, 5]),
        ("before allocate", &[1, 2]),
        ("after allocate", &[1, 2]),
        ("before install", &[1, 2]),
        ("after install", &[1, 2]),
        ("before release", &[1]),
        ("after release", &[1]),
        ("before the commit of a provider visit", &[1, 2]),
        ("before the commit of a machine visit", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
    ];
    let mut died = 0;
    for (point, times) in steps {
        for nth in *times {
            died += usize::from(one_crash(point, *nth).await);
        }
    }
    assert!(died >= 26, "only {died} of the steps were reached");
}
