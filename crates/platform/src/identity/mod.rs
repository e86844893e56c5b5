//! Recognizing callers: who sends this credential, what may they do, and where.
//! Sessions, keys and people are resources of their own; this is what the
//! gates ask.

pub mod caller;
mod last_used;
pub mod oidc;
pub mod passwords;
pub mod recognize;
mod requirement;
pub mod signing;
mod store;

pub use caller::{Caller, Membership, Principal, SecondFactorStanding};
pub use oidc::Oidc;
pub use recognize::Recognizer;
pub use requirement::Requirement;
pub use signing::KEY_NAME as TOKEN_KEY_NAME;

use contract::{Permission, Role, Word};

use crate::{Platform, registry::Registry};

pub fn register(registry: &mut Registry<Platform>) {
    let nouns = &["policy", "session", "key", "member", "organization", "service_account", "user", "mfa_factor"];
    registry.cache::<Recognizer>(nouns, |platform| &platform.recognizer);
}

/// The roles of an organization that hold a permission.
pub fn roles_with(permission: Permission) -> Vec<&'static str> {
    Role::ALL.iter().filter(|it| it.grants(permission)).map(|it| it.as_str()).collect()
}
