//! Organizations: the tenants. Everything that is owned is owned by one.

pub mod lifecycle;
mod routes;
pub(crate) mod store;

pub use store::{insert as add, lock, share_state};
