//! What every area of the control plane stands on: the gates in `http`, callers
//! in `identity`, policies, events, and the registry in which a resource says
//! everything about itself. It knows no resource of another area.

pub mod audit;
pub mod caches;
pub mod config;
pub mod dead_letters;
pub mod events;
pub mod forget;
pub mod four_eyes;
pub mod http;
pub mod identity;
pub mod lanes;
pub mod policies;
pub mod ports;
pub mod problems;
pub mod registry;
pub mod rows;
pub mod telemetry;
pub mod work;

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
    registry::Retention,
};

/// What the handlers of every area can reach.
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
    pub meters: Vec<&'static registry::Meter>,
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

/// Everything that the platform's own resources register.
pub fn registry() -> registry::Registry<Platform> {
    let mut registry = registry::Registry::default();
    audit::register(&mut registry);
    dead_letters::register(&mut registry);
    events::register(&mut registry);
    four_eyes::register(&mut registry);
    identity::register(&mut registry);
    policies::register(&mut registry);
    work::register(&mut registry);
    registry.retention(&["legal_moves"], Retention::Removed("replaced at the next start when a lifecycle changes"));
    registry.retention(&["installation"], Retention::Forever("one row"));
    registry.retention(&["secrets"], Retention::Forever("signatures of retired keys are still verified"));
    registry
}
