//! Dead letters: events that a consumer kept failing on, delivered again a
//! bounded number of times, then shown until a person replays or discards them.

pub mod lifecycle;
mod reconcile;
mod routes;
mod store;

pub use reconcile::DeadLetterReconciler;

use crate::Platform;
use crate::registry::Registry;

pub fn register(registry: &mut Registry<Platform>) {
    registry.lifecycle::<lifecycle::DeadLetterLifecycle>();
}
