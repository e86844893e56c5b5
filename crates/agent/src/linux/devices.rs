//! The device files of GPUs: closed to everybody but root unless a login holds the
//! GPU, and then open to that login's group alone. What all GPUs share is open to
//! those who hold one.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

const CLOSED: u32 = 0o600;
const ONLY_ITS_GROUP: u32 = 0o660;
/// Files that a program needs besides those of its GPUs.
const SHARED: &[&str] = &["nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"];
/// What every login may use besides; none of it reaches a GPU.
const HARMLESS: &[&str] = &["fuse", "net/tun", "infiniband", "gdrdrv"];
const MAX_EXTRA: usize = 256; // bound: verbs devices of a host with many network cards

/// Which group a card's file belongs to.
pub(crate) type Holders = BTreeMap<PathBuf, u32>;

pub(crate) struct Devices {
    root: PathBuf,
}

impl Devices {
    pub fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The file of a GPU, by its minor number, where there is one.
    pub fn card(&self, number: u32) -> Option<PathBuf> {
        let path = self.root.join(format!("nvidia{number}"));
        path.exists().then_some(path)
    }

    /// Opens what is held, closes the rest, and says how many files were not as
    /// they should be. `users` is the group of those who hold any GPU.
    pub fn enforce(&self, holders: &Holders, users: Option<u32>) -> io::Result<usize> {
        let mut changed = 0;
        for path in self.cards()? {
            changed += usize::from(match holders.get(&path) {
                Some(group) => set(&path, *group, ONLY_ITS_GROUP)?,
                None => set(&path, 0, CLOSED)?,
            });
        }
        for path in self.shared() {
            changed += usize::from(match users {
                Some(group) if !holders.is_empty() => set(&path, group, ONLY_ITS_GROUP)?,
                _ => set(&path, 0, CLOSED)?,
            });
        }
        Ok(changed)
    }

    /// Everything that a login with these cards may open, for a device policy.
    pub fn allowed(&self, cards: &[PathBuf]) -> Vec<PathBuf> {
        let mut all = cards.to_vec();
        if !cards.is_empty() {
            all.extend(self.shared());
        }
        for name in HARMLESS {
            let path = self.root.join(name);
            match std::fs::read_dir(&path) {
                Ok(entries) => all.extend(entries.flatten().map(|entry| entry.path()).take(MAX_EXTRA)),
                Err(_) => all.extend(path.exists().then_some(path)),
            }
        }
        all
    }

    /// Files whose name is that of a card: `nvidia` and a number.
    fn cards(&self) -> io::Result<Vec<PathBuf>> {
        let is_card = |name: &str| name.strip_prefix("nvidia").is_some_and(|rest| rest.parse::<u32>().is_ok());
        let entries = match std::fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let cards = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_card));
        Ok(cards.map(|entry| entry.path()).collect())
    }

    fn shared(&self) -> impl Iterator<Item = PathBuf> {
        let root = self.root.clone();
        SHARED.iter().map(move |name| root.join(name)).filter(|path| path.exists())
    }
}

/// Whether something had to be changed.
fn set(path: &Path, group: u32, mode: u32) -> io::Result<bool> {
    let found = std::fs::symlink_metadata(path)?;
    // A link or a folder of that name is nothing that the driver made.
    if found.is_symlink() || found.is_dir() {
        return Ok(false);
    }
    let is_owned = (found.uid(), found.gid()) == (0, group);
    let is_so = is_owned && found.mode() & 0o7777 == mode;
    if is_so {
        return Ok(false);
    }
    // Closed first: nobody opens it between the two steps.
    std::fs::set_permissions(path, Permissions::from_mode(CLOSED))?;
    chown(path, Some(0), Some(group))?;
    std::fs::set_permissions(path, Permissions::from_mode(mode))?;
    Ok(true)
}

/// Processes of ordinary users, with ids from `first_uid` on, that have the file
/// open: they would keep it however its permissions change.
pub(crate) fn openers(path: &Path, first_uid: u32) -> Vec<i32> {
    let Ok(wanted) = std::fs::metadata(path) else { return Vec::new() };
    let is_it = |found: &std::fs::Metadata| {
        let is_device = wanted.file_type().is_char_device() && found.file_type().is_char_device();
        if is_device {
            found.rdev() == wanted.rdev()
        } else {
            found.dev() == wanted.dev() && found.ino() == wanted.ino()
        }
    };
    let has_it = |pid: &i32| {
        let is_ordinary = std::fs::metadata(format!("/proc/{pid}")).is_ok_and(|it| it.uid() >= first_uid);
        let files = || std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        is_ordinary && files().any(|file| std::fs::metadata(file.path()).is_ok_and(|found| is_it(&found)))
    };
    crate::workloads::login::processes::all().filter(has_it).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cards_and_what_they_share_are_touched() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["nvidia0", "nvidia10", "nvidiactl", "nvidia-uvm", "nvidia-fs0", "nvidiax", "null"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let devices = Devices::below(folder.path());
        let mut cards: Vec<_> = devices.cards().unwrap();
        cards.sort();
        assert_eq!(cards, [folder.path().join("nvidia0"), folder.path().join("nvidia10")]);
        assert_eq!(devices.shared().count(), 2);
        assert!(devices.card(10).is_some() && devices.card(1).is_none());
        assert_eq!(devices.allowed(&cards[..1]).len(), 3, "its card and what cards share");
        assert!(devices.allowed(&[]).is_empty());
    }
}
