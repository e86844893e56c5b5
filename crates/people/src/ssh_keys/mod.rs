//! SSH keys: a person's public keys, which their allocations let in. Reading
//! what a key says of itself is in `blob`, proof that somebody holds one in `proof`.

mod blob;
mod proof;
mod routes;
mod signature;
mod store;

pub use blob::fingerprint;
pub use store::{chosen, forget, holder};

use crate::PeopleArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.retention(&["ssh_keys"], Retention::Removed("by whom they belong to, and when the person is erased"));
}
