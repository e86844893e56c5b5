//! Organizations: the tenants. Everything that is owned is owned by one.

pub mod lifecycle;
mod routes;
mod store;

pub use store::{get, insert as add, lock, share_state};

use crate::PeopleArea;
use platform::registry::Registry;

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.lifecycle::<lifecycle::Lifecycle>();
}
