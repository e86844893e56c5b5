//! The folder in which an agent keeps who it is: readable by its owner alone, and
//! every file replaced in one step.

use crate::identity::Identity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use trust::{PairError, PendingRequest};

#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("cannot read or write {path}; run as the user that owns it, usually root")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} is malformed; remove it and enroll again")]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error("this host is not enrolled; run gpuaas-node enroll first")]
    NotEnrolled,
    #[error(transparent)]
    Pair(#[from] PairError),
}

const ASKED: &str = "asked.json";

/// What `gpuaas-node status` prints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub node_id: String,
    pub url: String,
    pub agent_version: String,
    pub generation: u64,
    /// `connected`, `unreachable`, or the code on which the control plane refuses us.
    pub state: String,
    pub detail: String,
    /// By the control plane's clock.
    pub last_contact: Option<jiff::Timestamp>,
    pub certificate_until: Option<jiff::Timestamp>,
    pub refused: protocol::RefusedCounts,
    /// Streams that were not opened, by the code of the refusal.
    #[serde(default)]
    pub streams_refused: BTreeMap<String, u64>,
    /// Sessions that have a stream or a shell.
    #[serde(default)]
    pub sessions: usize,
    pub tasks_running: bool,
}

#[derive(Clone, Debug)]
pub struct StateFolder {
    path: PathBuf,
}

impl StateFolder {
    /// Makes the folder where it is missing, and closes it to others.
    pub fn open(path: &Path) -> Result<Self, StateError> {
        let failed = |source| StateError::Io { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        std::fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed)?;
        Ok(Self { path: path.to_owned() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    pub fn config(&self) -> PathBuf {
        self.path.join("agent.toml")
    }

    /// Key, certificate and all: one file, so that they cannot disagree.
    pub fn save_identity(&self, identity: &Identity) -> Result<(), StateError> {
        self.save("identity.json", identity)?;
        self.remove(ASKED)
    }

    /// What this host asks to be certified with: the same until it was answered.
    pub fn asked(&self) -> Result<PendingRequest, StateError> {
        if let Some(asked) = self.load(ASKED)? {
            return Ok(asked);
        }
        let asked = PendingRequest::new()?;
        self.save(ASKED, &asked)?;
        Ok(asked)
    }

    pub fn identity(&self) -> Result<Identity, StateError> {
        self.load("identity.json")?.ok_or(StateError::NotEnrolled)
    }

    pub fn save_status(&self, status: &Status) -> Result<(), StateError> {
        self.save("status.json", status)
    }

    pub fn status(&self) -> Result<Option<Status>, StateError> {
        self.load("status.json")
    }

    /// Counts this start of the agent.
    pub fn next_generation(&self) -> Result<u64, StateError> {
        let generation = self.load::<u64>("generation")?.unwrap_or(0) + 1;
        self.save("generation", &generation)?;
        Ok(generation)
    }

    pub(crate) fn save<T: Serialize>(&self, name: &str, value: &T) -> Result<(), StateError> {
        let path = self.path.join(name);
        let write = || {
            let bytes = serde_json::to_vec_pretty(value)?;
            replace(&path, &bytes, 0o600)
        };
        write().map_err(|source| StateError::Io { path: path.clone(), source })
    }

    pub(crate) fn load<T: for<'a> Deserialize<'a>>(&self, name: &str) -> Result<Option<T>, StateError> {
        let path = self.path.join(name);
        match std::fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map(Some).map_err(|source| StateError::Damaged { path, source })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(StateError::Io { path, source }),
        }
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), StateError> {
        let path = self.path.join(name);
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(StateError::Io { path, source }),
            _ => Ok(()),
        }
    }
}

/// Writes a file beside its place and renames it there, synced.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.new"));
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(mode).open(&beside)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)?;
    sync_folder(path)
}

/// Makes a rename of `path` outlive a loss of power.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_and_its_files_are_closed_to_others() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        let folder = StateFolder::open(&path).unwrap();
        folder.save_status(&Status { state: "connected".into(), ..Status::default() }).unwrap();
        let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(path.clone()), mode(path.join("status.json"))), (0o700, 0o600));
        assert_eq!(folder.status().unwrap().unwrap().state, "connected");
    }

    #[test]
    fn every_start_has_its_own_generation() {
        let parent = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(parent.path()).unwrap();
        assert_eq!((folder.next_generation().unwrap(), folder.next_generation().unwrap()), (1, 2));
        assert!(matches!(folder.identity(), Err(StateError::NotEnrolled)));
        std::fs::write(parent.path().join("generation"), "x").unwrap();
        assert!(matches!(folder.next_generation(), Err(StateError::Damaged { .. })));
    }
}
