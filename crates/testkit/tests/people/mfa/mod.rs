//! Multi-factor authentication through the API: enrolling, signing in, step-up,
//! recovery, what policy requires, and what a thief tries.

mod passkeys;
mod policy;
mod recovery;
mod reset;
mod sign_in;
mod software_authenticator;
mod stand;
mod step_up;
