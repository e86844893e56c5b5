//! Usage as people ask for it: how long GPUs ran and what it came to, in any
//! period and cut any way. The marks themselves are written by the database.

mod cost;
mod export;
mod others;
mod routes;
mod store;

use crate::MoneyArea;
use kernel::machine::ParentEnd;
use platform::registry::Registry;

pub fn register(registry: &mut Registry<MoneyArea>) {
    registry.table("usage", ParentEnd::Stays("the record of money"));
}
