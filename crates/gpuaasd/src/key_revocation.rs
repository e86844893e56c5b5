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
                "Servers sign with the new key within 30 seconds. Each connected host trusts it, and no longer the old \
                 one, with its next poll; one that is away learns it when it is back. Orders that were under way are \
                 given again."
            }
            KeyKind::Token => {
                "Servers refuse what the old key signed within 30 seconds. Browsers and programs get new access tokens \
                 with their refresh tokens; if those may have leaked too, have people end their sessions: `gpuaas sessions revoke-all`."
            }
            KeyKind::SshUserCa => {
                "Certificates of the old authority open nothing from now on. `gpuaas ssh` and `gpuaas ssh-config` get new \
                 ones by themselves. Sessions that are open go on: end them with `gpuaas access-sessions end`."
            }
            KeyKind::SshHostCa => {
                "Gateways show certificates of the new authority within an hour, or as soon as they are restarted. Publish \
                 the new line: `gpuaas ssh-config --known-hosts`; `gpuaas ssh` gets it by itself."
            }
            KeyKind::NodeCa => {
                "No host and no gateway is trusted any longer. Restart the servers, then enroll every host again \
                 (`gpuaas enrollment-tokens create`, `gpuaas-node enroll`) and join every gateway again. Workloads go on \
                 meanwhile; nobody can be let in or out."
            }
            KeyKind::Seal => {
                "The next seal is signed with the new key. Seals of the old one still verify; compare their roots with an \
                 exported one, because whoever has the old key could have made others."
            }
            KeyKind::Recordings => {
                "Restart the servers: from then on recordings are sealed with the new key. What was recorded before still \
                 opens with the old one, for whoever has it and reaches the store: close the store to them, and shorten \
                 how long recordings are kept (`access.recording_days`) if that is not enough."
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RevokeError {
    #[error("there is no such key that is trusted; `gpuaasd keys list` names them")]
    NoSuchKey,
    #[error("the CA is revoked as a whole; leave out --id")]
    Whole,
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("a new task key could not be made")]
    Signer(#[from] SignerError),
    #[error("a new SSH authority could not be made")]
    Ssh(#[from] ssh_certificates::AuthorityError),
    #[error("a new CA could not be made")]
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
