//! SSH certificates: the platform's own authorities, for people who log in with
//! `ssh` and for the gateways that they log in to. A certificate names one allocation and who asked for it; whether they
//! may connect is authorized when they do.

mod authority;
mod known_hosts;
mod routes;

pub use authority::{AuthorityError, Bearer, HOSTS, USERS, ensure, host_line, issue, issue_to_host, read};

use kernel::{Access, Db, Tx, secrets::Keyring};

use crate::AccessArea;
use platform::registry::Registry;

pub fn register(_: &mut Registry<AccessArea>) {}

/// Makes the platform's SSH keys where there are none, so that requests only read them.
pub async fn prepare(db: &Db, keyring: &Keyring) -> Result<(), AuthorityError> {
    let mut tx = Tx::system(db, "ssh_certificates", Access::Write).await.map_err(kernel::vault::VaultError::from)?;
    for name in [USERS, HOSTS] {
        ensure(&mut tx, keyring, name).await?;
    }
    tx.commit().await.map_err(kernel::vault::VaultError::from)?;
    Ok(())
}
