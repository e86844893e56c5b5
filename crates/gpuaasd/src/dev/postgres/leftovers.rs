//! What an earlier run left: a server without a supervisor, backends without
//! a server, a lock file that names a stranger. A process counts as ours if it
//! is a `postgres` that works in the data folder, whatever the lock file says.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::MetadataExt,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{
    DevError,
    account::{Account, command},
    place::ClusterPaths,
};

const POLL: Duration = Duration::from_millis(20);

/// Ends every process that works on the data, then a stale lock file.
pub(super) fn sweep(place: &ClusterPaths) -> Result<(), DevError> {
    let left = find(&place.data, place.account.as_ref());
    if !left.is_empty() {
        tracing::info!(pids = ?left, data = %place.data.display(), "stopping processes of an earlier run");
        end(place)?;
    }
    remove_stale_lock(&place.data);
    Ok(())
}

/// Folders are compared by number, not by path: to a process in a container
/// the same path means another folder.
pub(super) fn find(data: &Path, account: Option<&Account>) -> Vec<i32> {
    let Ok(folder) = fs::metadata(data) else {
        return Vec::new();
    };
    let folder = (folder.dev(), folder.ino());
    let mut ours = Vec::new();
    let mut hidden = Vec::new();
    for pid in every_postgres() {
        match fs::metadata(working_folder(pid)) {
            Ok(cwd) if (cwd.dev(), cwd.ino()) == folder => ours.push(pid),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => hidden.push(pid),
            _ => {}
        }
    }
    if let Some(account) = account
        && !hidden.is_empty()
    {
        ours.extend(find_as(account, &hidden, folder));
    }
    ours
}

fn every_postgres() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|it| it.file_name().to_str()?.parse().ok()).filter(|pid| {
        let comm = fs::read_to_string(format!("/proc/{pid}/comm"));
        comm.is_ok_and(|it| it.trim_end() == "postgres")
    })
}

fn working_folder(pid: i32) -> String {
    format!("/proc/{pid}/cwd")
}

/// Root in a container may not see where other users' processes work, but
/// those users may.
fn find_as(account: &Account, pids: &[i32], folder: (u64, u64)) -> Vec<i32> {
    let format = "--format=%d %i %n";
    let output = command(Some(account), Path::new("stat"), Path::new("/"))
        .args(["--dereference", format])
        .args(pids.iter().map(|pid| working_folder(*pid)))
        .stderr(Stdio::null())
        .output();
    let Ok(output) = output else {
        return Vec::new();
    };
    let seen = String::from_utf8_lossy(&output.stdout);
    let is_ours = |pid: &i32| {
        let line = format!("{} {} {}", folder.0, folder.1, working_folder(*pid));
        seen.lines().any(|it| it == line)
    };
    pids.iter().copied().filter(is_ours).collect()
}

/// Politely to the server, which ends its backends itself; then to all.
fn end(place: &ClusterPaths) -> Result<(), DevError> {
    let find = || find(&place.data, place.account.as_ref());
    let server = lock_pid(&place.data);
    let has_server = find().iter().any(|pid| Some(*pid) == server);
    let patience = Duration::from_secs(if has_server { 20 } else { 2 });
    for (signal, patience) in [
        (Signal::SIGINT, patience),
        (Signal::SIGQUIT, Duration::from_secs(10)),
        (Signal::SIGKILL, Duration::from_secs(5)),
    ] {
        let only_server = has_server && signal != Signal::SIGKILL;
        for pid in find() {
            if !only_server || Some(pid) == server {
                // It may be gone since we looked.
                let _ = kill(Pid::from_raw(pid), signal);
            }
        }
        let started = Instant::now();
        while started.elapsed() < patience {
            if find().is_empty() {
                return Ok(());
            }
            thread::sleep(POLL);
        }
    }
    Err(DevError::StillRunning { pids: find(), data: place.data.clone() })
}

/// Call it when no process works on the data. The server itself ignores a lock
/// file whose process is gone, but refuses to start where a process of its
/// account has that number now.
fn remove_stale_lock(data: &Path) {
    let Some(pid) = lock_pid(data) else { return };
    if kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH) {
        return;
    }
    tracing::info!(pid, data = %data.display(), "removing a lock file that names another process");
    // Should it stay, the server says so when it starts.
    let _ = fs::remove_file(data.join("postmaster.pid"));
}

fn lock_pid(data: &Path) -> Option<i32> {
    let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    text.lines().next()?.trim().parse().ok().filter(|it| *it > 0)
}
