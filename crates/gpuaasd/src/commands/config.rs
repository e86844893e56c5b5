//! `config check`: what applies, where it came from, and whether it works.

use std::path::Path;

use clap::Subcommand;
use gpuaasd::{migrations, settings};
use platform::config::Config;

use super::AnyError;

#[derive(Subcommand)]
pub enum Action {
    /// Show every setting and its source, and validate the configuration
    Check {
        /// Also check the database connection and schema
        #[arg(long)]
        connect: bool,
    },
}

pub async fn run(config: &Config, file: Option<&Path>, action: Action) -> Result<(), AnyError> {
    let Action::Check { connect } = action;
    for setting in settings::report(config, file, |name| std::env::var_os(name).is_some()) {
        println!("{:<30} {:<28} {}", setting.name, setting.value, setting.source);
    }
    let has_keys = config.secrets.keys.is_some() || config.secrets.key_file.as_ref().is_some_and(|it| it.exists());
    if has_keys {
        config.keyring()?;
    } else if config.secrets.key_file.is_none() {
        return Err("no secrets key: set `secrets.key_file` (created at the first start) or `secrets.keys`".into());
    }
    if connect {
        let server = migrations::database_server(&config.database.url).await.map_err(migrations::SchemaError::from)?;
        let (oldest, newest) = (migrations::KNOWN_POSTGRES.start(), migrations::KNOWN_POSTGRES.end());
        println!("PostgreSQL {} (supported: {oldest} to {newest})", server.version);
        let checked = migrations::check(&config.database.url).await;
        for concern in server.concerns(checked.is_ok()) {
            println!("warning: {concern}");
        }
        checked?;
        gpuaasd::connect(config).await?.ping().await?;
        println!("The database is reachable, and its schema is up to date.");
    }
    println!("The configuration is valid.");
    Ok(())
}
