//! What people do with their account: sign up, change it, and prove that it is theirs.
//! The rows themselves are in `users`.

mod proof;
mod routes;

pub use proof::{evict, evict_all, settle};
pub use routes::check_password;

use crate::PeopleArea;
use platform::registry::Registry;

pub fn register(_: &mut Registry<PeopleArea>) {}
