//! `keys list` and `keys revoke`: taking back the platform's own keys in an emergency.

use clap::Subcommand;
use gpuaasd::key_revocation::{self, KeyKind};
use platform::config::Config;

use uuid::Uuid;

use super::AnyError;

#[derive(Subcommand)]
pub enum Action {
    /// List the platform's keys and their status
    List,
    /// Revoke a leaked key immediately and create a new one; not for rotation
    Revoke {
        /// Kind of key
        #[arg(value_enum)]
        kind: KeyKind,
        /// ID of the key [default: all keys of this kind]
        #[arg(long)]
        id: Option<Uuid>,
    },
}

pub async fn run(config: &Config, action: Action) -> Result<(), AnyError> {
    let keyring = config.keyring()?;
    gpuaasd::migrations::check(&config.database.url).await?;
    let db = gpuaasd::connect(config).await?;
    match action {
        Action::List => {
            for key in key_revocation::list(&db).await? {
                println!("{:<12}  {}  {}  {}", key.kind.name(), key.id, key.created_at, key.status);
            }
        }
        Action::Revoke { kind, id } => {
            let count = key_revocation::revoke(&db, &keyring, kind, id).await?;
            let keys = if count == 1 { "key" } else { "keys" };
            println!("Revoked {count} {} {keys} and created a new one.", kind.name());
            println!("{}", kind.next());
        }
    }
    Ok(())
}
