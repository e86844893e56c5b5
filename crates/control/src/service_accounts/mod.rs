//! Service accounts: programs that act in an organization under a role.

mod routes;
mod store;

pub use store::get as find;
