//! The public contract: every endpoint, its payloads and its policy, and every
//! event. Performs no I/O; the server, the client, the documents and the
//! sweep tests are all driven by the lists in [`mod@list`].

#[macro_use]
mod text;

mod endpoint;
mod event;
mod generated;
mod number;
mod page;
mod raw;
mod schemas;
mod wording;
mod words;

pub mod asyncapi;
pub mod compat;
pub mod csv;
pub mod id;
mod list;
pub mod openapi;
pub mod permission;
pub mod problem;
pub mod tables;

pub mod access_sessions;
pub mod access_tickets;
pub mod account_tokens;
pub mod agents;
pub mod allocations;
pub mod audit;
pub mod billing_profiles;
pub mod budgets;
pub mod capacity;
pub mod corrections;
pub mod dead_letters;
pub mod enrollment_tokens;
pub mod events;
pub mod gateways;
pub mod invitations;
pub mod invoices;
pub mod keys;
pub mod ledger;
pub mod machines;
pub mod mails;
pub mod maintenance_windows;
pub mod members;
pub mod mfa;
pub mod nodes;
pub mod notification_kinds;
pub mod notifications;
pub mod organizations;
pub mod payments;
pub mod policies;
pub mod pools;
pub mod prices;
pub mod problems;
pub mod projects;
pub mod providers;
pub mod quotas;
pub mod recordings;
pub mod refunds;
pub mod regions;
pub mod revenue;
pub mod service_accounts;
pub mod sessions;
pub mod skus;
pub mod ssh_certificates;
pub mod ssh_keys;
pub mod telemetry;
pub mod usage;
pub mod users;
pub mod wallets;
pub mod webhook_deliveries;
pub mod webhooks;
pub mod work;

#[cfg(test)]
mod guards;
#[cfg(test)]
mod walk;

pub use endpoint::*;
pub use event::*;
pub use generated::generated;
pub use id::Id;
pub use number::Within;
pub use page::*;
pub use permission::{Permission, Role};
pub use problem::{Code, IDEMPOTENT_REPLAY, PROBLEM_JSON, Problem};
pub use raw::{JSON, Raw};
pub use text::*;
pub use words::{Open, Word};

pub use jiff::Timestamp;
