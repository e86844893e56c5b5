//! Who runs the server. PostgreSQL refuses root, so root lends its children
//! to an account that owns nothing else.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nix::unistd::{User, geteuid};

use super::DevError;

const CANDIDATES: [&str; 2] = ["postgres", "nobody"];
/// All that a child sees of our environment, which holds secrets.
const KEPT_VARIABLES: [&str; 2] = ["PATH", "LD_LIBRARY_PATH"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
}

impl Account {
    /// The account to run as, or nothing if we run as ourselves.
    pub fn needed() -> Result<Option<Self>, DevError> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let user =
            CANDIDATES.into_iter().find_map(|name| User::from_name(name).ok().flatten()).ok_or(DevError::NoAccount)?;
        Ok(Some(Self { name: user.name, uid: user.uid.as_raw(), gid: user.gid.as_raw() }))
    }

    /// The first folder on the way to `path` that the account cannot pass.
    pub fn closed_folder(&self, path: &Path) -> Option<PathBuf> {
        let mut folders: Vec<_> = path.ancestors().skip(1).collect();
        folders.reverse();
        folders.into_iter().find(|folder| !self.can_pass(folder)).map(Path::to_owned)
    }

    fn can_pass(&self, folder: &Path) -> bool {
        let Ok(metadata) = fs::metadata(folder) else {
            return false;
        };
        let bit = if metadata.uid() == self.uid {
            0o100
        } else if metadata.gid() == self.gid {
            0o010
        } else {
            0o001
        };
        metadata.permissions().mode() & bit != 0
    }
}

/// A command with a bare environment, run as the account where there is one.
pub(super) fn command(account: Option<&Account>, program: &Path, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).stdin(Stdio::null()).env_clear();
    for name in KEPT_VARIABLES {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("LC_ALL", "C");
    if let Some(account) = account {
        command.uid(account.uid).gid(account.gid);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_folder_on_the_way_is_named() {
        let outside = tempfile::tempdir().unwrap();
        let way = outside.path().join("open/closed/inside");
        fs::create_dir_all(&way).unwrap();
        for folder in [outside.path(), way.parent().unwrap().parent().unwrap(), &way] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let closed = way.parent().unwrap();
        fs::set_permissions(closed, fs::Permissions::from_mode(0o700)).unwrap();
        let stranger = Account { name: "stranger".into(), uid: 4_000_000, gid: 4_000_000 };
        assert_eq!(stranger.closed_folder(&way).as_deref(), Some(closed));
        assert_eq!(stranger.closed_folder(closed), None);
        let owner = Account { uid: geteuid().as_raw(), ..stranger };
        assert_eq!(owner.closed_folder(&way), None);
    }
}
