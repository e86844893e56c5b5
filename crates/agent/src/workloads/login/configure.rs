//! What the agent sets up on a host that it is the master of: sshd reads the keys
//! of logins from the agent's folder, and users do not see each other's processes.
//! Done at every start, so that an edit by hand does not last.

use super::users::LOGINS;
use super::{groups, keys, sshd};
use crate::config::Config;
use crate::linux::command::{run, tool};
use crate::state;
use crate::steps::{self, Failure};
use std::io;
use std::path::{Path, PathBuf};

/// Read first: sshd takes the first value that it finds.
pub(crate) const SSHD_FILE: &str = "/etc/ssh/sshd_config.d/00-gpuaas.conf";
const LIMITS_FOLDER: &str = "/etc/security/limits.d";
const LIMITS_FILE: &str = "/etc/security/limits.d/gpuaas.conf";

/// What could not be done, each with what follows from it.
pub(crate) async fn configure(config: &Config) -> Vec<String> {
    let mut left = Vec::new();
    let made = run(tool("groupadd", &["--force", "--system", LOGINS])).await;
    if !made.is_ok_and(|ended| ended.is_success()) {
        left.push(format!("the group {LOGINS} could not be created: sshd cannot distinguish logins from other users"));
    }
    if let Err(error) = keys::make_root(&config.keys_root) {
        left.push(format!("{}: {error}: keys cannot be used to log in", config.keys_root.display()));
    }
    left.extend(sshd_file(config).await.err());
    left.extend(open_files().err());
    left.extend(hide_processes().await.err());
    left
}

/// Whether sshd then does as it is told is asked for each login that is handed over.
async fn sshd_file(config: &Config) -> Result<(), String> {
    let Some(program) = sshd::program() else { return Ok(()) };
    let wanted = sshd::settings(config);
    if std::fs::read_to_string(SSHD_FILE).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    let write = state::replace(Path::new(SSHD_FILE), wanted.as_bytes(), 0o644);
    write.map_err(|error| format!("{SSHD_FILE}: {error}: no login is created while sshd accepts other keys"))?;
    let tested = run(sshd::asked(&program, &["-t"])).await?;
    if !tested.is_success() {
        // A broken file would keep the operator out, too.
        let _ = std::fs::remove_file(SSHD_FILE);
        return Err(format!("{SSHD_FILE} was reverted because sshd rejects it: {}", tested.said));
    }
    // One of the two is its name; without systemd the operator restarts it.
    for unit in ["ssh.service", "sshd.service"] {
        let _ = run(tool("systemctl", &["--quiet", "try-reload-or-restart", unit])).await;
    }
    Ok(())
}

/// The same for sessions of sshd as for those of gateways.
fn open_files() -> Result<(), String> {
    if !Path::new(LIMITS_FOLDER).is_dir() {
        return Ok(());
    }
    let text = format!("# Written by gpuaas-node at every start.\n@{LOGINS} hard nofile {}\n", groups::OPEN_FILES);
    state::replace(Path::new(LIMITS_FILE), text.as_bytes(), 0o644).map_err(|error| format!("{LIMITS_FILE}: {error}"))
}

/// The login's own limit, for its sessions of sshd: a line of a user goes before one
/// of a group.
pub(crate) fn limit_files(name: &str, open_files: u32) -> steps::Result<()> {
    limit_files_in(Path::new(LIMITS_FOLDER), name, open_files).map_err(limits_failed)
}

/// Nothing is left of a login that is gone.
pub(crate) fn forget_files(name: &str) -> steps::Result<()> {
    forget_files_in(Path::new(LIMITS_FOLDER), name).map_err(limits_failed)
}

fn limits_failed(error: io::Error) -> Failure {
    Failure::passing("control_group", format!("the limit of open files in {LIMITS_FOLDER}: {error}"))
}

fn limits_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("gpuaas-{name}.conf"))
}

fn limit_files_in(folder: &Path, name: &str, open_files: u32) -> io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    let soft = open_files.min(groups::USUAL_FILES);
    let text = format!("# Written by gpuaas-node.\n{name} soft nofile {soft}\n{name} hard nofile {open_files}\n");
    state::replace(&limits_file(folder, name), text.as_bytes(), 0o644)
}

fn forget_files_in(folder: &Path, name: &str) -> io::Result<()> {
    match std::fs::remove_file(limits_file(folder, name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Under the unit this is a /proc of the agent and of the shells that it starts; the
/// host's own is set by the unit.
async fn hide_processes() -> Result<(), String> {
    if are_processes_hidden() {
        return Ok(());
    }
    let ended = run(tool("mount", &["-o", "remount,hidepid=2", "/proc"])).await?;
    if ended.is_success() && are_processes_hidden() {
        return Ok(());
    }
    Err(format!("tenants can see each other's command lines; mount /proc with hidepid=2 ({})", ended.said))
}

/// Whether users see their own processes only.
pub(crate) fn are_processes_hidden() -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let line = mounts.lines().find(|line| line.split(' ').nth(1) == Some("/proc"));
    let options = line.and_then(|line| line.split(' ').nth(3)).unwrap_or_default();
    options.split(',').any(|option| ["hidepid=2", "hidepid=invisible"].contains(&option))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_files_of_a_login_are_limited_while_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gpuaas-ga.conf");
        limit_files_in(folder.path(), "ga", 4096).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.ends_with("ga soft nofile 1024\nga hard nofile 4096\n"), "{text}");
        limit_files_in(folder.path(), "ga", 256).unwrap();
        assert!(std::fs::read_to_string(&file).unwrap().ends_with("ga soft nofile 256\nga hard nofile 256\n"));
        for _ in 0..2 {
            forget_files_in(folder.path(), "ga").unwrap();
        }
        assert!(!file.exists());
        limit_files_in(&folder.path().join("none"), "ga", 256).unwrap();
    }
}
