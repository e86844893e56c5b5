//! A scripted MAAS server: the documented 2.0 API over HTTP, with machines that
//! take time to install and to erase, and that really start their user-data.

mod api;
mod boot;
mod machines;

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

pub use boot::{Instructions, boot, read_instructions};
use machines::Machine;
pub use machines::{AllocatedMachine, Status};

/// The key of the only user, as MAAS shows it.
pub const KEY: &str = "consumerkey:tokenkey:tokensecret"; // secret-scan: allow

/// What a call is answered with instead, or how late.
#[derive(Debug, Clone)]
pub enum InjectedFault {
    /// Nothing happens, and this is the answer.
    Refuse { status: u16, text: &'static str, retry_after: Option<u64> },
    /// It happens, and the answer is lost.
    LoseAnswer,
    /// It happens after so long.
    Slow(Duration),
}

/// What goes wrong with a machine the next time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    DeployFails,
    EraseFails,
    /// It is installed, but its user-data does nothing.
    NeverEnrolls,
}

#[derive(Debug, Clone, Copy)]
pub struct Pace {
    pub deploy: Duration,
    pub erase: Duration,
    pub release: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        let brief = Duration::from_millis(30);
        Self { deploy: brief, erase: brief, release: brief }
    }
}

pub struct Maas {
    /// Up to and including `/MAAS`.
    pub url: String,
    shared: Arc<Shared>,
    running: JoinHandle<()>,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    pace: Pace,
    stop: CancellationToken,
}

#[derive(Default)]
pub(crate) struct State {
    machines: BTreeMap<String, Machine>,
    calls: BTreeMap<String, usize>,
    injected: BTreeMap<String, Vec<InjectedFault>>,
    faults: Vec<(String, Fault)>,
    nonces: HashSet<String>,
    taken: Vec<AllocatedMachine>,
    /// Why user-data failed, by machine.
    complaints: Vec<String>,
}

impl Maas {
    pub async fn start(pace: Pace) -> Maas {
        let shared = Arc::new(Shared { state: Mutex::default(), pace, stop: CancellationToken::new() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/MAAS", listener.local_addr().unwrap());
        let router = api::router(shared.clone());
        let running = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Maas { url, shared, running }
    }

    /// A machine that was commissioned and is free.
    pub fn ready(&self, system_id: &str, tags: &[&str]) {
        let machine = Machine::new(system_id, Status::Ready, tags);
        self.shared.lock().machines.insert(system_id.to_owned(), machine);
    }

    /// Sets what a machine is, as somebody at the console of MAAS would.
    pub fn set(&self, system_id: &str, status: Status, owner: Option<&str>) {
        let mut state = self.shared.lock();
        let machine = state.machines.get_mut(system_id).unwrap();
        machine.stop();
        (machine.status, machine.owner) = (status, owner.map(str::to_owned));
        machine.agent_name.clear();
    }

    pub fn remove(&self, system_id: &str) {
        if let Some(mut machine) = self.shared.lock().machines.remove(system_id) {
            machine.stop();
        }
    }

    pub fn status(&self, system_id: &str) -> Status {
        self.shared.lock().machines[system_id].status
    }

    /// How often an operation was called: `list`, `get`, `allocate`, …
    pub fn calls(&self, operation: &str) -> usize {
        self.shared.lock().calls.get(operation).copied().unwrap_or_default()
    }

    pub fn is_on(&self, system_id: &str) -> bool {
        self.shared.lock().machines.get(system_id).is_some_and(|it| it.is_on)
    }

    /// The next call of this operation meets this.
    pub fn inject(&self, operation: &str, fault: InjectedFault) {
        self.shared.lock().injected.entry(operation.to_owned()).or_default().push(fault);
    }

    pub fn clear_faults(&self) {
        self.shared.lock().injected.clear();
    }

    pub fn fault(&self, system_id: &str, fault: Fault) {
        self.shared.lock().faults.push((system_id.to_owned(), fault));
    }

    /// Every allocation that ever happened, in order.
    pub fn taken(&self) -> Vec<AllocatedMachine> {
        self.shared.lock().taken.clone()
    }

    /// The machines that are held under a name.
    pub fn held(&self, holder: &str) -> Vec<String> {
        let state = self.shared.lock();
        let held = state.machines.values().filter(|it| it.agent_name == holder);
        held.map(|it| it.system_id.clone()).collect()
    }

    /// The user-data of the last install.
    pub fn user_data(&self, system_id: &str) -> Option<String> {
        self.shared.lock().machines[system_id].user_data.clone()
    }

    /// Every status that the machine had.
    pub fn history(&self, system_id: &str) -> Vec<Status> {
        self.shared.lock().machines[system_id].history.clone()
    }

    pub fn complaints(&self) -> Vec<String> {
        self.shared.lock().complaints.clone()
    }
}

impl Drop for Maas {
    fn drop(&mut self) {
        self.shared.stop.cancel();
        self.running.abort();
    }
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}
