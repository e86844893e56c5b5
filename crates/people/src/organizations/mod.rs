//! Organizations: the tenants. Everything that is owned is owned by one.

pub mod lifecycle;
mod routes;
mod store;

pub use store::{get, insert as add, lock, share_states};

use crate::PeopleArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.lifecycle::<lifecycle::OrganizationLifecycle>();
    registry.retention(&["organizations"], Retention::Forever("invoices and audit entries name it after it closed"));
}
