//! The control group of a login: everything that runs for it is inside, with its
//! limits of CPU, memory and tasks and its devices. Where systemd runs the host it
//! is the login's own slice, which sshd's sessions are in, too; elsewhere the agent
//! makes groups itself.

mod direct;
mod systemd;

use super::processes;
use super::users::User;
use crate::steps::{Failure, Result};
use direct::Direct;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use protocol::Limits;
use std::path::{Path, PathBuf};

const MAX_DEPTH: usize = 16; // bound: a login's own subgroups, as containers make them

/// Joins the groups whose files are given, leaves behind what the agent has set for
/// itself alone, and becomes the program. Root runs it, before anything of the user.
const ENTER: &str = "umask 022; soft=$1; hard=$2; groups=$3; shift 3; while [ \"$groups\" -gt 0 ]; do \
    echo $$ > \"$1\" || { echo 'the control group of this login cannot be entered' >&2; exit 125; }; \
    shift; groups=$((groups - 1)); done; echo 0 > /proc/self/oom_score_adj; \
    ulimit -S -c 0; ulimit -H -c unlimited 2>/dev/null; ulimit -S -n \"$soft\" 2>/dev/null; \
    ulimit -H -n \"$hard\" 2>/dev/null; exec \"$@\"";

/// How this host keeps logins within their limits.
pub(crate) enum Groups {
    Systemd,
    Direct(Direct),
    /// Not at all, with the reason.
    None(String),
}

impl Groups {
    pub fn find() -> Self {
        if Path::new("/run/systemd/system").exists() {
            return Self::Systemd;
        }
        match Direct::find(Path::new("/sys/fs/cgroup")) {
            Ok(direct) => Self::Direct(direct),
            Err(reason) => Self::None(reason),
        }
    }

    /// In words, for people who look after the host.
    pub fn describe(&self) -> String {
        match self {
            Self::Systemd => "a systemd slice per login".into(),
            Self::Direct(direct) => direct.describe(),
            Self::None(reason) => format!("none: {reason}"),
        }
    }

    pub fn is_there(&self) -> bool {
        !matches!(self, Self::None(_))
    }

    /// The login's group exists with these limits, and only these devices can be
    /// opened in it where the host can enforce that.
    pub async fn ensure(&self, user: &User, limits: &Limits, devices: &[PathBuf]) -> Result<()> {
        let done = match self {
            Self::Systemd => systemd::ensure(user, limits, devices).await,
            Self::Direct(direct) => direct.ensure(user, limits, devices),
            Self::None(_) => Ok(()),
        };
        done.map_err(|detail| Failure::passing("control_group", format!("{}: {detail}", user.name)))
    }

    /// The program and arguments that start another one inside the login's group.
    pub fn enter(&self, user: &User, open_files: u32) -> Vec<String> {
        let (mut command, joins) = match self {
            Self::Systemd => (systemd::enter(user), Vec::new()),
            Self::Direct(direct) => (Vec::new(), direct.joins(user)),
            Self::None(_) => (Vec::new(), Vec::new()),
        };
        let (hard, count) = (open_files.to_string(), joins.len().to_string());
        let soft = open_files.min(USUAL_FILES).to_string();
        command.extend(["/bin/sh", "-c", ENTER, "sh", &soft, &hard, &count].map(str::to_owned));
        command.extend(joins.into_iter().map(|path| path.to_string_lossy().into_owned()));
        command
    }

