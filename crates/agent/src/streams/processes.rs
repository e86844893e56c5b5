//! The processes of a Unix session: how a terminal is hung up, and how nothing is
//! left of sessions that an agent before this one had.

use super::shell::LEADER;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgrp, getsid};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::process::Child;

const PATIENCE: u32 = 40; // bound: two seconds in which a shell can save its history
const COLLECT: Duration = Duration::from_secs(5); // bound: a killed process that stays hangs in the kernel
const PAUSE: Duration = Duration::from_millis(50); // bound: as above

struct Process {
    pid: i32,
    parent: i32,
    session: i32,
    is_dead: bool,
}

/// Hangs up and collects a child. One that has ended already is left as it is: its
/// number may be another's by now.
pub async fn end(child: &mut Child) {
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()) {
        hang_up(pid).await;
    }
    let _ = tokio::time::timeout(COLLECT, child.wait()).await;
}

/// Sends a signal to a command: to the group that leads its session, which a helper
/// that entered a namespace for it does not. What has a session of its own by now
/// is left alone.
pub fn signal(child: u32, signal: protocol::stream::Signal) {
    let Ok(child) = i32::try_from(child) else { return };
    if getsid(Some(Pid::from_raw(child))).is_ok_and(|it| it.as_raw() == child) {
        return signal_group(child, signal);
    }
    let mut family = Family::of(child);
    family.look();
    let leaders = family.first_leaders();
    for leader in &leaders {
        signal_group(*leader, signal);
    }
    if let (true, Some(signal)) = (leaders.is_empty(), number(signal)) {
        // It is still being started, and that ends.
        let _ = kill(Pid::from_raw(child), signal);
    }
}

/// Sends a signal to every process of a group.
pub fn signal_group(group: i32, signal: protocol::stream::Signal) {
    // Nobody, everybody and our own are no groups of a shell.
    if let Some(signal) = number(signal).filter(|_| group > 1 && Pid::from_raw(group) != getpgrp()) {
        let _ = killpg(Pid::from_raw(group), signal);
    }
}

fn number(signal: protocol::stream::Signal) -> Option<Signal> {
    format!("SIG{}", signal.name()).parse().ok()
}

/// Tells everything that a child began that its terminal is gone; ends what stays.
/// What is still being started is waited for: half of it would escape.
async fn hang_up(child: i32) {
    let mut family = Family::of(child);
    let mut is_told = false;
    for round in 0..2 * PATIENCE {
        family.look();
        let living = family.living();
        if living.is_empty() {
            return;
        }
        if !is_told && family.is_born() {
            is_told = true;
            // A helper that entered a namespace ends with the one it waits for.
            for pid in living.iter().filter(|pid| **pid != child || family.leads(child)) {
                let _ = kill(Pid::from_raw(*pid), Signal::SIGHUP);
                let _ = kill(Pid::from_raw(*pid), Signal::SIGCONT);
            }
        }
        if round >= PATIENCE {
            for pid in living {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// A child that is not collected yet, what descends from it, and everything in the
/// sessions that these lead.
struct Family {
    child: i32,
    sessions: BTreeSet<i32>,
    all: Vec<Process>,
}

impl Family {
    fn of(child: i32) -> Self {
        Self { child, sessions: BTreeSet::new(), all: Vec::new() }
    }

    fn look(&mut self) {
        self.all = all();
        let mut known = BTreeSet::from([self.child]);
        // Parents may be listed after their children: as often as there are generations.
        loop {
            let before = known.len();
            known.extend(self.all.iter().filter(|it| known.contains(&it.parent)).map(|it| it.pid).collect::<Vec<_>>());
            if known.len() == before {
                break;
            }
        }
        let leaders = self.all.iter().filter(|it| known.contains(&it.pid) && it.session == it.pid);
        self.sessions.extend(leaders.map(|it| it.pid));
        let sessions = &self.sessions;
        self.all.retain(|it| !it.is_dead && (known.contains(&it.pid) || sessions.contains(&it.session)));
    }

    fn living(&self) -> Vec<i32> {
        self.all.iter().map(|process| process.pid).collect()
    }

    fn leads(&self, pid: i32) -> bool {
        self.sessions.contains(&pid)
    }

    /// Those leaders whose parents are in no session of the family.
    fn first_leaders(&self) -> Vec<i32> {
        let session_of = |pid: i32| self.all.iter().find(|it| it.pid == pid).map(|it| it.session);
        let leaders = self.all.iter().filter(|it| it.session == it.pid);
        let first = leaders.filter(|it| session_of(it.parent).is_none_or(|session| !self.leads(session)));
        first.map(|it| it.pid).collect()
    }

    /// Whether it was started to the end: it has a session of its own.
    fn is_born(&self) -> bool {
        !self.sessions.is_empty()
    }
}

/// Ends what is left of sessions of an agent that was killed: processes that still
/// are in the Unix session which their environment says it began for a login.
pub fn sweep(is_ours: impl Fn(u32) -> bool) -> usize {
    let left: Vec<i32> = all()
        .into_iter()
        .filter(|process| !process.is_dead && leader_of(process.pid) == Some(process.session))
        .map(|process| process.pid)
        .filter(|pid| owner(*pid).is_some_and(&is_ours))
        .collect();
    for pid in &left {
        let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
    }
    left.len()
}

fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: i32| parse(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)).collect()
}

/// The name in parentheses may contain anything, so what follows is counted from its end.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(Process { pid, parent, session, is_dead })
}

fn leader_of(pid: i32) -> Option<i32> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut entries = environment.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
    entries.find_map(|entry| entry.strip_prefix(LEADER)?.strip_prefix('=')?.parse().ok())
}

fn owner(pid: i32) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(format!("/proc/{pid}")).ok().map(|found| found.uid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strange_name_does_not_hide_the_session() {
        let found = parse(7, "7 (a) b) S 5 6 42 1025 7 0").unwrap();
        assert_eq!((found.parent, found.session, found.is_dead), (5, 42, false));
        assert!(parse(7, "7 (x) Z 5 6 42 0").unwrap().is_dead);
    }

    #[test]
    fn a_session_below_a_session_is_not_the_first() {
        let process = |pid, parent, session| Process { pid, parent, session, is_dead: false };
        // A helper, the command that it entered a namespace for, and what that one set apart.
        let all = vec![process(10, 1, 1), process(11, 10, 11), process(12, 11, 11), process(13, 12, 13)];
        let family = Family { child: 10, sessions: BTreeSet::from([11, 13]), all };
        assert_eq!(family.first_leaders(), [11]);
    }

    #[test]
    fn every_signal_of_the_protocol_has_a_number() {
        let names =
            ["ABRT", "ALRM", "FPE", "HUP", "ILL", "INT", "KILL", "PIPE", "QUIT", "SEGV", "TERM", "USR1", "USR2"];
        for name in names {
            assert!(number(protocol::stream::Signal::named(name).unwrap()).is_some(), "{name}");
        }
    }
}
