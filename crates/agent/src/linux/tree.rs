//! Removing a whole tree of a tenant's making: however deep it is, with a few open
//! files, never through a link and never onto what is mounted below. A few levels are
//! kept open; those above are opened again through "..", and only if that leads to
//! where the way down came from.

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat, openat2};
use nix::sys::stat::{Mode, fstat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::collections::VecDeque;
use std::ffi::CString;
use std::fs::ReadDir;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

const OPEN: usize = 64; // bound: levels that are open at once, with two files each
const REMEMBERED: usize = 100_000; // bound: levels whose names are in memory; a deeper tree takes more rounds
const ROUNDS: usize = 100_000; // bound: each takes almost as many levels off as are remembered
const AGAIN: usize = 1000; // bound: folders that somebody else wrote into while they were emptied

pub(crate) const FOLDER: OFlag =
    OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// The folder and everything below it are gone; one that is not there is.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    remove_remembering(path, REMEMBERED)
}

fn remove_remembering(path: &Path, levels: usize) -> io::Result<()> {
    for _ in 0..ROUNDS {
        let top = match open(path, FOLDER, Mode::empty()) {
            Ok(top) => Level::new(CString::default(), top)?,
            Err(Errno::ENOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if empty(top, levels)? {
            return std::fs::remove_dir(path);
        }
    }
    Err(io::Error::other("the directory tree is too deep to be removed"))
}

/// Empties the folder, or, where more levels are below it than may be remembered,
/// one far down. Says whether it was the folder itself.
fn empty(top: Level, most: usize) -> io::Result<bool> {
    let (mut levels, mut is_top) = (VecDeque::from([top]), true);
    let mut again = AGAIN;
    // Every turn removes something or goes down to where there is something.
    while let Some(current) = levels.back_mut() {
        if let Some(below) = current.next_full()? {
            levels.push_back(below);
            if let Some(far) = levels.len().checked_sub(OPEN + 1) {
                levels[far].opened = None;
            }
            if levels.len() > most {
                levels.pop_front();
                is_top = false;
            }
            continue;
        }
        let Some(emptied) = levels.pop_back() else { break };
        let Some(above) = levels.back_mut() else { break };
        if !above.remove_emptied(emptied)? {
            again = again.checked_sub(1).ok_or_else(|| io::Error::other("another process writes into it"))?;
        }
    }
    Ok(is_top)
}

/// A folder on the way down.
struct Level {
    /// In the folder above.
    name: CString,
    /// The file system and its number there.
    place: (u64, u64),
    opened: Option<OpenFolder>,
}

struct OpenFolder {
    folder: OwnedFd,
    entries: ReadDir,
}

impl OpenFolder {
    fn new(folder: OwnedFd) -> io::Result<Self> {
        let entries = std::fs::read_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
        Ok(Self { folder, entries })
    }
}

impl Level {
    fn new(name: CString, folder: OwnedFd) -> io::Result<Self> {
        Ok(Self { name, place: place(&folder)?, opened: Some(OpenFolder::new(folder)?) })
    }

    fn opened(&mut self) -> io::Result<&mut OpenFolder> {
        self.opened.as_mut().ok_or_else(|| io::Error::other("a directory was closed too early"))
    }

    /// Removes entries up to the first folder that has something in it.
    fn next_full(&mut self) -> io::Result<Option<Level>> {
        let OpenFolder { folder, entries } = self.opened()?;
        for entry in entries {
            let entry = entry?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = CString::new(entry.file_name().into_vec())?;
            let flag = if is_folder { UnlinkatFlags::RemoveDir } else { UnlinkatFlags::NoRemoveDir };
            match unlinkat(&*folder, name.as_c_str(), flag) {
                Ok(()) | Err(Errno::ENOENT) => continue,
                Err(Errno::ENOTEMPTY | Errno::EEXIST | Errno::EISDIR) => {}
                Err(error) => return Err(named(&name, error)),
            }
            match enter(folder, &name) {
                Ok(below) => return Level::new(name, below).map(Some),
                Err(Errno::ENOENT) => {}
                Err(error) => return Err(named(&name, error)),
            }
        }
        Ok(None)
    }

    /// Removes a folder of this one that was emptied. If there is something in it
    /// again, this one is read again.
    fn remove_emptied(&mut self, mut emptied: Level) -> io::Result<bool> {
        if self.opened.is_none() {
            let folder = openat(&emptied.opened()?.folder, "..", FOLDER, Mode::empty())?;
            if place(&folder)? != self.place {
                return Err(named(&emptied.name, "was moved while it was being removed"));
            }
            self.opened = Some(OpenFolder::new(folder)?);
        }
        let opened = self.opened()?;
        match unlinkat(&opened.folder, emptied.name.as_c_str(), UnlinkatFlags::RemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(true),
            Err(Errno::ENOTEMPTY | Errno::EEXIST) => {
                opened.entries = std::fs::read_dir(format!("/proc/self/fd/{}", opened.folder.as_raw_fd()))?;
                Ok(false)
            }
            Err(error) => Err(named(&emptied.name, error)),
        }
    }
}

/// By mounts and not by numbers of file systems: a subvolume is the tenant's own.
fn enter(folder: &OwnedFd, name: &CString) -> nix::Result<OwnedFd> {
    let how = OpenHow::new().flags(FOLDER).resolve(ResolveFlag::RESOLVE_NO_XDEV | ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(folder, name.as_c_str(), how) {
        // A kernel from before 2020.
        Err(Errno::ENOSYS) => openat(folder, name.as_c_str(), FOLDER, Mode::empty()),
        entered => entered,
    }
}

fn place(folder: &OwnedFd) -> io::Result<(u64, u64)> {
    let found = fstat(folder)?;
    Ok((found.st_dev, found.st_ino))
}

fn named(name: &CString, why: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {why}", name.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    use nix::sys::stat::mkdirat;

    /// Folders one in another, and a file in the last.
    fn deep(top: &Path, levels: usize) {
        std::fs::create_dir(top).unwrap();
        let mut folder = open(top, FOLDER, Mode::empty()).unwrap();
        for _ in 0..levels {
            mkdirat(&folder, "d", Mode::S_IRWXU).unwrap();
            folder = openat(&folder, "d", FOLDER, Mode::empty()).unwrap();
        }
        std::fs::write(format!("/proc/self/fd/{}/file", folder.as_raw_fd()), "x").unwrap();
    }

    #[test]
    fn trees_deeper_than_files_can_be_open_are_removed() {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, 4096.min(hard), hard).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("top");
        deep(&top, 10_000);
        for side in ["a", "b"] {
            deep(&top.join(side), 200);
        }
        remove(&top).unwrap();
        assert!(!top.exists());
        remove(&top).unwrap();
    }

    #[test]
    fn trees_deeper_than_is_remembered_take_more_rounds() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("top");
        deep(&top, 1000);
        deep(&top.join("beside"), 300);
        remove_remembering(&top, 100).unwrap();
        assert!(!top.exists());
    }

    #[test]
    fn links_are_removed_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (top, outside) = (folder.path().join("top"), folder.path().join("outside"));
        std::fs::create_dir_all(top.join("full/empty")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("precious"), "x").unwrap();
        for link in ["link", "full/link"] {
            std::os::unix::fs::symlink(&outside, top.join(link)).unwrap();
        }
        std::os::unix::fs::symlink(&outside, folder.path().join("to")).unwrap();
        assert!(remove(&folder.path().join("to")).is_err(), "a link is not a tree");
        remove(&top).unwrap();
        assert!(!top.exists() && outside.join("precious").exists());
    }
}