    /// Living processes in the group, whatever user they run as.
    pub fn members(&self, user: &User) -> Vec<i32> {
        let mut found = Vec::new();
        for folder in self.folders(user) {
            members_below(&folder, 0, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|pid| processes::is_alive(*pid));
        found
    }

    /// Kills everything in the group; at once where the kernel can.
    pub fn kill(&self, user: &User) {
        for folder in self.folders(user) {
            // A process that forks cannot outrun it.
            let _ = std::fs::write(folder.join("cgroup.kill"), "1");
        }
        for pid in self.members(user) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    /// Nothing is left of the group. Its processes must be gone before.
    pub async fn remove(&self, user: &User) -> Result<()> {
        let done = match self {
            Self::Systemd => systemd::remove(user).await,
            Self::Direct(direct) => direct.remove(user),
            Self::None(_) => Ok(()),
        };
        done.map_err(|detail| Failure::passing("control_group", format!("{}: {detail}", user.name)))
    }

    fn folders(&self, user: &User) -> Vec<PathBuf> {
        match self {
            Self::Systemd => systemd::folders(user),
            Self::Direct(direct) => direct.folders(user),
            Self::None(_) => Vec::new(),
        }
    }
}

fn members_below(folder: &Path, depth: usize, found: &mut Vec<i32>) {
    let listed = std::fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    found.extend(listed.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|pid| *pid > 1));
    if depth == MAX_DEPTH {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            members_below(&entry.path(), depth + 1, found);
        }
    }
}

/// One CPU weighs as much as any group that nobody gave a weight. A weight and no
/// quota: a quota stops processes wherever they are, also while they hold what the
/// kernel needs to start a process in another group, so that a fork bomb below a
/// quota can hold up every login's shells.
fn weight(limits: &Limits) -> u64 {
    u64::from(limits.cpu_millis / 10).clamp(1, MOST_WEIGHT)
}

/// What a login gets where nobody said: the part of the host that its GPUs are, but
/// never less than one GPU's part. Some of the memory stays with the host.
pub(crate) fn share(cpus: u32, memory_bytes: u64, gpus: usize, of_gpus: usize) -> Limits {
    let total = of_gpus.max(1) as u64;
    let part = (gpus.max(1) as u64).min(total);
    let reserve = (memory_bytes / 10).min(RESERVE_BYTES);
    let memory_bytes = ((memory_bytes - reserve) / total * part).max(LEAST_MEMORY_BYTES);
    let tasks = (MOST_TASKS * part / total).min(memory_bytes / TASK_BYTES).max(LEAST_TASKS);
    Limits {
        cpu_millis: (u64::from(cpus) * 1000 * part / total).max(LEAST_CPU_MILLIS).try_into().unwrap_or(u32::MAX),
        memory_bytes,
        tasks: tasks.try_into().unwrap_or(u32::MAX),
        open_files: OPEN_FILES,
    }
}

const RESERVE_BYTES: u64 = 8 << 30; // bound: the agent, the kernel and the host's own services
const LEAST_CPU_MILLIS: u64 = 100; // bound: a shell still answers
const LEAST_MEMORY_BYTES: u64 = 64 << 20; // bound: a shell still starts
const MOST_TASKS: u64 = 65_536; // bound: far below the kernel's own limit of process ids
const TASK_BYTES: u64 = 512 << 10; // bound: less than a small process; more tasks would only be killed for memory
const MOST_WEIGHT: u64 = 10_000; // bound: the kernel's own
const LEAST_TASKS: u64 = 512; // bound: a shell with a build in it
pub(crate) const USUAL_FILES: u32 = 1024; // bound: what programs that use select() rely on
/// The hard limit of open files of each process.
pub(crate) const OPEN_FILES: u32 = 131_072; // bound: data loaders of a large job; the memory limit counts them

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_the_gpus_and_leave_some_to_the_host() {
        let gib = 1_u64 << 30;
        let one = share(64, 800 * gib, 1, 8);
        assert_eq!((one.cpu_millis, one.memory_bytes, one.tasks), (8000, 99 * gib, 8192));
        let all = share(64, 800 * gib, 8, 8);
        assert_eq!((all.cpu_millis, all.memory_bytes), (64_000, 792 * gib));
        assert_eq!(share(64, 800 * gib, 0, 8), one, "no GPU is as one");
        assert_eq!(share(2, gib, 1, 0).cpu_millis, 2000, "a host without GPUs");
    }
}
