//! Quotas: how many GPUs of a SKU an organization may hold at once. Who asks
//! for GPUs is held to them elsewhere; they are set and read here.

mod routes;
mod store;

pub use store::limit;
