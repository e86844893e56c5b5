//! The binary's own parts: adapters for the outside world, the roles of a process,
//! commands, the console's files, and `dev`. The areas do the work; this connects them.

pub mod adapters;
pub mod areas;
pub mod backup;
mod console;
pub mod control_plane;
pub mod dev;
pub mod documents;
pub mod gateway_role;
pub mod gauges;
pub mod key_revocation;
pub mod migrations;
pub mod roles;
pub mod router;
pub mod settings;
pub mod upkeep;

use std::path::PathBuf;

use kernel::Db;
use platform::config::{Config, ConfigError};

/// Connects to the database, with the hooks between the areas.
pub async fn connect(config: &Config) -> sqlx::Result<Db> {
    Ok(Db::connect(&config.db_settings()).await?.with_hooks(areas::hooks()))
}

/// Reads the configuration and says what is wrong with it before anything starts.
pub fn configure(file: Option<&PathBuf>, environment: impl Fn(&str) -> Option<String>) -> Result<Config, ConfigError> {
    let config = Config::load(file, environment)?;
    adapters::configured::check(&config)?;
    Ok(config)
}
