//! A typed client of the API: one generic call over the contract's endpoints,
//! one generic conversation over its channels, and streams through gateways.
//! It repeats a request only where a repetition is safe, and always with the
//! same idempotency key.

mod address;
mod answer;
mod channel;
mod client;
mod credential;
mod error;
mod pages;
mod request;
mod retry;
pub mod stream;

pub use channel::Conversation;
pub use client::{Client, Options};
pub use credential::Credential;
pub use error::ClientError;
pub use pages::{List, Pages};
pub use request::Request;

#[cfg(test)]
mod scripted;
#[cfg(test)]
mod tests;
