//! The users that the agent makes, told from others by a mark in the comment field.

use super::command::{run, tool};
use crate::driver::{Failure, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// In the comment field of every user that the agent made.
pub const MARK: &str = "gpuaas allocation";

const TRIES: u32 = 20; // bound: somebody else edits the user files for a moment
const PAUSE: Duration = Duration::from_millis(250); // bound: as above
const LOCKED: i32 = 1; // useradd and usermod: "can't update password file"
const LOCKED_FILE: i32 = 10; // "can't update group file"
const NO_SUCH_USER: i32 = 6;

#[derive(Clone, Debug)]
pub(super) struct User {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
    pub home: PathBuf,
    pub shell: PathBuf,
    pub is_ours: bool,
}

/// Names that useradd accepts and that no tool mistakes for an option.
pub fn is_login_name(name: &str) -> bool {
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase());
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    starts_well && name.len() <= 32 && name.chars().all(plain)
}

pub(super) fn find(name: &str) -> Result<Option<User>> {
    let found = nix::unistd::User::from_name(name);
    let found = found.map_err(|error| Failure::passing("user", format!("{name} cannot be looked up: {error}")))?;
    Ok(found.map(|user| User {
        is_ours: is_marked(&user),
        name: user.name,
        uid: user.uid.as_raw(),
        gid: user.gid.as_raw(),
        home: user.dir,
        shell: user.shell,
    }))
}

fn is_marked(user: &nix::unistd::User) -> bool {
    user.gecos.to_string_lossy().split(',').next() == Some(MARK) && !user.uid.is_root()
}

/// Whether the agent made the user with that number, with a home below the folder.
pub(super) fn is_made_below(uid: u32, home_root: &Path) -> bool {
    let is_ours = |user: &nix::unistd::User| is_marked(user) && user.dir.starts_with(home_root);
    nix::unistd::User::from_uid(uid.into()).is_ok_and(|user| user.as_ref().is_some_and(is_ours))
}

/// The user exists, can log in with a key, and has a home of its own.
pub(super) async fn ensure(name: &str, known: Option<User>, home_root: &Path) -> Result<User> {
    if known.is_none() {
        let home = home_root.join(name);
        let home = home.to_string_lossy();
        let arguments =
            ["--create-home", "--home-dir", &home, "--user-group", "--shell", "/bin/bash", "--comment", MARK, name];
        edit("useradd", &arguments).await?;
    }
    // A password of "*" matches nothing and is not "locked", which sshd would refuse.
    edit("usermod", &["--password", "*", "--expiredate", "", name]).await?;
    let user = find(name)?.ok_or_else(|| Failure::passing("user", format!("{name} was made and is not there")))?;
    ensure_home(&user).await?;
    Ok(user)
}

/// useradd may have been killed before it made the home.
async fn ensure_home(user: &User) -> Result<()> {
    let failed = |error: std::io::Error| Failure::passing("user", format!("{}: {error}", user.home.display()));
    if !user.home.exists() {
        std::fs::create_dir_all(&user.home).map_err(failed)?;
    }
    std::os::unix::fs::lchown(&user.home, Some(user.uid), Some(user.gid)).map_err(failed)?;
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&user.home, closed).map_err(failed)
}

/// No key and no password lets anybody in. Sessions that are open are not ended.
pub(super) async fn lock(user: &User) -> Result<()> {
    edit("usermod", &["--password", "!", "--expiredate", "1", &user.name]).await
}

/// Whether [`lock`] was the last word about the user; also when that cannot be told.
pub(super) fn is_locked(user: &User) -> bool {
    let shadow = std::fs::read_to_string("/etc/shadow").unwrap_or_default();
    let entry = shadow.lines().find_map(|line| line.strip_prefix(&user.name)?.strip_prefix(':'));
    entry.is_none_or(|entry| entry.split(':').next() == Some("!"))
}

/// The user is gone. Its processes and its home must be gone before.
pub(super) async fn remove(user: &User) -> Result<()> {
    edit("userdel", &["--remove", &user.name]).await?;
    if user.home.exists() {
        return Err(Failure::passing("home", format!("{} is still there", user.home.display())));
    }
    match find(&user.name)? {
        Some(_) => Err(Failure::passing("user", format!("{} is still there", user.name))),
        None => Ok(()),
    }
}

/// Runs a tool that edits the user files, again while they are locked.
async fn edit(program: &str, arguments: &[&str]) -> Result<()> {
    let mut last = String::new();
    for _ in 0..TRIES {
        let ended = run(tool(program, arguments)).await.map_err(|said| Failure::passing("user", said))?;
        match ended.code {
            Some(0) => return Ok(()),
            Some(NO_SUCH_USER) if program == "userdel" => return Ok(()),
            // userdel 12: the home was removed before, which is what is wanted.
            Some(12) if program == "userdel" => return Ok(()),
            Some(LOCKED | LOCKED_FILE) => last = ended.said,
            _ => return Err(Failure::passing("user", ended.said)),
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(Failure::passing("user", last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_tool_could_misread_are_refused() {
        for good in ["g0123456789ab", "a", "a-b_c"] {
            assert!(is_login_name(good), "{good}");
        }
        for bad in ["", "-r", "root;id", "Root", "1a", "../x", "a b", "a\n", &"a".repeat(33)] {
            assert!(!is_login_name(bad), "{bad}");
        }
    }

    #[test]
    fn root_is_never_one_of_ours() {
        assert!(!find("root").unwrap().unwrap().is_ours);
        assert!(find("no-such-user-here").unwrap().is_none());
    }
}
