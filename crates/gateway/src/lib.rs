//! The gateway: where people come in. Browsers, command lines and SSH clients
//! speak to it, agents keep a connection to it, and it joins the two. It holds no
//! keys that sign and sees no tables: what may be opened it asks the control plane.

pub mod agents;
mod beat;
pub mod control;
pub mod identity;
mod leaving;
mod ops;
pub mod public;
pub mod recorder;
pub mod sessions;
pub mod settings;
pub mod ssh;
pub mod web;

pub use settings::{Listeners, Settings, TlsFiles};

use agents::{AgentsTls, Hub};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use control::{Control, ControlError};
use identity::{Folder, Identity, IdentityError};
use leaving::Departures;
use sessions::Sessions;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use trust::{ControlClock, Trust, TrustError};

#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error("this gateway has not joined; run `gpuaasd gateway join` with a token first")]
    NotJoined,
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(transparent)]
    Pair(#[from] trust::PairError),
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error("the listener for hosts cannot use its certificate")]
    Tls(#[from] agents::TlsError),
    #[error(transparent)]
    Public(#[from] public::TlsError),
    #[error(transparent)]
    Ssh(#[from] ssh::HostKeyError),
}

/// What the parts of a gateway share.
pub struct Gateway {
    pub settings: Settings,
    pub id: String,
    /// Counts the starts of this gateway.
    pub generation: u64,
    pub clock: ControlClock,
    pub control: Control,
    pub hub: Hub,
    pub sessions: Sessions,
    /// Everybody goes when it is canceled.
    pub stop: CancellationToken,
    pub spool: recorder::Spool,
    /// Nobody is left.
    pub(crate) finished: CancellationToken,
    /// Whether the control plane answered the last beat.
    pub(crate) is_heard: AtomicBool,
    pub(crate) failures: public::Failures,
    pub(crate) forwards: public::Forwards,
    pub(crate) visits: web::Visits,
    pub(crate) leavings: Departures,
    folder: Folder,
    identity: Mutex<Identity>,
    agents_tls: AgentsTls,
    /// What SSH clients are shown.
    ssh_host_key: ssh::HostKey,
}

impl Gateway {
    fn new(settings: Settings, stop: CancellationToken) -> Result<Arc<Self>, GatewayError> {
        let folder = Folder::open(&settings.folder)?;
        let identity = folder.identity()?.ok_or(GatewayError::NotJoined)?;
        let clock = ControlClock::default();
        let tls = Trust::in_roots(&identity.roots)?.identified(&identity.pair, &clock)?;
        let control = Control::new(&identity.url, tls)?;
        let agents_tls = AgentsTls::new(&identity, &clock)?;
        let ssh_host_key = ssh::HostKey::open(&folder)?;
        let generation = folder.next_generation()?;
        let spool = recorder::Spool::new(folder.spool(), settings.spool_bytes);
        Ok(Arc::new(Self {
            settings,
            id: identity.gateway_id.clone(),
            generation,
            clock,
            control,
            hub: Hub::default(),
            sessions: Sessions::default(),
            stop,
            spool,
            finished: CancellationToken::new(),
            is_heard: AtomicBool::new(false),
            failures: public::Failures::default(),
            forwards: public::Forwards::default(),
            visits: web::Visits::default(),
            leavings: Departures::default(),
            folder,
            identity: Mutex::new(identity),
            agents_tls,
            ssh_host_key,
        }))
    }

    /// Who this gateway is now.
    pub fn identity(&self) -> Identity {
        locked(&self.identity).clone()
    }

    /// Keeps a renewed identity and shows it from the next connection on.
    fn become_renewed(&self, renewed: Identity) -> Result<(), GatewayError> {
        // What cannot be used must not replace what was there.
        let tls = Trust::in_roots(&renewed.roots)?.identified(&renewed.pair, &self.clock)?;
        self.agents_tls.follow(&renewed)?;
        self.folder.save_identity(&renewed)?;
        self.control.identify(tls);
        *locked(&self.identity) = renewed;
        Ok(())
    }
}

/// Serves until stopped; then tells everybody to come back through another gateway.
pub async fn run(settings: Settings, listeners: Listeners, stop: CancellationToken) -> Result<(), GatewayError> {
    let gateway = Gateway::new(settings, stop)?;
    let public_tls = public::tls(&gateway.settings)?;
    let ssh = listeners.ssh.map(|listener| (listener, gateway.ssh_host_key.config()));
    tracing::info!(gateway = %gateway.id, generation = gateway.generation, "the gateway is starting");
    let mut tasks = JoinSet::new();
    tasks.spawn(agents::serve(gateway.clone(), listeners.agents));
    tasks.spawn(beat::run(gateway.clone()));
    recorder::recover(gateway.clone()).await;
    if let Some(listener) = listeners.ops {
        tasks.spawn(ops::serve(gateway.clone(), listener));
    }
    let ssh = async {
        if let Some((listener, config)) = ssh {
            ssh::serve(gateway.clone(), listener, config).await;
        }
    };
    tokio::join!(public::serve(gateway.clone(), listeners.public, public_tls), ssh);
    gateway.visits.clear();
    gateway.finished.cancel();
    while tasks.join_next().await.is_some() {}
    gateway.leavings.finish().await;
    Ok(())
}

/// A panic elsewhere does not make the data unreadable: every change is one step.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error with everything that led to it.
pub(crate) fn complete_error(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// 256 bits that nobody can guess, in characters that fit everywhere.
pub(crate) fn secret() -> String {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).expect("the operating system gives randomness");
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}
