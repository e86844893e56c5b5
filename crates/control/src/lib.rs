//! The control plane: one folder per resource, the gates in `http`, the
//! outside world in `adapters`, and the roles that run them.

pub mod adapters;
pub mod app;
pub mod audit;
pub mod backup;
pub mod config;
pub mod dead_letters;
pub mod dev;
pub mod documents;
pub mod events;
pub mod http;
pub mod identity;
pub mod invitations;
pub mod keys;
pub mod members;
pub mod migrations;
pub mod organizations;
pub mod policies;
mod problems;
pub mod projects;
pub mod roles;
mod rows;
pub mod service_accounts;
pub mod sessions;
pub mod settings;
pub mod telemetry;
pub mod upkeep;
pub mod users;
pub mod work;
