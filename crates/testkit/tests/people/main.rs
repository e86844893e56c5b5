//! Accounts, organizations, sign-in, and what people are notified of.

mod accounts;
mod accounts_races;
mod console;
mod identity;
mod mfa;
mod notifications;
mod oidc;
mod resources;
mod webhooks;
