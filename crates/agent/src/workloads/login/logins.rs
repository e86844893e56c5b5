//! What the agent must remember about the logins of its host across its own
//! restarts and the host's: which GPUs each holds, its limits, and how far user
//! ids were used.

use super::users::User;
use crate::locked;
use crate::state::{StateError, StateFolder};
use crate::steps::{Failure, Result};
use protocol::{GpuRef, Limits};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

const FILE: &str = "logins.json";

/// What one login holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holding {
    pub gpus: Vec<GpuRef>,
    pub limits: Limits,
}

impl Holding {
    pub fn new(gpus: &[GpuRef], limits: Limits) -> Self {
        Self { gpus: gpus.to_vec(), limits }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Record {
    /// No user id below it is given out again before the host is sanitized.
    next_uid: u32,
    logins: BTreeMap<String, Holding>,
    /// They were open and are locked because their keys could not be written. Apart from
    /// what they hold: a login that nothing is known of is locked as well.
    #[serde(default)]
    locked_for_keys: BTreeSet<String>,
    /// Connections of theirs to sshd are to be ended: a key was taken away.
    #[serde(default)]
    to_cut: BTreeSet<String>,
}

/// The record, in memory and, where there is a folder, on disk.
#[derive(Default)]
pub(crate) struct Logins {
    folder: Option<StateFolder>,
    record: Mutex<Record>,
}

impl Logins {
    pub fn open(folder: StateFolder) -> std::result::Result<Self, StateError> {
        let record = folder.load(FILE)?.unwrap_or_default();
        Ok(Self { folder: Some(folder), record: Mutex::new(record) })
    }

    /// The next user id in the range, counted as used from now on. `is_free` says
    /// whether the host knows nobody of that id.
    pub fn take_uid(&self, range: (u32, u32), is_free: impl Fn(u32) -> bool) -> Result<u32> {
        let mut record = locked(&self.record);
        let from = record.next_uid.max(range.0);
        let Some(uid) = (from..=range.1).find(|uid| is_free(*uid)) else {
            let detail = format!("every user id from {} to {} was used on this host; sanitize it", range.0, range.1);
            return Err(Failure::lasting("uids_used_up", detail));
        };
        record.next_uid = uid + 1;
        self.save(&record)?;
        Ok(uid)
    }

    /// What a login holds from now on; nobody else holds those GPUs any more.
    pub fn hold(&self, user: &User, holding: Holding) -> Result<()> {
        let mut record = locked(&self.record);
        for other in record.logins.values_mut() {
            other.gpus.retain(|gpu| holding.gpus.iter().all(|taken| taken.uuid != gpu.uuid));
        }
        record.logins.insert(user.name.clone(), holding);
        record.locked_for_keys.remove(&user.name);
        self.save(&record)
    }

    /// The login keeps its limits and holds no GPU.
    pub fn drop_gpus(&self, name: &str) -> Result<()> {
        let mut record = locked(&self.record);
        // Locked for good now: new keys must not open it.
        let mut is_changed = record.locked_for_keys.remove(name);
        if let Some(holding) = record.logins.get_mut(name) {
            holding.gpus.clear();
            is_changed = true;
        }
        if is_changed { self.save(&record) } else { Ok(()) }
    }

    /// Whether the login is locked for want of its keys.
    pub fn set_locked_for_keys(&self, name: &str, is_locked: bool) -> Result<()> {
        let mut record = locked(&self.record);
        let is_changed = match is_locked {
            true => record.locked_for_keys.insert(name.to_owned()),
            false => record.locked_for_keys.remove(name),
        };
        if is_changed { self.save(&record) } else { Ok(()) }
    }

    pub fn is_locked_for_keys(&self, name: &str) -> bool {
        locked(&self.record).locked_for_keys.contains(name)
    }

    /// Whether connections of the login are still to be ended.
    pub fn set_to_cut(&self, name: &str, is_to_cut: bool) -> Result<()> {
        let mut record = locked(&self.record);
        let is_changed = match is_to_cut {
            true => record.to_cut.insert(name.to_owned()),
            false => record.to_cut.remove(name),
        };
        if is_changed { self.save(&record) } else { Ok(()) }
    }

    pub fn is_to_cut(&self, name: &str) -> bool {
        locked(&self.record).to_cut.contains(name)
    }

    pub fn forget(&self, name: &str) -> Result<()> {
        let mut record = locked(&self.record);
        let is_marked = record.locked_for_keys.remove(name) | record.to_cut.remove(name);
        let is_changed = is_marked | record.logins.remove(name).is_some();
        if is_changed { self.save(&record) } else { Ok(()) }
    }

    /// The host is clean: ids may be used again.
    pub fn sanitized(&self) -> Result<()> {
        let mut record = locked(&self.record);
        *record = Record::default();
        self.save(&record)
    }

    pub fn get(&self, name: &str) -> Option<Holding> {
        locked(&self.record).logins.get(name).cloned()
    }

    pub fn all(&self) -> BTreeMap<String, Holding> {
        locked(&self.record).logins.clone()
    }

    fn save(&self, record: &Record) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        folder.save(FILE, record).map_err(|error| Failure::passing("user", error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { cpu_millis: 1000, memory_bytes: 1 << 30, tasks: 64, open_files: 64 };

    fn user(name: &str) -> User {
        let (home, shell) = ("/".into(), "/bin/sh".into());
        User { name: name.into(), uid: 1, gid: 1, home, shell, is_ours: true }
    }

    #[test]
    fn uids_are_not_used_again_until_the_host_is_sanitized() {
        let parent = tempfile::tempdir().unwrap();
        let open = || Logins::open(StateFolder::open(parent.path()).unwrap()).unwrap();
        let logins = open();
        assert_eq!(logins.take_uid((10, 12), |uid| uid != 11).unwrap(), 10);
        assert_eq!(open().take_uid((10, 12), |uid| uid != 11).unwrap(), 12, "also by the agent's successor");
        let none = open().take_uid((10, 12), |_| true).unwrap_err();
        assert_eq!((none.code.as_str(), none.retryable), ("uids_used_up", false));
        let last = open();
        last.sanitized().unwrap();
        assert_eq!(last.take_uid((10, 12), |_| true).unwrap(), 10);
    }

    #[test]
    fn login_that_nothing_is_known_of_opens_again_once_its_keys_are_written() {
        let parent = tempfile::tempdir().unwrap();
        let open = || Logins::open(StateFolder::open(parent.path()).unwrap()).unwrap();
        open().set_locked_for_keys("a", true).unwrap();
        assert!(open().is_locked_for_keys("a"), "it was never handed over by this agent");
        open().set_locked_for_keys("a", false).unwrap();
        assert!(!open().is_locked_for_keys("a"));
        open().set_locked_for_keys("a", true).unwrap();
        open().drop_gpus("a").unwrap();
        assert!(!open().is_locked_for_keys("a"), "a login that was stopped is not opened by new keys");
    }

    #[test]
    fn connections_that_are_to_be_ended_are_remembered() {
        let parent = tempfile::tempdir().unwrap();
        let open = || Logins::open(StateFolder::open(parent.path()).unwrap()).unwrap();
        open().set_to_cut("a", true).unwrap();
        assert!(open().is_to_cut("a"), "by the agent's successor");
        open().forget("a").unwrap();
        assert!(!open().is_to_cut("a"));
    }

    #[test]
    fn gpus_have_one_holder() {
        let gpu = |uuid: &str| GpuRef { uuid: uuid.into(), pci: "0".into() };
        let logins = Logins::default();
        logins.hold(&user("a"), Holding::new(&[gpu("1"), gpu("2")], LIMITS)).unwrap();
        logins.hold(&user("b"), Holding::new(&[gpu("2")], LIMITS)).unwrap();
        assert_eq!(logins.get("a").unwrap().gpus, [gpu("1")]);
        logins.drop_gpus("a").unwrap();
        assert!(logins.get("a").unwrap().gpus.is_empty());
        logins.forget("a").unwrap();
        assert_eq!(logins.all().keys().collect::<Vec<_>>(), ["b"]);
    }
}
