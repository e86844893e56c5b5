//! A scripted control plane for tests: real TLS, a real CA, the real messages.
#![allow(dead_code, clippy::unwrap_used)]

mod authority;
mod serve;

pub use authority::Authority;

use agent::sim::{SimConfig, Tokens};
use jiff::{SignedDuration, Timestamp};
use protocol::{Endorsement, PollRequest, Report, SignedTask, SigningKey, Task, TaskId, TaskKey, TrustVersion, Verb};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::Notify;

/// What the plane does next and what it saw.
pub struct State {
    pub tokens: HashSet<String>,
    pub nodes: usize,
    pub tasks: HashMap<String, Vec<Task>>,
    /// Delivered with every poll, whoever asks.
    pub raw: Vec<SignedTask>,
    pub reports: Vec<Report>,
    pub polls: Vec<(String, PollRequest)>,
    pub renewals: usize,
    /// Answers every poll with this problem.
    pub problem: Option<(u16, &'static str)>,
    pub keeps_reports: bool,
    pub asks_renewal: bool,
    pub wants_inventory: bool,
    pub epoch: i64,
    pub new_keys: Option<Vec<TaskKey>>,
    pub trust_version: TrustVersion,
    pub endorsements: Vec<Endorsement>,
    pub now: Timestamp,
    pub certificate_life: SignedDuration,
    pub agents: HashMap<String, Vec<u8>>,
    pub connections: usize,
    pub gateways: Vec<protocol::stream::GatewayRef>,
}

pub struct Plane {
    pub url: String,
    pub authority: Authority,
    pub key: SigningKey,
    pub shared: Arc<Shared>,
}

pub struct Shared {
    state: Mutex<State>,
    pub wake: Notify,
    pub authority: Authority,
    pub keys: Vec<TaskKey>,
}

impl Shared {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl Plane {
    pub async fn start() -> Self {
        Self::start_at("127.0.0.1:0").await
    }

    pub async fn start_at(address: &str) -> Self {
        let key = SigningKey::from_seed(&[9; 32]).unwrap();
        let authority = Authority::new();
        let now = Timestamp::now();
        let state = State {
            tokens: (0..10_000).map(|at| format!("token-{at}")).collect(),
            nodes: 0,
            tasks: HashMap::new(),
            raw: Vec::new(),
            reports: Vec::new(),
            polls: Vec::new(),
            renewals: 0,
            problem: None,
            keeps_reports: true,
            asks_renewal: false,
            wants_inventory: false,
            epoch: 1,
            new_keys: None,
            trust_version: TrustVersion::default(),
            endorsements: Vec::new(),
            now,
            certificate_life: SignedDuration::from_hours(24),
            agents: HashMap::new(),
            connections: 0,
            gateways: Vec::new(),
        };
        let (state, keys) = (Mutex::new(state), vec![key.public()]);
        let shared = Arc::new(Shared { state, wake: Notify::new(), authority: authority.clone(), keys });
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        tokio::spawn(serve::accept(listener, Arc::clone(&shared)));
        Self { url, authority, key, shared }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }

    pub fn wake(&self) {
        self.shared.wake.notify_waiters();
    }

    /// A task that is valid for five minutes.
    pub fn task(&self, node: &str, resource: &str, version: i64, verb: Verb) -> Task {
        let (now, epoch) = {
            let state = self.state();
            (state.now, state.epoch)
        };
        Task::new(node, resource, (epoch, version), (now, now + SignedDuration::from_mins(5)), verb)
    }

    /// Delivers a task with the node's next poll and until it is reported.
    pub fn deliver(&self, task: Task) -> TaskId {
        let id = task.id;
        self.state().tasks.entry(task.node.clone()).or_default().push(task);
        self.wake();
        id
    }

    pub fn report_of(&self, task: TaskId) -> Option<Report> {
        self.state().reports.iter().find(|report| report.task == task).cloned()
    }

    /// The configuration of a fast fleet that enrolls here.
    pub fn sim(&self, nodes: usize) -> SimConfig {
        let tokens = (0..nodes).map(|at| format!("token-{at}")).collect();
        let mut config = SimConfig::new(&self.url, &self.authority.roots, Tokens::List(tokens));
        config.nodes = nodes;
        config.timing = fast();
        config
    }
}

/// Everything happens sooner than on a host.
pub fn fast() -> agent::poll::Timing {
    let backoff = agent::backoff::Backoff { first: Duration::from_millis(20), longest: Duration::from_millis(100) };
    agent::poll::Timing {
        heartbeat: Duration::from_millis(500),
        sample_every: Duration::from_millis(100),
        backoff,
        slow_retry: Duration::from_millis(100),
        ..agent::poll::Timing::default()
    }
}

/// Asks until it is so, for at most twenty seconds.
pub async fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    for _ in 0..2000 {
        if let Some(answer) = ask() {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}
