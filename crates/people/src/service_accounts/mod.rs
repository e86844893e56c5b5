//! Service accounts: programs that act in an organization under a role.

mod routes;
mod store;

pub use store::get as find;

use crate::PeopleArea;
use kernel::lifecycle::ParentEnd;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.table(
        "service_accounts",
        ParentEnd::Stays("members of a closed organization can only read, stop and release"),
    );
    registry.retention(&["service_accounts"], Retention::Forever("audit entries name it after it was deleted"));
}
