//! cron and at start programs outside of the login's control group, without its
//! limits and devices, so logins may use neither. Timers of systemd's user manager
//! run inside the group and stay.

use crate::state;
use crate::steps::{Failure, Result};
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

const CRON_DENY: &str = "/etc/cron.deny";
/// Where this is missing nobody but root may use at; making it would let everybody.
const AT_DENY: &str = "/etc/at.deny";

/// Whoever changes a list reads it before: one at a time.
static ONE: Mutex<()> = Mutex::new(());

/// Jobs of the login are refused from now on.
pub(crate) fn deny(name: &str) -> Result<()> {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let denied = deny_in(Path::new(CRON_DENY), Path::new(AT_DENY), name);
    denied
        .map_err(|error| Failure::passing("control_group", format!("access to cron or at cannot be revoked: {error}")))
}

fn deny_in(cron: &Path, at: &Path, name: &str) -> io::Result<()> {
    add(cron, name)?;
    if at.exists() { add(at, name) } else { Ok(()) }
}

/// The name of a login that is gone is in no list.
pub(crate) fn forget(name: &str) -> Result<()> {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = take(Path::new(CRON_DENY), name).and_then(|()| take(Path::new(AT_DENY), name));
    taken.map_err(|error| Failure::passing("control_group", format!("a job list of cron or at: {error}")))
}

fn lines(file: &Path) -> io::Result<Vec<String>> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn write(file: &Path, lines: &[String]) -> io::Result<()> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    // Read by programs that run as the user's group or as their own.
    state::replace(file, text.as_bytes(), 0o644)
}

fn add(file: &Path, name: &str) -> io::Result<()> {
    let mut lines = lines(file)?;
    if lines.iter().any(|line| line == name) {
        return Ok(());
    }
    lines.push(name.to_owned());
    write(file, &lines)
}

fn take(file: &Path, name: &str) -> io::Result<()> {
    let before = lines(file)?;
    let after: Vec<String> = before.iter().filter(|line| *line != name).cloned().collect();
    if before.len() == after.len() { Ok(()) } else { write(file, &after) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn login_is_denied_both_and_nobody_is_let_in_by_it() {
        let folder = tempfile::tempdir().unwrap();
        let (cron, at) = (folder.path().join("cron.deny"), folder.path().join("at.deny"));
        deny_in(&cron, &at, "g0123456789ab").unwrap();
        assert_eq!(std::fs::read_to_string(&cron).unwrap(), "g0123456789ab\n");
        assert!(!at.exists(), "without the list nobody may use at; with it everybody else could");
        std::fs::write(&at, "").unwrap();
        deny_in(&cron, &at, "g0123456789ab").unwrap();
        assert_eq!(std::fs::read_to_string(&at).unwrap(), "g0123456789ab\n");
    }

    #[test]
    fn lists_keep_what_others_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cron.deny");
        take(&file, "gone").unwrap();
        assert!(!file.exists(), "a list is made only to deny somebody");
        std::fs::write(&file, "guest\n").unwrap();
        for _ in 0..2 {
            add(&file, "g0123456789ab").unwrap();
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "guest\ng0123456789ab\n");
        take(&file, "g0123456789ab").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "guest\n");
    }
}
