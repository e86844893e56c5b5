//! What the handlers of every area can reach.

use std::{ops::Deref, sync::Arc, time::Duration};

use kernel::{Db, bus::BoxFuture, secrets::Keyring};
use tokio_util::sync::CancellationToken;

use crate::{
    caches::Caches,
    config::Config,
    events::Feed,
    http::{Readiness, Refusals, Turns, limiter::Limiter},
    identity::{Recognizer, signing::Signing},
    policies::Policies,
    registry::Meter,
};

pub struct Platform {
    pub config: Config,
    pub db: Db,
    pub keyring: Arc<Keyring>,
    pub policies: Policies,
    pub signing: Signing,
    pub recognizer: Recognizer,
    pub limiter: Limiter,
    pub turns: Turns,
    pub refusals: Refusals,
    pub readiness: Readiness,
    pub feed: Feed,
    /// What this process caches, and which events make it stale.
    pub caches: Caches,
    /// What is charged for, in all areas.
    pub meters: Vec<&'static Meter>,
    /// What this process depends on.
    pub probes: Vec<Arc<dyn Probe>>,
    /// Canceled when the process is asked to stop.
    pub stopping: CancellationToken,
}

/// The context of an area's handlers: the platform, and what the area adds.
pub trait Area: Send + Sync + 'static {
    fn platform(&self) -> &Platform;
}

impl Area for Platform {
    fn platform(&self) -> &Platform {
        self
    }
}

impl<T: Deref<Target = Platform> + Send + Sync + 'static> Area for T {
    fn platform(&self) -> &Platform {
        self
    }
}

/// Something outside that this process depends on.
pub trait Probe: Send + Sync {
    fn name(&self) -> &'static str;
    /// Without it requests fail. Without the others news is late or limits
    /// are counted apart, and taking the process out of service would be worse.
    fn is_vital(&self) -> bool;
    /// Whether it answers; the error says what that means.
    fn check(&self, patience: Duration) -> BoxFuture<'_, Result<(), String>>;
}
