//! Connections to the host's own sshd. Each is a process of root's that watches and
//! one of the login's that carries; with them end the terminals that they hold. What
//! was started and left its terminal, and shells of gateways, go on.

use super::processes::{self, Ids};
use super::users::User;
use crate::steps::{Failure, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

const ROUNDS: u32 = 50; // bound: five seconds of pauses; what survives that hangs in the kernel
const POLITE_ROUNDS: u32 = 20; // bound: two seconds in which sshd closes the session in its books
const PAUSE: Duration = Duration::from_millis(100); // bound: as above

/// Programs of sshd; since version 9.8 it is more than one.
const SSHD: &[&str] = &["sshd", "sshd-session", "sshd-auth"];
const FILE_SERVER: &str = "sftp-server";

#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    /// Told from another one that got the same number later.
    started: u64,
    is_root: bool,
    is_logins: bool,
    program: String,
    /// What it says that it is.
    title: String,
}

/// Ends every connection of the login that there is now, and says how many processes
/// that were. One that begins meanwhile has shown a key that still opens.
pub(crate) async fn end(user: &User) -> Result<usize> {
    let mut found: Vec<Process> = Vec::new();
    for round in 0..ROUNDS {
        let all = all(user.uid);
        if round == 0 {
            found = connections(&all, &user.name);
        } else {
            found.extend(late(&all, &found));
        }
        let alive: Vec<&Process> = all.iter().filter(|it| is_among(it, &found)).collect();
        if alive.is_empty() {
            return Ok(found.len());
        }
        for process in alive {
            // Root's own ends what it watches, and closes the session.
            let signal = if process.is_root && round < POLITE_ROUNDS { Signal::SIGTERM } else { Signal::SIGKILL };
            let _ = kill(Pid::from_raw(process.pid), signal);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(Failure::passing(
        "processes_left",
        format!("connections of {} to sshd are still open after they were closed", user.name),
    ))
}

fn is_among(process: &Process, found: &[Process]) -> bool {
    found.iter().any(|it| (it.pid, it.started) == (process.pid, process.started))
}

/// sshd as the login, sshd as root that says it is there for the login, and what
/// serves files for one of these.
fn connections(all: &[Process], login: &str) -> Vec<Process> {
    let is_sshd = |it: &&Process| {
        SSHD.contains(&it.program.as_str()) && (it.is_logins || (it.is_root && watches(&it.title, login)))
    };
    let mut found: Vec<Process> = all.iter().filter(is_sshd).cloned().collect();
    let parents: BTreeSet<i32> = found.iter().map(|it| it.pid).collect();
    let is_server = |it: &&Process| it.is_logins && it.program == FILE_SERVER && parents.contains(&it.parent);
    found.extend(all.iter().filter(is_server).cloned());
    found
}

/// What one of them started at the moment when it was ended; its parent may be gone.
fn late(all: &[Process], found: &[Process]) -> Vec<Process> {
    let is_child = |it: &&Process| it.parent == 1 || found.iter().any(|parent| parent.pid == it.parent);
    let is_carrier = |it: &&Process| it.is_logins && SSHD.contains(&it.program.as_str());
    all.iter().filter(is_carrier).filter(is_child).filter(|it| !is_among(it, found)).cloned().collect()
}

/// `sshd: NAME [priv]`, or of a later version `sshd-session: NAME [priv]`.
fn watches(title: &str, login: &str) -> bool {
    let behind = SSHD.iter().find_map(|program| title.strip_prefix(program)?.strip_prefix(": "));
    behind.is_some_and(|behind| behind.split([' ', '@']).next() == Some(login))
}

fn all(uid: u32) -> Vec<Process> {
    processes::all().filter_map(|pid| read(pid, &vec![uid..=uid])).collect()
}

/// None of a process that is gone or dead.
fn read(pid: i32, ids: &Ids) -> Option<Process> {
    let status = processes::status(pid)?;
    if processes::is_dead(&status) {
        return None;
    }
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let title = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let title = String::from_utf8_lossy(&title).trim_end_matches('\0').to_owned();
    Some(Process {
        pid,
        parent: processes::field(&status, "PPid:").trim().parse().ok()?,
        // The 22nd field; a name in parentheses may contain anything.
        started: stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?,
        is_root: processes::acts_as(&status, &vec![0..=0]),
        is_logins: processes::acts_as(&status, ids),
        program: program(pid).unwrap_or_else(|| processes::field(&status, "Name:").trim().to_owned()),
        title,
    })
}

/// The name of its file, which a process cannot choose for itself. One that was
/// replaced by an update is still the same.
fn program(pid: i32) -> Option<String> {
    let file = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let name = Path::new(&file).file_name()?.to_str()?;
    Some(name.trim_end_matches(" (deleted)").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, is_root: bool, program: &str, title: &str) -> Process {
        let (program, title) = (program.to_owned(), title.to_owned());
        Process { pid, parent, started: 1, is_root, is_logins: !is_root, program, title }
    }

    #[test]
    fn connections_are_distinguished_from_jobs_gateways_and_other_logins() {
        let all = [
            process(2, 1, true, "sshd", "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups"),
            process(3, 2, true, "sshd", "sshd: ga [priv]"),
            process(4, 3, false, "sshd", "sshd: ga@pts/0"),
            process(5, 4, false, "bash", "-bash"),
            process(6, 4, false, "sftp-server", "/usr/lib/openssh/sftp-server"),
            process(7, 9, false, "sftp-server", "/usr/lib/openssh/sftp-server"),
            process(8, 2, true, "sshd-session", "sshd-session: ga [priv]"),
            process(10, 2, true, "sshd", "sshd: gab [priv]"),
            process(11, 1, true, "vim", "sshd: ga [priv]"),
        ];
        let found = connections(&all, "ga");
        assert_eq!(found.iter().map(|it| it.pid).collect::<Vec<_>>(), [3, 4, 8, 6]);
        let now = [process(12, 3, false, "sshd", ""), process(13, 99, false, "sshd", "")];
        assert_eq!(late(&now, &found).iter().map(|it| it.pid).collect::<Vec<_>>(), [12]);
    }
}
