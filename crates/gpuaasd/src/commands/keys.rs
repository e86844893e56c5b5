//! `keys list` and `keys revoke`: taking back the platform's own keys in an emergency.

use clap::Subcommand;
use gpuaasd::key_revocation::{self, KeyKind};
use platform::config::Config;

use uuid::Uuid;

use super::AnyError;

#[derive(Subcommand)]
pub enum Action {
    /// Say which keys there are, and which of them are trusted.
    List,
    /// Trust a key no longer, from now on, and make another: for a leak, not for rotation.
    Revoke {
        /// Which kind.
        #[arg(value_enum)]
        kind: KeyKind,
        /// Only the one with this id; all of the kind when not said.
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
            println!("revoked {count} of {}; another is in its place", kind.name());
            println!("{}", kind.next());
        }
    }
    Ok(())
}
