//! Taking back keys that may have leaked, at once: what was revoked is trusted by
//! nobody any longer, and what replaces it is made. Replacing keys in time, without
//! a pause, is the business of those who own them.

use std::time::Duration;

use contract::Timestamp;
use kernel::{
    Access, Db, Tx, audit,
    secrets::Keyring,
    vault::{self, VaultError},
};
use serde_json::json;
use uuid::Uuid;

use access::ssh_certificates;
use fleet::{
    ca::{self, CaError},
    gateways, nodes,
    tasks::{SignerError, TaskSigner},
};

/// Kinds of keys of the platform's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum KeyKind {
    /// Signs tasks, grants and agent binaries.
    Task,
    /// Signs access tokens.
    Token,
    /// Certifies people's SSH keys.
    SshUserCa,
    /// Certifies the host keys of gateways.
    SshHostCa,
    /// Certifies hosts, gateways and the node listener.
    NodeCa,
    /// Signs the seals of the audit log.
    Seal,
    /// Seals the recordings of sessions where they are stored.
    Recordings,
}

impl KeyKind {
    pub const ALL: [KeyKind; 7] = [
        KeyKind::Task,
        KeyKind::Token,
        KeyKind::SshUserCa,
        KeyKind::SshHostCa,
        KeyKind::NodeCa,
        KeyKind::Seal,
        KeyKind::Recordings,
    ];

