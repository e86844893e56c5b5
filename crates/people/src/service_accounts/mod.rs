//! Service accounts: programs that act in an organization under a role.

mod routes;
mod store;

pub use store::get as find;

use crate::PeopleArea;
use kernel::machine::ParentEnd;
use platform::registry::Registry;

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.table(
        "service_accounts",
        ParentEnd::Stays("members of a closed organization can only read, stop and release"),
    );
}
