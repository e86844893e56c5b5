//! The promise that a new agent must keep: reach the control plane within a bounded
//! time and a bounded number of starts. Otherwise the one before comes back.

use crate::VERSION;
use crate::state::{StateError, StateFolder, sync_folder};
use protocol::{Done, Outcome, Task};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a new agent has to complete a poll.
pub const PROVE_WITHIN: Duration = Duration::from_secs(120); // bound: a poll takes a second where it works at all
/// How often a new agent may be started without completing a poll.
pub const MAX_STARTS: u32 = 3; // bound: once could be a coincidence

const FILE: &str = "update.json";

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    task: Task,
    binary: PathBuf,
    previous: PathBuf,
    starts: u32,
    rolled_back: bool,
}

/// An update that has to be proved, or was not.
#[derive(Debug)]
pub struct Guard {
    folder: StateFolder,
    record: Box<Record>,
}

/// What a start finds.
#[derive(Debug)]
pub enum StartOutcome {
    /// No update is under way.
    Plain,
    /// This start must prove the update, or report that it was rolled back.
    Guarded(Guard),
    /// The update failed too often; the binary before is in place: start that.
    RolledBack(PathBuf),
}

impl Guard {
    /// Puts the new binary in place of the running one, which is kept beside it.
    pub(super) fn install(folder: &StateFolder, binary: &Path, new: &Path, task: &Task) -> io::Result<()> {
        let previous = binary.with_extension("previous");
        let _ = std::fs::remove_file(&previous);
        std::fs::hard_link(binary, &previous)?;
        let (binary_path, previous_path) = (binary.to_owned(), previous);
        let record =
            Record { task: task.clone(), binary: binary_path, previous: previous_path, starts: 0, rolled_back: false };
        // Before the switch: from the first start on somebody counts.
        folder.save(FILE, &record).map_err(io::Error::other)?;
        std::fs::rename(new, binary)?;
        sync_folder(binary)
    }

    /// Counts this start; called before anything else that could fail.
    pub fn begin(folder: &StateFolder) -> Result<StartOutcome, StateError> {
        let Some(mut record) = folder.load::<Box<Record>>(FILE)? else {
            return Ok(StartOutcome::Plain);
        };
        let folder = folder.clone();
        if record.rolled_back {
            return Ok(StartOutcome::Guarded(Self { folder, record }));
        }
        record.starts += 1;
        folder.save(FILE, &record)?;
        let guard = Self { folder, record };
        if guard.record.starts > MAX_STARTS {
            return guard.roll_back().map(StartOutcome::RolledBack);
        }
        Ok(StartOutcome::Guarded(guard))
    }

    /// Brings the old binary back if the update is still unproved; called when the
    /// time is over.
    pub fn time_is_over(folder: &StateFolder) -> Result<Option<PathBuf>, StateError> {
        match folder.load::<Box<Record>>(FILE)? {
            Some(record) if !record.rolled_back => Self { folder: folder.clone(), record }.roll_back().map(Some),
            _ => Ok(None),
        }
    }

    fn roll_back(mut self) -> Result<PathBuf, StateError> {
        let binary = self.record.binary.clone();
        let failed = |source| StateError::Io { path: binary.clone(), source };
        if self.record.previous.exists() {
            std::fs::rename(&self.record.previous, &binary).map_err(failed)?;
            sync_folder(&binary).map_err(failed)?;
        }
        self.record.rolled_back = true;
        self.folder.save(FILE, &self.record)?;
        Ok(binary)
    }

    /// A poll was completed: what to report, and the end of the guard.
    pub fn confirm(self) -> (Task, Outcome) {
        if let Err(error) = self.folder.remove(FILE) {
            tracing::error!(%error, "cannot remove the update guard; remove it manually");
        }
        let outcome = if self.record.rolled_back {
            Outcome::Failed {
                step: "prove".into(),
                code: "rolled_back".into(),
                detail: format!("the updated agent did not reach the control plane; rolled back to {VERSION}"),
                retryable: false,
            }
        } else {
            Outcome::Done { result: Done::Updated { version: VERSION.into() } }
        };
        (self.record.task, outcome)
    }

    /// Whether the time to prove it runs.
    pub fn is_unproved(&self) -> bool {
        !self.record.rolled_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Verb;

    struct Host {
        folder: StateFolder,
        binary: PathBuf,
        _parent: tempfile::TempDir,
    }

    fn updated_host() -> Host {
        let parent = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(&parent.path().join("state")).unwrap();
        let (binary, new) = (parent.path().join("node"), parent.path().join("node.new"));
        std::fs::write(&binary, "old").unwrap();
        std::fs::write(&new, "new").unwrap();
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let task = Task::new("n", "node", (1, 1), (now, now), Verb::EnsureSanitized {});
        Guard::install(&folder, &binary, &new, &task).unwrap();
        Host { folder, binary, _parent: parent }
    }

    fn content(host: &Host) -> String {
        std::fs::read_to_string(&host.binary).unwrap()
    }

    #[test]
    fn an_update_that_polls_is_confirmed_and_forgotten() {
        let host = updated_host();
        assert_eq!(content(&host), "new");
        let StartOutcome::Guarded(guard) = Guard::begin(&host.folder).unwrap() else { panic!("not guarded") };
        assert!(matches!(guard.confirm().1, Outcome::Done { .. }));
        assert!(matches!(Guard::begin(&host.folder).unwrap(), StartOutcome::Plain));
        assert_eq!(content(&host), "new");
        assert!(Guard::time_is_over(&host.folder).unwrap().is_none());
    }

    #[test]
    fn an_update_that_keeps_dying_is_rolled_back_and_reported() {
        let host = updated_host();
        for _ in 0..MAX_STARTS {
            assert!(matches!(Guard::begin(&host.folder).unwrap(), StartOutcome::Guarded(_)));
        }
        assert!(matches!(Guard::begin(&host.folder).unwrap(), StartOutcome::RolledBack(_)));
        assert_eq!(content(&host), "old");
        let StartOutcome::Guarded(guard) = Guard::begin(&host.folder).unwrap() else { panic!("not reported") };
        assert!(!guard.is_unproved());
        assert!(matches!(guard.confirm().1, Outcome::Failed { code, .. } if code == "rolled_back"));
    }

    #[test]
    fn an_update_whose_time_is_over_is_rolled_back_once() {
        let host = updated_host();
        assert!(matches!(Guard::begin(&host.folder).unwrap(), StartOutcome::Guarded(_)));
        assert_eq!(Guard::time_is_over(&host.folder).unwrap().as_deref(), Some(host.binary.as_path()));
        assert_eq!(content(&host), "old");
        assert!(Guard::time_is_over(&host.folder).unwrap().is_none());
    }
}
