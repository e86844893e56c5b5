//! Removing what a user leaves on a host: the home, and files elsewhere that it
//! owns. Links are removed, never followed.

use super::processes::Ids;
use super::users::User;
use crate::config::Config;
use crate::linux::command::{run, tool};
use crate::linux::{mounts, tree};
use crate::steps::{Failure, Result};
use nix::errno::Errno;
use nix::fcntl::{open, openat};
use nix::sys::stat::Mode;
use std::fs::symlink_metadata;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where every user may write.
const SHARED: &[&str] = &[
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/dev/mqueue",
    "/run/lock",
    "/run/screen",
    "/var/crash",
    "/var/spool/cron/atjobs",
    "/var/spool/cron/atspool",
    "/var/spool/at",
];
const MAX_DEPTH: usize = 64; // bound: deeper than any tool makes; the home is removed without it
const MAX_OWN: usize = 10_000_000; // bound: a sweep ends; the next attempt goes on where it was
const MAX_LOOKED_AT: usize = 50_000_000; // bound: a look ends; a folder with more is not one for logins
const MAX_FOUND: usize = 1000; // bound: enough to know that there are any

/// The folders where logins may write besides their homes: those of every host and
/// the operator's own.
fn shared(config: &Config) -> Vec<PathBuf> {
    SHARED.iter().map(PathBuf::from).chain(config.shared_folders.iter().cloned()).collect()
}

pub(crate) async fn remove_all_of(user: &User, ids: &Ids, config: &Config) -> Result<()> {
    mounts::detach(&[&user.home, &runtime_folder(user)], ids).await?;
    let (user_left, ids_left, shared) = (user.clone(), ids.clone(), shared(config));
    let swept = tokio::task::spawn_blocking(move || sweep(&user_left, &ids_left, &shared)).await;
    let swept = swept.unwrap_or_else(|error| Err(io::Error::other(error)));
    swept.map_err(|error| Failure::passing("home", format!("files of {} remain: {error}", user.name)))?;
    // Shared memory outlives its makers; a host without ipcrm has none to speak of.
    for (kind, id) in segments(ids) {
        let _ = run(tool("ipcrm", &[kind, &id])).await;
    }
    Ok(())
}

fn runtime_folder(user: &User) -> PathBuf {
    format!("/run/user/{}", user.uid).into()
}

fn sweep(user: &User, ids: &Ids, shared: &[PathBuf]) -> io::Result<()> {
    let User { name, home, .. } = user;
    let mut left = MAX_OWN;
    for folder in shared {
        remove_owned(folder, ids, 0, &mut left)?;
    }
    for path in [
        format!("/var/spool/cron/crontabs/{name}"),
        format!("/var/spool/cron/{name}"),
        format!("/var/lib/systemd/linger/{name}"),
        format!("/var/mail/{name}"),
    ] {
        remove(Path::new(&path))?;
    }
    remove(&runtime_folder(user))?;
    // A home of "/" or the like is somebody's mistake, not a home.
    if home.components().count() < 3 {
        return Err(io::Error::other(format!("{} is not a home directory", home.display())));
    }
    remove(home)
}

/// What the ids own below a folder that others use too. Only that is counted:
/// however much others have there, it holds up nobody's cleaning.
fn remove_owned(folder: &Path, ids: &Ids, depth: usize, left: &mut usize) -> io::Result<()> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(found) = symlink_metadata(&path) else {
            continue;
        };
        if ids.iter().any(|range| range.contains(&found.uid())) {
            *left = left.checked_sub(1).ok_or_else(|| io::Error::other("more files in shared folders"))?;
            remove(&path)?;
        // Not into other users' folders: they could be swapped for links meanwhile.
        } else if found.is_dir() && found.uid() == 0 && depth < MAX_DEPTH {
            remove_owned(&path, ids, depth + 1, left)?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match symlink_metadata(path) {
        Ok(found) if found.is_dir() => tree::remove(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

/// A home whose user is gone already, from a removal that was cut short. Only of
/// names that the control plane makes, so that no other's home is taken for one.
pub(crate) async fn remove_orphaned_home(root: &Path, name: &str) -> Result<()> {
    if !is_made_name(name) {
        return Ok(());
    }
    let home: PathBuf = root.join(name);
    mounts::detach(&[&home], &Ids::new()).await?;
    let removed = tokio::task::spawn_blocking(move || remove(&home)).await;
    let removed = removed.unwrap_or_else(|error| Err(io::Error::other(error)));
    removed.map_err(|error| Failure::passing("home", error.to_string()))
}

/// Files of the ids in the shared folders, some of them if there are many. Fails
/// where a folder could not be looked through to its end.
pub(crate) fn left_in_shared(config: &Config, ids: &Ids) -> io::Result<Vec<PathBuf>> {
    let mut look = FolderWalk { ids, found: Vec::new(), left: MAX_LOOKED_AT };
    for folder in shared(config) {
        let opened = match open(&folder, tree::FOLDER, Mode::empty()) {
            Ok(opened) => opened,
            Err(error) if is_gone(error) => continue,
            Err(error) => return Err(io::Error::other(format!("{}: {error}", folder.display()))),
        };
        look.through(&opened, &folder, 0)
            .map_err(|error| io::Error::other(format!("{}: {error}", folder.display())))?;
    }
    Ok(look.found)
}

/// What was there a moment ago went, or is no folder any more.
fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP)
}

/// Also into folders of other users, who may have opened them to logins: nothing is
/// changed on the way. From folder to folder: a whole path may be longer than the
/// kernel takes.
struct FolderWalk<'a> {
    ids: &'a Ids,
    found: Vec<PathBuf>,
    left: usize,
}

