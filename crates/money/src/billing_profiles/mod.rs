//! Billing profiles: what is printed about who sells and who buys.

mod routes;
mod store;

pub use store::{of, seller};

use crate::MoneyArea;
use kernel::lifecycle::ParentEnd;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<MoneyArea>) {
    registry.table("billing_profiles", ParentEnd::Stays("needed for the last invoice"));
    registry.retention(&["billing_profiles"], Retention::Forever("the last invoice needs it"));
}
