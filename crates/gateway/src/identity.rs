//! Who a gateway is: its key, the certificate that hosts and control plane know it
//! by, and the folder in which that is kept, readable by its owner alone.

use crate::control::{Control, ControlError};
use protocol::gateway::{JoinAnswer, JoinRequest};
use protocol::{PROTOCOL, is_supported};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{fmt, fs};
use trust::{ControlClock, Pair, PairError, PendingRequest, Trust, TrustError};

#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("{path} cannot be read or written; run as the user that owns it")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} is not a valid gateway identity; remove it and join again")]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error(transparent)]
    Pair(#[from] PairError),
}

#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(transparent)]
    Pair(#[from] PairError),
    #[error("the control plane speaks protocol {0}; install a gateway of its release")]
    Protocol(u16),
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Identity {
    pub gateway_id: String,
    /// Where the node listener of the control plane is.
    pub url: String,
    #[serde(flatten)]
    pub pair: Pair,
    /// PEM bundle.
    pub roots: String,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("gateway_id", &self.gateway_id).field("url", &self.url).finish_non_exhaustive()
    }
}

/// Spends the token. The key never leaves this machine. With the same token and
/// key again, an answer that got lost is given once more.
pub async fn join(
    url: &str,
    token: &str,
    trust: &Trust,
    version: &str,
    asked: PendingRequest,
) -> Result<Identity, JoinError> {
    let PendingRequest { key, csr } = asked;
    let request = JoinRequest { protocol: PROTOCOL, token: token.to_owned(), csr, version: version.to_owned() };
    let clock = ControlClock::default();
    let control = Control::new(url, trust.anonymous(&clock)?)?;
    let answer = control.join(&request).await?;
    if !is_supported(answer.protocol) {
        return Err(JoinError::Protocol(answer.protocol));
    }
    let JoinAnswer { gateway_id, certificate, roots, .. } = answer;
    let pair = Pair { key, certificate };
    let identity = Identity { gateway_id, url: url.to_owned(), pair, roots };
    // What cannot be used must not replace what was there.
    Trust::in_roots(&identity.roots)?.identified(&identity.pair, &clock)?;
    Ok(identity)
}

const ASKED: &str = "asked.json";

/// Where a gateway keeps who it is and what it has not yet handed on.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes the folder where it is missing, and closes it to others.
    pub fn open(path: &Path) -> Result<Self, IdentityError> {
        let failed = |source| IdentityError::Io { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed)?;
        Ok(Self { path: path.to_owned() })
    }

    /// Where recordings wait until the control plane has them.
    pub fn spool(&self) -> PathBuf {
        self.path.join("spool")
    }

    /// None before the gateway has joined.
    pub fn identity(&self) -> Result<Option<Identity>, IdentityError> {
        self.load("identity.json")
    }

    /// Key, certificate and all: one file, so that they cannot disagree.
    pub fn save_identity(&self, identity: &Identity) -> Result<(), IdentityError> {
        self.save("identity.json", identity)?;
        let path = self.path.join(ASKED);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(IdentityError::Io { path, source }),
            _ => Ok(()),
        }
    }

    /// What this gateway asks to be certified with: the same until it was answered.
    pub fn asked(&self) -> Result<PendingRequest, IdentityError> {
        if let Some(asked) = self.load(ASKED)? {
            return Ok(asked);
        }
        let asked = PendingRequest::new()?;
        self.save(ASKED, &asked)?;
        Ok(asked)
    }

    /// What the key is made of that SSH clients are shown; none before it was made.
    pub fn ssh_host_seed(&self) -> Result<Option<[u8; 32]>, IdentityError> {
        self.load("ssh-host-key.json")
    }

    pub fn save_ssh_host_seed(&self, seed: &[u8; 32]) -> Result<(), IdentityError> {
        self.save("ssh-host-key.json", seed)
    }

    /// What says that the key is this gateway's, in OpenSSH's form.
    pub fn ssh_host_certificate(&self) -> Result<Option<String>, IdentityError> {
        self.load("ssh-host-certificate.json")
    }

    pub fn save_ssh_host_certificate(&self, certificate: &str) -> Result<(), IdentityError> {
        self.save("ssh-host-certificate.json", &certificate)
    }

    /// Counts this start of the gateway.
    pub fn next_generation(&self) -> Result<u64, IdentityError> {
        let generation = self.load::<u64>("generation")?.unwrap_or(0) + 1;
        self.save("generation", &generation)?;
        Ok(generation)
    }

    fn save<T: Serialize>(&self, name: &str, value: &T) -> Result<(), IdentityError> {
        let path = self.path.join(name);
        let write = || replace(&path, &serde_json::to_vec_pretty(value)?);
        write().map_err(|source| IdentityError::Io { path: path.clone(), source })
    }

    fn load<T: for<'a> Deserialize<'a>>(&self, name: &str) -> Result<Option<T>, IdentityError> {
        let path = self.path.join(name);
        match fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map(Some).map_err(|source| IdentityError::Damaged { path, source })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(IdentityError::Io { path, source }),
        }
    }
}

/// Writes a file beside its place and renames it there, synced.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.new"));
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&beside)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_folder_is_closed_to_others_and_counts_every_start() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        let folder = Folder::open(&path).unwrap();
        assert!(folder.identity().unwrap().is_none());
        assert_eq!((folder.next_generation().unwrap(), folder.next_generation().unwrap()), (1, 2));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&path.join("generation"))), (0o700, 0o600));
        fs::write(path.join("identity.json"), "x").unwrap();
        assert!(matches!(folder.identity(), Err(IdentityError::Damaged { .. })));
    }
}
