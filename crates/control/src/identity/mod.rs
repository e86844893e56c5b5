//! Recognizing callers: who sends this credential, what may they do, and where.
//! Sessions, keys and people are resources of their own; this is what the
//! gates ask.

pub mod caller;
mod last_used;
pub mod oidc;
pub mod passwords;
pub mod recognize;
pub mod signing;
mod store;

pub use caller::{Caller, Membership, SecondFactorStanding, Who};
pub use oidc::Oidc;
pub use recognize::Recognizer;
pub use signing::KEY_NAME as TOKEN_KEY_NAME;
