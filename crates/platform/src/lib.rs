//! What every area of the control plane stands on: the gates in `http`, callers
//! in `identity`, policies, events, and the registry in which a resource says
//! everything about itself. It knows no resource of another area.

pub mod audit;
pub mod caches;
pub mod config;
pub mod dead_letters;
pub mod events;
pub mod four_eyes;
pub mod http;
pub mod identity;
pub mod lanes;
mod platform;
pub mod policies;
pub mod ports;
pub mod problems;
pub mod registry;
pub mod rows;
pub mod telemetry;
pub mod work;

pub use platform::{Area, Platform, Probe};

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
    registry
}
