//! `secrets new-key` and `secrets rotate`: replacing the key that seals.

use clap::Subcommand;
use gpuaasd::upkeep;
use kernel::secrets::Keyring;
use platform::config::Config;

use super::AnyError;

#[derive(Subcommand)]
pub enum Action {
    /// Generate a key for `secrets.keys` or the key file
    NewKey,
    /// Reseal all secrets with the first key, so that the other keys can be removed
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
            println!("Resealed {moved} secrets with the key {}.", keyring.active());
        }
    }
    Ok(())
}
