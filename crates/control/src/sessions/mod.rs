//! Sessions: how people sign in, stay signed in and sign out.

mod oidc;
mod routes;
mod store;
mod tokens;

pub use store::{forget_old, revoke_all};
pub use tokens::open;
