//! People and what they belong to: accounts, sign-in, organizations, members,
//! projects, keys, and what they are notified of.

pub mod account_tokens;
pub mod accounts;
pub mod credentials;
mod erasure;
pub mod invitations;
pub mod keys;
pub mod mails;
pub mod members;
pub mod mfa;
pub mod notifications;
pub mod organizations;
pub mod projects;
pub mod service_accounts;
pub mod sessions;
pub mod ssh_keys;
pub mod users;
pub mod webhook_deliveries;
pub mod webhooks;

use std::{ops::Deref, sync::Arc};

use platform::{
    Platform,
    identity::{Oidc, passwords::Passwords},
    registry::Registry,
};

/// What the handlers of the area can reach.
pub struct PeopleArea {
    pub platform: Arc<Platform>,
    pub passwords: Passwords,
    /// Who carries mail away, when somebody is configured.
    pub sending: Option<mails::Sending>,
    /// The external issuer, when one is configured.
    pub oidc: Option<Oidc>,
}

impl Deref for PeopleArea {
    type Target = Platform;

    fn deref(&self) -> &Platform {
        &self.platform
    }
}

/// Everything that the area's resources register.
pub fn registry() -> Registry<PeopleArea> {
    let mut registry = Registry::default();
    account_tokens::register(&mut registry);
    accounts::register(&mut registry);
    credentials::register(&mut registry);
    erasure::register(&mut registry);
    invitations::register(&mut registry);
    keys::register(&mut registry);
    mails::register(&mut registry);
    members::register(&mut registry);
    mfa::register(&mut registry);
    notifications::register(&mut registry);
    organizations::register(&mut registry);
    projects::register(&mut registry);
    service_accounts::register(&mut registry);
    sessions::register(&mut registry);
    ssh_keys::register(&mut registry);
    users::register(&mut registry);
    webhook_deliveries::register(&mut registry);
    webhooks::register(&mut registry);
    registry
}
