//! Sessions: how people sign in, stay signed in and sign out.

mod mfa;
mod oidc;
mod places;
mod routes;
mod store;
mod tokens;

pub use store::{forget_old, forget_places, is_younger, note_second_factor, revoke_all, rewrap_successors};
pub use tokens::open;
