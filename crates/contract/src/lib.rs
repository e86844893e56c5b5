//! The public contract: every endpoint, its payloads and its policy, and every
//! event. Performs no I/O; the server, the client, the documents and the
//! sweep tests are all driven by the lists in [`mod@list`].

#[macro_use]
mod text;

mod endpoint;
mod event;
mod generated;
mod page;
mod schemas;
mod wording;
mod words;

pub mod asyncapi;
pub mod compat;
pub mod id;
mod list;
pub mod openapi;
pub mod permission;
pub mod problem;
pub mod tables;

pub mod audit;
pub mod dead_letters;
pub mod events;
pub mod invitations;
pub mod keys;
pub mod members;
pub mod organizations;
pub mod policies;
pub mod problems;
pub mod projects;
pub mod service_accounts;
pub mod sessions;
pub mod users;
pub mod work;

#[cfg(test)]
mod guards;
#[cfg(test)]
mod walk;

pub use endpoint::*;
pub use event::*;
pub use generated::generated;
pub use id::Id;
pub use page::*;
pub use permission::{Permission, Role};
pub use problem::{Code, Problem};
pub use text::*;
pub use words::{Open, Word};

pub use jiff::Timestamp;
