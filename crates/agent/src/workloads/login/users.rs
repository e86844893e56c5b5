//! The users that the agent makes, told from others by a mark in the comment field.

use super::processes::Ids;
use crate::linux::cards::HOLDERS;
use crate::linux::command::{run, tool};
use crate::steps::{Failure, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// In the comment field of every user that the agent made.
pub const MARK: &str = "gpuaas allocation";

/// Every login is in it, so that sshd can tell them from other users.
pub const LOGINS: &str = "gpuaas-logins";

const TRIES: u32 = 20; // bound: somebody else edits the user files for a moment
const PAUSE: Duration = Duration::from_millis(250); // bound: as above
const LOCKED: i32 = 1; // useradd and usermod: "can't update password file"
const LOCKED_FILE: i32 = 10; // "can't update group file"
const NO_SUCH_USER: i32 = 6;
const UID_TAKEN: i32 = 4;
const MAX_SUBORDINATE: usize = 64; // bound: ranges of one user; the agent makes none

#[derive(Clone, Debug)]
pub(crate) struct User {
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

pub(crate) fn find(name: &str) -> Result<Option<User>> {
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
pub(crate) fn is_made_below(uid: u32, home_root: &Path) -> bool {
    let is_ours = |user: &nix::unistd::User| is_marked(user) && user.dir.starts_with(home_root);
    nix::unistd::User::from_uid(uid.into()).is_ok_and(|user| user.as_ref().is_some_and(is_ours))
}

/// The user exists and has a home of its own. One that is made here is locked.
pub(crate) async fn ensure(
    name: &str,
    known: Option<User>,
    home_root: &Path,
    next_uid: impl Fn() -> Result<u32>,
) -> Result<User> {
    if known.is_none() {
        edit("groupadd", &["--force", "--system", LOGINS]).await?;
        let home = home_root.join(name);
        make(name, &home.to_string_lossy(), next_uid).await?;
    }
    let user = find(name)?.ok_or_else(|| Failure::passing("user", format!("{name} was created but does not exist")))?;
    ensure_home(&user).await?;
    Ok(user)
}

/// With an id that was never used, and without subordinate ids: processes that run
/// as one of those would have to be found by other means.
async fn make(name: &str, home: &str, next_uid: impl Fn() -> Result<u32>) -> Result<()> {
    for _ in 0..TRIES {
        let uid = next_uid()?.to_string();
        let none = ["-K", "SUB_UID_COUNT=0", "-K", "SUB_GID_COUNT=0"];
        let mut arguments = vec!["--uid", &uid, "--create-home", "--home-dir", home, "--user-group"];
        arguments.extend(["--groups", LOGINS, "--shell", "/bin/bash", "--comment", MARK]);
        arguments.extend(none);
        arguments.push(name);
        match edit("useradd", &arguments).await {
            // Somebody else took it at the same moment.
            Err(failure) if failure.code == UID_IN_USE => {}
            made => return made,
        }
    }
    Err(Failure::passing("user", "user ids are being used by other programs at the same time"))
}

/// The user is in the group of those who hold a GPU, or not.
pub(crate) async fn set_holder(user: &User, is_holder: bool) -> Result<()> {
    if is_holder {
        edit("groupadd", &["--force", "--system", HOLDERS]).await?;
    }
    let groups = if is_holder { format!("{LOGINS},{HOLDERS}") } else { LOGINS.to_owned() };
    edit("usermod", &["--groups", &groups, &user.name]).await
}

/// The user can log in with a key. A password of "*" matches nothing and is not
/// "locked", which sshd would refuse.
pub(crate) async fn unlock(user: &User) -> Result<()> {
    edit("usermod", &["--password", "*", "--expiredate", "", &user.name]).await
}

/// Whether nobody and no group of this host has the number.
pub(crate) fn is_free(uid: u32) -> bool {
    let no_user = nix::unistd::User::from_uid(uid.into()).is_ok_and(|found| found.is_none());
    no_user && nix::unistd::Group::from_gid(uid.into()).is_ok_and(|found| found.is_none())
}

/// The user's own id, and those that it may take in namespaces of its own.
pub(crate) fn ids_of(user: &User) -> Ids {
    let table = std::fs::read_to_string("/etc/subuid").unwrap_or_default();
    let mut ids = vec![user.uid..=user.uid];
    ids.extend(subordinate(&table, &user.name).take(MAX_SUBORDINATE));
    ids
}

fn subordinate(table: &str, name: &str) -> impl Iterator<Item = std::ops::RangeInclusive<u32>> {
    table.lines().filter_map(move |line| {
        let mut fields = line.strip_prefix(name)?.strip_prefix(':')?.split(':');
        let (start, count): (u32, u32) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(start..=start.checked_add(count.checked_sub(1)?)?)
    })
}

/// Names of all users that the agent made with homes below the folder.
pub(crate) fn made_below(home_root: &Path) -> Vec<String> {
    let table = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let made = table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let (name, comment, home) = (fields.first()?, fields.get(4)?, fields.get(5)?);
        let is_ours = comment.split(',').next() == Some(MARK) && Path::new(home).starts_with(home_root);
        is_ours.then(|| (*name).to_owned())
    });
    made.collect()
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
pub(crate) async fn lock(user: &User) -> Result<()> {
    edit("usermod", &["--password", "!", "--expiredate", "1", &user.name]).await
}

/// Whether [`lock`] was the last word about the user; also when that cannot be told.
pub(crate) fn is_locked(user: &User) -> bool {
    let shadow = std::fs::read_to_string("/etc/shadow").unwrap_or_default();
    let entry = shadow.lines().find_map(|line| line.strip_prefix(&user.name)?.strip_prefix(':'));
    entry.is_none_or(|entry| entry.split(':').next() == Some("!"))
}

/// The user is gone. Its processes and its home must be gone before.
pub(crate) async fn remove(user: &User) -> Result<()> {
    edit("userdel", &["--remove", &user.name]).await?;
    if user.home.exists() {
        return Err(Failure::passing("home", format!("{} still exists", user.home.display())));
    }
    match find(&user.name)? {
        Some(_) => Err(Failure::passing("user", format!("{} still exists", user.name))),
        None => Ok(()),
    }
}

const UID_IN_USE: &str = "uid_in_use";

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
            Some(UID_TAKEN) if program == "useradd" => return Err(Failure::passing(UID_IN_USE, ended.said)),
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
    fn subordinate_ids_are_read_for_the_one_user() {
        let table = "ab:100000:65536\na:200000:2\na:300000:0\na:x:1\na:4294967295:2\n";
        assert_eq!(subordinate(table, "a").collect::<Vec<_>>(), [200_000..=200_001]);
        assert_eq!(subordinate(table, "b").count(), 0);
    }

    #[test]
    fn root_is_never_one_of_ours() {
        assert!(!find("root").unwrap().unwrap().is_ours);
        assert!(find("no-such-user-here").unwrap().is_none());
    }
}
