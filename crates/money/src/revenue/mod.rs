//! What the platform earned, and how much of what is there was sold. It reads
//! the books, usage and nodes, and writes nothing.

mod routes;
mod store;

use crate::MoneyArea;
use platform::registry::Registry;

pub fn register(_: &mut Registry<MoneyArea>) {}
