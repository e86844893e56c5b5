//! Billing profiles: what is printed about who sells and who buys.

mod routes;
mod store;

pub use store::{of, seller};
