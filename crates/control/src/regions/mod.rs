//! Regions: places that capacity is in. They are only ever added.

mod routes;
mod store;

pub use store::{by_name, insert as add};
