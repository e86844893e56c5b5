//! What `gpuaasd` does when it is called, one file per command.

pub mod admin;
pub mod backup;
pub mod ca;
pub mod config;
pub mod keys;
pub mod migrate;
mod prompt;
pub mod secrets;
pub mod serve;

pub type AnyError = Box<dyn std::error::Error + Send + Sync>;
