//! Usage as people ask for it: what was metered and what it came to, in any
//! period and divided any way. The marks themselves are written by `metering`.

mod cost;
mod export;
mod others;
mod routes;
mod store;

use crate::MoneyArea;
use platform::registry::Registry;

pub fn register(_: &mut Registry<MoneyArea>) {}
