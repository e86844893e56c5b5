//! People: their account, what they are to the platform, and their erasure.

mod erase;
mod routes;
mod store;

pub use store::{
    Credentials, Subject, credentials, email, insert, is_of_another, link, linked, lock, set_password,
    set_platform_role, unset_password,
};
