//! People: their account, what they are to the platform, and their erasure.

mod erase;
mod inside;
mod proof;
mod routes;
mod store;

pub use inside::InsideSessions;
pub use proof::{evict, evict_all, lock_own, settle};
pub use routes::check_password;
pub use store::{
    Credentials, Subject, credentials, email, get, insert, is_linked, is_of_another, is_proven, link, linked, lock,
    password_hash, set_address, set_password, set_platform_role,
};

use crate::PeopleArea;
use platform::registry::Registry;

pub fn register(_: &mut Registry<PeopleArea>) {}
