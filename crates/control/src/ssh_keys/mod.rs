//! SSH keys: a person's public keys, which their allocations let in. Reading
//! what a key says of itself is in `blob`.

mod blob;
mod routes;
mod store;

pub use blob::fingerprint;
pub use store::{forget, holders, lines};
