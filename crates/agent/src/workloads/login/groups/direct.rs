//! Control groups that the agent makes itself, on hosts without systemd: one
//! hierarchy (version 2) or one for each controller (version 1).

use super::super::users::User;
use protocol::Limits;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Below it the groups of all logins.
const PARENT: &str = "gpuaas";
const CONTROLLERS: &[&str] = &["pids", "memory", "cpu", "devices"];
/// Character devices that every program needs: null, zero, full, random, urandom,
/// tty, ptmx and the terminals.
const ALWAYS: &[&str] =
    &["c 1:3 rwm", "c 1:5 rwm", "c 1:7 rwm", "c 1:8 rwm", "c 1:9 rwm", "c 5:0 rwm", "c 5:2 rwm", "c 136:* rwm"];

pub(crate) enum Direct {
    /// The root of the one hierarchy.
    Unified(PathBuf),
    /// The roots of those controllers that there are, by name.
    Legacy(Vec<(&'static str, PathBuf)>),
}

impl Direct {
    pub fn find(root: &Path) -> Result<Self, String> {
        if root.join("cgroup.controllers").exists() {
            return match make_unified_parent(root) {
                Ok(()) => Ok(Self::Unified(root.to_owned())),
                Err(error) => Err(format!("{}: {error}", root.display())),
            };
        }
        let found: Vec<_> = CONTROLLERS.iter().map(|name| (*name, root.join(name))).filter(is_writable).collect();
        if found.is_empty() {
            return Err(format!("control groups cannot be created below {}; mount cgroup2 there", root.display()));
        }
        Ok(Self::Legacy(found))
    }

    pub fn describe(&self) -> String {
        match self {
            Self::Unified(_) => "a control group per login, without a device policy".into(),
            Self::Legacy(roots) => {
                let names: Vec<&str> = roots.iter().map(|(name, _)| *name).collect();
                format!("a control group per login ({})", names.join(", "))
            }
        }
    }

    pub fn ensure(&self, user: &User, limits: &Limits, devices: &[PathBuf]) -> Result<(), String> {
        for folder in self.folders(user) {
            make(&folder)?;
        }
        match self {
            Self::Unified(_) => {
                for folder in self.folders(user) {
                    set(&folder, "cpu.weight", &super::weight(limits).to_string())?;
                    set(&folder, "memory.max", &limits.memory_bytes.to_string())?;
                    // Hosts without swap have no such file.
                    let _ = set(&folder, "memory.swap.max", "0");
                    set(&folder, "pids.max", &limits.tasks.to_string())?;
                }
            }
            Self::Legacy(roots) => {
                for (name, root) in roots {
                    let folder = group(root, user);
                    match *name {
                        // Where a weight of 100 is written as 1024.
                        "cpu" => set(&folder, "cpu.shares", &(super::weight(limits) * 1024 / 100).max(2).to_string())?,
                        "memory" => set_memory(&folder, limits.memory_bytes)?,
                        "pids" => set(&folder, "pids.max", &limits.tasks.to_string())?,
                        _ => set_devices(&folder, devices)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// The files into which a process writes its id to join.
    pub fn joins(&self, user: &User) -> Vec<PathBuf> {
        self.folders(user).into_iter().map(|folder| folder.join("cgroup.procs")).collect()
    }

    pub fn folders(&self, user: &User) -> Vec<PathBuf> {
        match self {
            Self::Unified(root) => vec![group(root, user)],
            Self::Legacy(roots) => roots.iter().map(|(_, root)| group(root, user)).collect(),
        }
    }

    pub fn remove(&self, user: &User) -> Result<(), String> {
        self.folders(user).iter().try_for_each(|folder| match std::fs::remove_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(format!("{}: {error}", folder.display())),
            _ => Ok(()),
        })
    }
}

fn group(root: &Path, user: &User) -> PathBuf {
    root.join(PARENT).join(&user.name)
}

fn is_writable(found: &(&'static str, PathBuf)) -> bool {
    std::fs::create_dir_all(found.1.join(PARENT)).is_ok() && found.1.join("cgroup.procs").exists()
}

/// Controllers are handed down a level at a time.
fn make_unified_parent(root: &Path) -> io::Result<()> {
    let parent = root.join(PARENT);
    std::fs::write(root.join("cgroup.subtree_control"), "+cpu +memory +pids")?;
    std::fs::create_dir_all(&parent)?;
    std::fs::write(parent.join("cgroup.subtree_control"), "+cpu +memory +pids")
}

fn make(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

fn set(folder: &Path, name: &str, value: &str) -> Result<(), String> {
    let path = folder.join(name);
    std::fs::write(&path, value).map_err(|error| format!("{}: {error}", path.display()))
}

/// The limit with swap may never be below the one without, in either direction.
fn set_memory(folder: &Path, bytes: u64) -> Result<(), String> {
    let bytes = bytes.to_string();
    let both = |folder: &Path| {
        set(folder, "memory.limit_in_bytes", &bytes)?;
        let _ = set(folder, "memory.memsw.limit_in_bytes", &bytes);
        Ok(())
    };
    if both(folder).is_ok() {
        return Ok(());
    }
    let _ = set(folder, "memory.memsw.limit_in_bytes", &bytes);
    both(folder)
}

fn set_devices(folder: &Path, devices: &[PathBuf]) -> Result<(), String> {
    set(folder, "devices.deny", "a")?;
    for rule in ALWAYS {
        set(folder, "devices.allow", rule)?;
    }
    for path in devices {
        let Ok(found) = std::fs::metadata(path) else { continue };
        if found.file_type().is_char_device() {
            let (major, minor) = (nix::sys::stat::major(found.rdev()), nix::sys::stat::minor(found.rdev()));
            set(folder, "devices.allow", &format!("c {major}:{minor} rw"))?;
        }
    }
    Ok(())
}
