//! Ending everything that runs for a login: by its control group, and by its user
//! ids for what is in none. Zombies do not count: their parents may be slow to
//! collect them, and they hold nothing any more.

use super::groups::Groups;
use super::users::User;
use crate::linux::command::{run, tool};
use crate::steps::{Failure, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::time::Duration;

const ROUNDS: u32 = 100; // bound: ten seconds of pauses; what survives that hangs in the kernel
const PAUSE: Duration = Duration::from_millis(100); // bound: as above
const SHOWN: usize = 16; // bound: of the survivors in a report

/// User ids that are a login's: its own and those that it may take in namespaces.
pub(crate) type Ids = Vec<RangeInclusive<u32>>;

/// How many processes were ended.
pub(crate) async fn kill_all_of(user: &User, ids: &Ids, groups: &Groups) -> Result<u32> {
    let mut killed = HashSet::new();
    for _ in 0..ROUNDS {
        let alive: HashSet<i32> = groups.members(user).into_iter().chain(alive_of(ids)).collect();
        if alive.is_empty() {
            return Ok(killed.len().try_into().unwrap_or(u32::MAX));
        }
        killed.extend(alive.iter().copied());
        groups.kill(user);
        // All at once, from the user's own side: a process that forks cannot outrun it.
        let mut all = tool("/bin/kill", &["-KILL", "--", "-1"]);
        all.uid(user.uid).gid(user.gid);
        let _ = run(all).await;
        for pid in alive {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        tokio::time::sleep(PAUSE).await;
    }
    let left: Vec<String> = alive_of(ids).iter().take(SHOWN).map(i32::to_string).collect();
    Err(Failure::passing("processes_left", format!("processes {} are still running after SIGKILL", left.join(", "))))
}

/// Every process of the host.
pub(crate) fn all() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
}

/// Processes that act as one of the ids in any way, without zombies.
pub(crate) fn alive_of(ids: &Ids) -> Vec<i32> {
    // It may have ended since.
    all().filter(|pid| status(*pid).is_some_and(|status| acts_as(&status, ids))).collect()
}

pub(crate) fn is_alive(pid: i32) -> bool {
    status(pid).is_some_and(|status| !is_dead(&status))
}

pub(crate) fn status(pid: i32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/status")).ok()
}

pub(crate) fn field<'a>(status: &'a str, name: &str) -> &'a str {
    status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default()
}

pub(crate) fn is_dead(status: &str) -> bool {
    field(status, "State:").trim_start().starts_with(['Z', 'X'])
}

pub(crate) fn acts_as(status: &str, ids: &Ids) -> bool {
    let is_one = |id: &str| id.parse().is_ok_and(|id: u32| ids.iter().any(|range| range.contains(&id)));
    !is_dead(status) && field(status, "Uid:").split_whitespace().any(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_act_as_any_of_their_users_and_zombies_as_none() {
        let status = |state: &str| format!("Name:\tx\nState:\t{state}\nUid:\t0\t1005\t0\t0\nGid:\t0\n");
        assert!(acts_as(&status("S (sleeping)"), &vec![1005..=1005]));
        assert!(acts_as(&status("S (sleeping)"), &vec![7..=7, 1000..=2000]), "a range of subordinate ids");
        assert!(!acts_as(&status("S (sleeping)"), &vec![1006..=1006]));
        assert!(!acts_as(&status("Z (zombie)"), &vec![1005..=1005]));
    }

    #[test]
    fn this_process_is_among_those_of_its_user() {
        let own = nix::unistd::getuid().as_raw();
        assert!(alive_of(&vec![own..=own]).contains(&(std::process::id() as i32)));
    }
}
