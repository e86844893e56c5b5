//! Removing what a user leaves on a host: the home, and files elsewhere that it
//! owns. Links are removed, never followed.

use super::command::{run, tool};
use super::users::User;
use crate::driver::{Failure, Result};
use std::fs::symlink_metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where every user may write.
const SHARED: &[&str] = &["/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/var/spool/cron/atjobs", "/var/crash"];
const MAX_DEPTH: usize = 64; // bound: deeper than any tool makes; the home is removed without it
const MAX_ENTRIES: usize = 1_000_000; // bound: a sweep ends; what is left is reported

pub(super) async fn remove_all_of(user: &User) -> Result<()> {
    let (owner, name) = (user.uid, user.name.clone());
    let home = user.home.clone();
    let swept = tokio::task::spawn_blocking(move || sweep(owner, &name, &home)).await;
    let swept = swept.unwrap_or_else(|error| Err(io::Error::other(error)));
    swept.map_err(|error| Failure::passing("home", format!("files of {} remain: {error}", user.name)))?;
    // Shared memory outlives its makers; a host without ipcrm has none to speak of.
    for (kind, id) in segments(user.uid) {
        let _ = run(tool("ipcrm", &[kind, &id])).await;
    }
    Ok(())
}

fn sweep(uid: u32, name: &str, home: &Path) -> io::Result<()> {
    let mut left = MAX_ENTRIES;
    for folder in SHARED {
        remove_owned(Path::new(folder), uid, 0, &mut left)?;
    }
    for path in [
        format!("/var/spool/cron/crontabs/{name}"),
        format!("/var/lib/systemd/linger/{name}"),
        format!("/var/mail/{name}"),
        format!("/run/user/{uid}"),
    ] {
        remove(Path::new(&path))?;
    }
    // A home of "/" or the like is somebody's mistake, not a home.
    if home.components().count() < 3 {
        return Err(io::Error::other(format!("{} is not a home", home.display())));
    }
    remove(home)
}

/// What the user owns below a folder that others use too.
fn remove_owned(folder: &Path, uid: u32, depth: usize, left: &mut usize) -> io::Result<()> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        *left = left.checked_sub(1).ok_or_else(|| io::Error::other("too many files in shared folders"))?;
        let path = entry.path();
        let Ok(found) = symlink_metadata(&path) else {
            continue;
        };
        if found.uid() == uid {
            remove(&path)?;
        // Not into other users' folders: they could be swapped for links meanwhile.
        } else if found.is_dir() && found.uid() == 0 && depth < MAX_DEPTH {
            remove_owned(&path, uid, depth + 1, left)?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match symlink_metadata(path) {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path),
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
pub(super) fn remove_orphaned_home(root: &Path, name: &str) -> Result<()> {
    let is_made = name.len() == 13 && name.starts_with('g') && name[1..].chars().all(|c| c.is_ascii_hexdigit());
    if !is_made {
        return Ok(());
    }
    let home: PathBuf = root.join(name);
    remove(&home).map_err(|error| Failure::passing("home", error.to_string()))
}

/// System V shared memory, semaphores and queues of the user.
fn segments(uid: u32) -> Vec<(&'static str, String)> {
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
            if values.get(at).and_then(|value| value.parse().ok()) == Some(uid)
                && let Some(id) = values.get(1)
            {
                found.push((kind, (*id).to_owned()));
            }
        }
    }
    found
}
