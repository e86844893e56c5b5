//! One pretended host of a fleet, and the handle by which a test plays with it.

use super::host::{SimHardware, SimHost, SimLogin};
use super::script::Script;
use super::workloads::of_sim;
use super::{FleetError, SimConfig};
use crate::enroll::enroll;
use crate::host::Host;
use crate::identity::Identity;
use crate::journal::{Bounds, Journal};
use crate::locked;
use crate::poll::{Agent, Keep, Start};
use crate::state::{StateError, StateFolder};
use crate::streams::Sessions;
use protocol::HealthEvent;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use trust::{PendingRequest, Trust};

pub(super) struct Node {
    pub name: String,
    host: Arc<SimHost>,
    journal: Arc<Mutex<Journal>>,
    folder: Option<StateFolder>,
    voice: watch::Sender<bool>,
    /// Follows the renewals of the agent that runs.
    identity: Arc<Mutex<Option<Identity>>>,
    running: Mutex<Running>,
}

#[derive(Default)]
struct Running {
    generation: u64,
    stop: CancellationToken,
    sessions: Option<Sessions>,
}

impl Node {
    pub fn new(config: &SimConfig, at: usize) -> Result<Self, FleetError> {
        let name = format!("{}-{:04}", config.name, at + 1);
        let hardware = SimHardware {
            name: name.clone(),
            gpus: config.gpus_per_node,
            model: config.model.clone(),
            gpu_memory_bytes: config.gpu_memory_bytes,
        };
        let folder = config.data_dir.as_ref().map(|dir| StateFolder::open(&dir.join(&name))).transpose()?;
        let journal = match &folder {
            Some(folder) => Journal::open(&folder.journal(), Bounds::SIM)?,
            None => Journal::in_memory(Bounds::SIM),
        };
        Ok(Self {
            name,
            host: Arc::new(SimHost::new(hardware)),
            journal: Arc::new(Mutex::new(journal)),
            folder,
            voice: watch::Sender::new(true),
            identity: Arc::default(),
            running: Mutex::default(),
        })
    }

    /// The identity of an earlier start, or a new one for a token.
    pub async fn identify(&self, config: &SimConfig, trust: &Trust, at: usize) -> Result<(), FleetError> {
        let known = match self.folder.as_ref().map(StateFolder::identity) {
            Some(Ok(identity)) => Some(identity),
            Some(Err(StateError::NotEnrolled)) | None => None,
            Some(Err(error)) => return Err(error.into()),
        };
        let identity = match known {
            // The control plane may listen elsewhere today.
            Some(identity) => Identity { url: config.url.clone(), ..identity },
            None => {
                let token = match &config.tokens {
                    super::Tokens::List(tokens) => {
                        tokens.get(at).cloned().ok_or_else(|| FleetError::Token("not enough enrollment tokens".into()))
                    }
                    super::Tokens::Each(make) => make(at).await.map_err(FleetError::Token),
                }?;
                let inventory = self.host.inventory().await;
                let asked = match &self.folder {
                    Some(folder) => folder.asked()?,
                    None => PendingRequest::new().map_err(StateError::from)?,
                };
                enroll(&config.url, &token, trust, inventory, asked)
                    .await
                    .map_err(|source| FleetError::Enroll { node: self.name.clone(), source: Box::new(source) })?
            }
        };
        if let Some(folder) = &self.folder {
            folder.save_identity(&identity)?;
        }
        *locked(&self.identity) = Some(identity);
        Ok(())
    }

    /// Starts the agent; one that runs already is stopped first, as by a crash.
    pub fn start(&self, config: &SimConfig, trust: &Trust, all: &CancellationToken) -> Result<(), FleetError> {
        let mut running = locked(&self.running);
        let Some(identity) = locked(&self.identity).clone() else {
            return Err(FleetError::Token(format!("{} is not enrolled", self.name)));
        };
        running.stop.cancel();
        running.stop = all.child_token();
        running.generation = match &self.folder {
            Some(folder) => folder.next_generation()?,
            None => running.generation + 1,
        };
        let keep = Keep { folder: self.folder.clone(), identity: Some(Arc::clone(&self.identity)) };
        let agent = Agent::new(Start {
            // Roots may have been rotated since they were pinned.
            trust: (identity.roots.trim() == config.roots.trim()).then(|| trust.clone()),
            identity,
            generation: running.generation,
            host: Arc::clone(&self.host),
            workloads: of_sim(&self.host),
            journal: Arc::clone(&self.journal),
            keep,
            timing: config.timing,
            points: Arc::clone(&config.points),
            voice: Some(self.voice.subscribe()),
            guard: None,
            streams: config.serves_streams(),
        })?;
        running.sessions = Some(agent.engine().sessions().clone());
        tokio::spawn(agent.run(running.stop.clone()));
        Ok(())
    }
}

/// Plays with one node of a running fleet.
#[derive(Clone)]
pub struct NodeHandle {
    pub(super) node: Arc<Node>,
    pub(super) fleet: Arc<super::fleet::Shared>,
}

impl NodeHandle {
    pub fn name(&self) -> &str {
        &self.node.name
    }

    /// The id that the control plane gave it.
    pub fn id(&self) -> Option<String> {
        locked(&self.node.identity).as_ref().map(|identity| identity.node_id.clone())
    }

    /// Key, certificate and all, as a thief would have them.
    pub fn identity(&self) -> Option<Identity> {
        locked(&self.node.identity).clone()
    }

    /// The streams and shells of the agent that runs; none before its first start.
    pub fn sessions(&self) -> Option<Sessions> {
        locked(&self.node.running).sessions.clone()
    }

    /// Changes what goes wrong there from now on.
    pub fn script(&self, change: impl FnOnce(&mut Script)) {
        self.node.host.script(change);
    }

    /// Says nothing until [`NodeHandle::speak`]; running tasks run on.
    pub fn silence(&self) {
        self.node.voice.send_replace(false);
    }

    pub fn speak(&self) {
        self.node.voice.send_replace(true);
    }

    /// Silent and speaking in turns, until the fleet stops.
    pub fn flap(&self, every: Duration) {
        let (handle, stop) = (self.clone(), self.fleet.stop.clone());
        tokio::spawn(async move {
            while !stop.is_cancelled() {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(every) => {}
                }
                handle.node.voice.send_modify(|may_speak| *may_speak = !*may_speak);
            }
        });
    }

    /// Stops and starts it as after a crash: its journal stays, its generation grows.
    pub fn restart(&self) -> Result<(), FleetError> {
        self.node.start(&self.fleet.config, &self.fleet.trust, &self.fleet.stop)
    }

    /// Who may log in there, and with which GPUs.
    pub fn logins(&self) -> BTreeMap<String, SimLogin> {
        self.node.host.logins()
    }

    /// Removes every login by hand, as a person would who sees to the host.
    pub fn evict(&self) {
        self.node.host.evict();
    }

    /// Reports an event with the next poll.
    pub fn notice(&self, event: HealthEvent) {
        self.node.host.notice(event);
    }
}
