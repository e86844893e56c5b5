//! Billing profiles: what is printed about who sells and who buys.

mod routes;
mod store;

pub use store::{of, seller};

use crate::MoneyArea;
use kernel::machine::ParentEnd;
use platform::registry::Registry;

pub fn register(registry: &mut Registry<MoneyArea>) {
    registry.table("billing_profiles", ParentEnd::Stays("the last invoice needs it"));
}