impl FolderWalk<'_> {
    fn through(&mut self, folder: &OwnedFd, shown: &Path, depth: usize) -> io::Result<()> {
        for entry in std::fs::read_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))? {
            let entry = entry?;
            // It may be gone since.
            let Ok(metadata) = entry.metadata() else { continue };
            self.left = self.left.checked_sub(1).ok_or_else(|| io::Error::other("more files than are searched"))?;
            if self.found.len() == MAX_FOUND {
                return Ok(());
            }
            if self.ids.iter().any(|range| range.contains(&metadata.uid())) {
                self.found.push(shown.join(entry.file_name()));
            } else if metadata.is_dir() && depth < MAX_DEPTH {
                match openat(folder, entry.file_name().as_os_str(), tree::FOLDER, Mode::empty()) {
                    Ok(below) => self.through(&below, &shown.join(entry.file_name()), depth + 1)?,
                    Err(error) if is_gone(error) => {}
                    Err(error) => return Err(io::Error::other(format!("{}: {error}", entry.file_name().display()))),
                }
            }
        }
        Ok(())
    }
}

/// Homes that no user has any more and that the control plane's names are on.
pub(crate) fn homes_below(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_made_name(name)).collect()
}

/// Whether the control plane makes such names.
fn is_made_name(name: &str) -> bool {
    name.len() == 13 && name.starts_with('g') && name[1..].chars().all(|c| c.is_ascii_hexdigit())
}

/// System V shared memory, semaphores and queues of the ids.
fn segments(ids: &Ids) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for (file, kind) in [("shm", "-m"), ("sem", "-s"), ("msg", "-q")] {
        let table = std::fs::read_to_string(format!("/proc/sysvipc/{file}")).unwrap_or_default();
        let mut lines = table.lines();
        let columns: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
        let Some(at) = columns.iter().position(|column| *column == "uid") else {
            continue;
        };
        for line in lines {
            let values: Vec<&str> = line.split_whitespace().collect();
            let owner = values.get(at).and_then(|value| value.parse::<u32>().ok());
            if owner.is_some_and(|owner| ids.iter().any(|range| range.contains(&owner)))
                && let Some(id) = values.get(1)
            {
                found.push((kind, (*id).to_owned()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::mkdirat;

    #[test]
    fn neighbors_files_are_neither_counted_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..20 {
            std::fs::write(folder.path().join(number.to_string()), "").unwrap();
        }
        let mut left = 5;
        remove_owned(folder.path(), &vec![4_000_000_000..=4_000_000_001], 0, &mut left).unwrap();
        assert_eq!((left, std::fs::read_dir(folder.path()).unwrap().count()), (5, 20));
        let own = nix::unistd::getuid().as_raw();
        let mut left = 19;
        let stopped = remove_owned(folder.path(), &vec![own..=own], 0, &mut left);
        assert!(stopped.is_err(), "own files are counted");
        let mut left = 19;
        remove_owned(folder.path(), &vec![own..=own], 0, &mut left).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the next attempt goes on");
    }

    #[test]
    fn files_are_found_where_no_whole_path_leads() {
        let folder = tempfile::tempdir().unwrap();
        let name = "n".repeat(250);
        let mut below = open(folder.path(), tree::FOLDER, Mode::empty()).unwrap();
        for _ in 0..MAX_DEPTH / 2 {
            mkdirat(&below, name.as_str(), Mode::S_IRWXU).unwrap();
            below = openat(&below, name.as_str(), tree::FOLDER, Mode::empty()).unwrap();
        }
        std::fs::write(format!("/proc/self/fd/{}/file", below.as_raw_fd()), "x").unwrap();
        let config = Config { shared_folders: vec![folder.path().to_owned()], ..Config::default() };
        assert_eq!(left_in_shared(&config, &vec![4_000_000_000..=4_000_000_001]).unwrap(), Vec::<PathBuf>::new());
        let own = nix::unistd::getuid().as_raw();
        let mut look = FolderWalk { ids: &vec![own..=own], found: Vec::new(), left: 100 };
        look.through(&open(folder.path(), tree::FOLDER, Mode::empty()).unwrap(), folder.path(), 0).unwrap();
        assert_eq!(look.found, [folder.path().join(name)]);
        tree::remove(&folder.path().join("n".repeat(250))).unwrap();
    }
}
