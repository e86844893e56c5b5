//! The audit log as people read and prove it.

mod routes;
mod store;
