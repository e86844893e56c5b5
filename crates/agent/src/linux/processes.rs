//! Ending everything that runs as a user. Zombies do not count: their parents may
//! be slow to collect them, and they hold nothing any more.

use super::command::{run, tool};
use crate::driver::{Failure, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::time::Duration;

const ROUNDS: u32 = 100; // bound: ten seconds; what survives that hangs in the kernel
const PAUSE: Duration = Duration::from_millis(100); // bound: as above

/// How many processes were ended.
pub(super) async fn kill_all_of(uid: u32) -> Result<u32> {
    let mut killed = HashSet::new();
    for _ in 0..ROUNDS {
        let alive = alive_of(uid);
        if alive.is_empty() {
            return Ok(killed.len().try_into().unwrap_or(u32::MAX));
        }
        killed.extend(alive.iter().copied());
        // All at once, from the user's own side: a process that forks cannot outrun it.
        let mut all = tool("/bin/kill", &["-KILL", "--", "-1"]);
        all.uid(uid).gid(uid);
        let _ = run(all).await;
        for pid in alive {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        tokio::time::sleep(PAUSE).await;
    }
    let left: Vec<String> = alive_of(uid).iter().map(i32::to_string).collect();
    Err(Failure::passing("processes_left", format!("processes {} survive being killed", left.join(", "))))
}

/// Processes that act as the user in any way, without zombies.
pub(super) fn alive_of(uid: u32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        // It may have ended since.
        std::fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| acts_as(&status, uid))
    })
    .collect()
}

fn acts_as(status: &str, uid: u32) -> bool {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let is_dead = field("State:").trim_start().starts_with(['Z', 'X']);
    !is_dead && field("Uid:").split_whitespace().any(|id| id.parse() == Ok(uid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_acts_as_any_of_its_users_and_a_zombie_as_none() {
        let status = |state: &str| format!("Name:\tx\nState:\t{state}\nUid:\t0\t1005\t0\t0\nGid:\t0\n");
        assert!(acts_as(&status("S (sleeping)"), 1005));
        assert!(!acts_as(&status("S (sleeping)"), 1006));
        assert!(!acts_as(&status("Z (zombie)"), 1005));
    }

    #[test]
    fn this_process_is_among_those_of_its_user() {
        let own = nix::unistd::getuid().as_raw();
        assert!(alive_of(own).contains(&(std::process::id() as i32)));
    }
}
