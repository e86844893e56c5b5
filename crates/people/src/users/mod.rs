//! People: their row, what they are to the platform, and what an account may do for them.

mod inside;
mod own;
mod store;

pub use inside::InsideSessions;
pub use own::lock_own;
pub use store::{
    Credentials, Subject, credentials, email, empty, get, insert, is_linked, is_of_another, is_proven, link, linked,
    list, lock, lock_operators, password_hash, prove, rename, set_address, set_password, set_platform_role,
    unset_password,
};

use crate::PeopleArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<PeopleArea>) {
    registry.retention(&["users"], Retention::Forever("an erased person stays as an id without a name"));
    registry.retention(&["identity_links"], Retention::Removed("when the person is erased"));
}
