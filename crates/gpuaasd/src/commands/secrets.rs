//! `secrets new-key` and `secrets rotate`: replacing the key that seals.

use clap::Subcommand;
use gpuaasd::upkeep;
use kernel::secrets::Keyring;
use platform::config::Config;

use super::AnyError;

#[derive(Subcommand)]
pub enum Action {
    /// Print a new entry for `secrets.keys` or the key file.
    NewKey,
    /// Seal everything anew with the first key of the list; afterwards the others are needed no more.
    Rotate,
}

pub async fn run(config: &Config, action: Action) -> Result<(), AnyError> {
    match action {
        Action::NewKey => {
            let entry = Keyring::generate_entry();
            println!("{}", entry.expose_text().unwrap_or_default());
        }
        Action::Rotate => {
            let keyring = config.keyring()?;
            gpuaasd::migrations::check(&config.database.url).await?;
            let db = gpuaasd::connect(config).await?;
            let moved = upkeep::rotate_secrets(&db, &keyring).await?;
            println!("{moved} secrets moved to the key {}", keyring.active());
        }
    }
    Ok(())
}