    pub fn name(self) -> &'static str {
        match self {
            KeyKind::Task => "task",
            KeyKind::Token => "token",
            KeyKind::SshUserCa => "ssh-user-ca",
            KeyKind::SshHostCa => "ssh-host-ca",
            KeyKind::NodeCa => "node-ca",
            KeyKind::Seal => "seal",
            KeyKind::Recordings => "recordings",
        }
    }

    /// The vault's names for them.
    fn stored_as(self) -> &'static [&'static str] {
        match self {
            KeyKind::Task => &[fleet::tasks::KEY_NAME],
            KeyKind::Token => &[platform::identity::TOKEN_KEY_NAME],
            KeyKind::SshUserCa => &[ssh_certificates::USERS],
            KeyKind::SshHostCa => &[ssh_certificates::HOSTS],
            KeyKind::NodeCa => &[ca::ROOT, ca::INTERMEDIATE],
            KeyKind::Seal => &[kernel::seals::KEY_NAME],
            KeyKind::Recordings => &[access::recordings::KEY_NAME],
        }
    }

    /// What a person has to do now, or may expect.
    pub fn next(self) -> &'static str {
        match self {
            KeyKind::Task => {
                "Servers sign with the new key within 30 seconds. Connected hosts switch to it with their next poll, and \
                 offline hosts when they reconnect. Tasks in progress are sent again."
            }
            KeyKind::Token => {
                "Servers refuse tokens signed by the old key within 30 seconds. Browsers and programs get new access tokens \
                 with their refresh tokens. If those may have leaked too, ask users to run `gpuaas sessions revoke-all`."
            }
            KeyKind::SshUserCa => {
                "Certificates of the old authority are no longer accepted. `gpuaas ssh` and `gpuaas ssh-config` get new \
                 ones automatically. Open sessions continue; end them with `gpuaas access-sessions end`."
            }
            KeyKind::SshHostCa => {
                "Gateways present certificates of the new authority within an hour, or when they are restarted. Publish \
                 the new line from `gpuaas ssh-config --known-hosts`; `gpuaas ssh` gets it automatically."
            }
            KeyKind::NodeCa => {
                "No host or gateway is trusted anymore. Restart the servers, then enroll every host again \
                 (`gpuaas enrollment-tokens create`, `gpuaas-node enroll`) and join every gateway again. Workloads continue \
                 meanwhile, but access cannot be granted or revoked."
            }
            KeyKind::Seal => {
                "The next seal is signed with the new key. Seals of the old key still verify; compare their roots with \
                 exported ones, because anyone with the old key could have forged seals."
            }
            KeyKind::Recordings => {
                "Restart the servers to seal recordings with the new key. Earlier recordings can still be opened with the \
                 old key by anyone with access to the recording storage: restrict that access, and shorten the retention \
                 (`access.recording_days`) if that is not enough."
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RevokeError {
    #[error("no trusted key with this ID; see `gpuaasd keys list`")]
    NoSuchKey,
    #[error("the CA can only be revoked as a whole; omit --id")]
    Whole,
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("cannot create a new task key")]
    Signer(#[from] SignerError),
    #[error("cannot create a new SSH authority")]
    Ssh(#[from] ssh_certificates::AuthorityError),
    #[error("cannot create a new CA")]
    Ca(#[from] CaError),
}

/// A key, and since when it is what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedKey {
    pub kind: KeyKind,
    pub id: Uuid,
    pub created_at: Timestamp,
    pub status: &'static str,
}

/// Every key of the platform's own, newest first within each kind.
pub async fn list(db: &Db) -> Result<Vec<ListedKey>, RevokeError> {
    let mut tx = Tx::system(db, "keys", Access::Read).await?;
    let mut keys = Vec::new();
    for kind in KeyKind::ALL {
        for name in kind.stored_as() {
            for it in vault::list(&mut tx, name).await? {
                let status = match (it.revoked_at, it.retired_at) {
                    (Some(_), _) => "revoked",
                    (None, Some(_)) => "retired, still trusted",
                    (None, None) => "in use",
                };
                keys.push(ListedKey { kind, id: it.id, created_at: it.created_at.to_jiff(), status });
            }
        }
    }
    tx.commit().await?;
    Ok(keys)
}

/// Trusts one key, or all of a kind, no longer, and makes what replaces it. Says how
/// many were revoked.
pub async fn revoke(db: &Db, keyring: &Keyring, kind: KeyKind, only: Option<Uuid>) -> Result<usize, RevokeError> {
    if kind == KeyKind::NodeCa && only.is_some() {
        return Err(RevokeError::Whole);
    }
    let mut tx = Tx::system(db, "keys", Access::Write).await?;
    let mut gone = Vec::new();
    for name in kind.stored_as() {
        vault::lock(&mut tx, name).await?;
        gone.extend(vault::revoke(&mut tx, name, only).await?);
    }
    if only.is_some() && gone.is_empty() {
        return Err(RevokeError::NoSuchKey);
    }
    if kind == KeyKind::NodeCa {
        // Refused at once, and a host can come back under its own name.
        nodes::revoke_every_certificate(&mut tx).await?;
        gateways::revoke_every_certificate(&mut tx).await?;
    }
    let entry = audit::NewEntry {
        action: "signing_key.revoke".into(),
        organization: None,
        resource: Some(kind.name().to_owned()),
        outcome: "done",
        detail: json!({ "keys": gone.iter().map(Uuid::to_string).collect::<Vec<_>>() }),
    };
    audit::record(&mut tx, entry);
    tx.commit().await?;
    replace(db, keyring, kind).await?;
    Ok(gone.len())
}

/// Makes what whoever needs one would make.
async fn replace(db: &Db, keyring: &Keyring, kind: KeyKind) -> Result<(), RevokeError> {
    // bound: replaced by policy when a server next looks
    const INTERMEDIATE_FOR: Duration = Duration::from_secs(90 * 86_400);
    match kind {
        KeyKind::Task => drop(TaskSigner::load(db, keyring).await?),
        KeyKind::SshUserCa | KeyKind::SshHostCa => {
            let mut tx = Tx::system(db, "keys", Access::Write).await?;
            for name in kind.stored_as() {
                ssh_certificates::ensure(&mut tx, keyring, name).await?;
            }
            tx.commit().await?;
        }
        KeyKind::NodeCa => ca::make(db, keyring, INTERMEDIATE_FOR).await?,
        // Servers make them when they next look, seal or start.
        KeyKind::Token | KeyKind::Seal | KeyKind::Recordings => (),
    }
    Ok(())
}
