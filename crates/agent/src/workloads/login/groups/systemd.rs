//! Slices of systemd. Every session of a user that PAM opens is in `user-UID.slice`,
//! so the limits are set there, and what streams start is put there, too.

use super::super::users::User;
use crate::linux::command::{run, tool};
use protocol::Limits;
use std::path::{Path, PathBuf};

const CGROUPS: &str = "/sys/fs/cgroup";

fn slice(user: &User) -> String {
    format!("user-{}.slice", user.uid)
}

/// Kept across restarts of the host, as the login is.
pub(crate) async fn ensure(user: &User, limits: &Limits, devices: &[PathBuf]) -> Result<(), String> {
    let mut properties = vec![
        format!("CPUWeight={}", super::weight(limits)),
        format!("MemoryMax={}", limits.memory_bytes),
        "MemorySwapMax=0".to_owned(),
        format!("TasksMax={}", limits.tasks),
        "DevicePolicy=closed".to_owned(),
        // Forgets those of before.
        "DeviceAllow=".to_owned(),
    ];
    properties.extend(devices.iter().map(|path| format!("DeviceAllow={} rw", path.display())));
    let slice = slice(user);
    let mut arguments = vec!["set-property", &slice];
    arguments.extend(properties.iter().map(String::as_str));
    systemctl(&arguments).await
}

pub(crate) fn enter(user: &User) -> Vec<String> {
    let slice = format!("--slice={}", slice(user));
    ["/usr/bin/systemd-run", "--scope", "--quiet", "--collect", "--no-ask-password", &slice, "--"]
        .map(str::to_owned)
        .to_vec()
}

/// Where the kernel lists its processes: the one hierarchy, or systemd's own among many.
pub(crate) fn folders(user: &User) -> Vec<PathBuf> {
    let below = format!("user.slice/{}", slice(user));
    let roots = [Path::new(CGROUPS).to_owned(), Path::new(CGROUPS).join("systemd")];
    roots.into_iter().map(|root| root.join(&below)).filter(|path| path.exists()).collect()
}

pub(crate) async fn remove(user: &User) -> Result<(), String> {
    let slice = slice(user);
    // With it go the user's manager, its lingering and its runtime folder.
    systemctl(&["stop", &format!("user@{}.service", user.uid), &slice]).await?;
    systemctl(&["stop", &format!("user-runtime-dir@{}.service", user.uid)]).await?;
    systemctl(&["revert", &slice]).await
}

async fn systemctl(arguments: &[&str]) -> Result<(), String> {
    let mut all = vec!["--quiet", "--no-ask-password"];
    all.extend(arguments);
    let ended = run(tool("systemctl", &all)).await?;
    if ended.is_success() { Ok(()) } else { Err(ended.said) }
}
