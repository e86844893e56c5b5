//! What people rent: allocations, where they are placed, and quotas.

pub mod allocations;
pub mod placement;
pub mod quotas;

use std::{ops::Deref, sync::Arc};

use fleet::FleetArea;
use platform::{Platform, registry::Registry};

/// What the handlers of the area can reach.
pub struct ComputeArea {
    pub platform: Arc<Platform>,
    pub fleet: Arc<FleetArea>,
    /// This process's picture of the fleet.
    pub placement: placement::Placement,
}

impl Deref for ComputeArea {
    type Target = Platform;

    fn deref(&self) -> &Platform {
        &self.platform
    }
}

/// Everything that the area's resources register.
pub fn registry() -> Registry<ComputeArea> {
    let mut registry = Registry::default();
    allocations::register(&mut registry);
    placement::register(&mut registry);
    quotas::register(&mut registry);
    registry
}
