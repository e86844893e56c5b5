//! The ways in: tickets, sessions, recordings, certificates, and what gateways ask.

pub mod access_sessions;
pub mod access_tickets;
pub mod gateway_api;
pub mod recordings;
pub mod ssh_certificates;

use std::{ops::Deref, sync::Arc};

use fleet::FleetArea;
use platform::{Platform, ports::recording_store::RecordingStore, registry::Registry};

/// What the handlers of the area can reach.
pub struct AccessArea {
    pub platform: Arc<Platform>,
    pub fleet: Arc<FleetArea>,
    /// Where recordings are kept, when that is configured.
    pub recordings: Option<Arc<dyn RecordingStore>>,
    /// Downloads of recordings under way here.
    pub downloads: recordings::Downloads,
}

impl Deref for AccessArea {
    type Target = Platform;

    fn deref(&self) -> &Platform {
        &self.platform
    }
}

/// Everything that the area's resources register.
pub fn registry() -> Registry<AccessArea> {
    let mut registry = Registry::default();
    access_sessions::register(&mut registry);
    access_tickets::register(&mut registry);
    gateway_api::register(&mut registry);
    recordings::register(&mut registry);
    ssh_certificates::register(&mut registry);
    registry
}
