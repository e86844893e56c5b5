//! The public keys of a login, in a file that only root writes: what is in the
//! user's home opens nothing.

use super::users::User;
use crate::steps::{Failure, Result};
use protocol::limits::{MAX_KEY_BYTES, MAX_KEYS_PER_LOGIN};
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

const KINDS: &[&str] = &[
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
];

/// Plain public keys only: an option in front could run a command.
pub(crate) fn check(keys: &[String]) -> Result<()> {
    if keys.len() > MAX_KEYS_PER_LOGIN {
        return Err(Failure::lasting("bad_login", format!("more than {MAX_KEYS_PER_LOGIN} keys")));
    }
    match keys.iter().position(|key| !is_plain_key(key)) {
        Some(at) => Err(Failure::lasting("bad_login", format!("key {} is not a plain public key", at + 1))),
        None => Ok(()),
    }
}

fn is_plain_key(key: &str) -> bool {
    let mut words = key.split(' ');
    let kind_is_known = words.next().is_some_and(|kind| KINDS.contains(&kind));
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let data_is_plain = words.next().is_some_and(|data| !data.is_empty() && data.chars().all(is_base64));
    kind_is_known && data_is_plain && key.len() <= MAX_KEY_BYTES && !key.contains(char::is_control)
}

/// The login holds these keys and no other. sshd reads the file as the user, so
/// everybody may; nobody but root may write.
pub(crate) fn write(root: &Path, user: &User, keys: &[String]) -> Result<()> {
    let text: String = keys.iter().map(|key| format!("{key}\n")).collect();
    let write = || {
        make_root(root)?;
        crate::state::replace(&root.join(&user.name), text.as_bytes(), 0o644)
    };
    let failed = |error: io::Error| {
        let place = root.join(&user.name);
        Failure::passing("keys", format!("{} cannot be written: {error}", place.display()))
    };
    write().map_err(failed)
}

/// Whether the login has a key that is not among these; also when that cannot be
/// told. A comment is not part of a key.
pub(crate) fn would_lose(root: &Path, user: &User, keys: &[String]) -> bool {
    match std::fs::read_to_string(root.join(&user.name)) {
        Ok(before) => before.lines().any(|line| keys.iter().all(|key| bare(key) != bare(line))),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

fn bare(key: &str) -> Vec<&str> {
    key.split_whitespace().take(2).collect()
}

/// No key opens the login any more.
pub(crate) fn remove(root: &Path, name: &str) -> Result<()> {
    let path = root.join(name);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::passing("keys", format!("{} cannot be removed: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

/// sshd refuses files below folders that others may write to.
pub(crate) fn make_root(root: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(root)?;
    // The agent's own mask is tighter than what sshd needs.
    for folder in root.ancestors().take(2).filter(|folder| folder.components().count() > 2) {
        std::fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_key_that_is_missing_is_a_loss() {
        let root = tempfile::tempdir().unwrap();
        let (home, shell) = ("/".into(), "/bin/sh".into());
        let user = User { name: "ga".into(), uid: 1, gid: 1, home, shell, is_ours: true };
        let would_lose = |keys: &[&str]| {
            would_lose(root.path(), &user, &keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>())
        };
        assert!(!would_lose(&[]), "a login that had none");
        std::fs::write(root.path().join("ga"), "ssh-ed25519 AAAA a@b\nssh-ed25519 BBBB\n").unwrap();
        assert!(!would_lose(&["ssh-ed25519 BBBB", "ssh-ed25519 AAAA c@d", "ssh-ed25519 CCCC"]));
        assert!(would_lose(&["ssh-ed25519 AAAA a@b"]));
        assert!(would_lose(&[]));
        std::fs::remove_file(root.path().join("ga")).unwrap();
        std::fs::create_dir(root.path().join("ga")).unwrap();
        assert!(would_lose(&["ssh-ed25519 AAAA a@b"]), "nobody knows");
    }

    #[test]
    fn only_plain_public_keys_pass() {
        let good = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0= somebody@somewhere".to_owned();
        assert!(check(std::slice::from_ref(&good)).is_ok());
        let bad = [
            format!("command=\"id\" {good}"),
            format!("{good}\n{good}"),
            "ssh-ed25519".to_owned(),
            "ssh-ed25519 AA\"A".to_owned(),
            "ssh-dss AAAA".to_owned(),
            String::new(),
            format!("ssh-rsa {}", "A".repeat(MAX_KEY_BYTES)),
        ];
        for key in bad {
            assert!(check(std::slice::from_ref(&key)).is_err(), "{key:.80}");
        }
        assert!(check(&vec![good; MAX_KEYS_PER_LOGIN + 1]).is_err());
    }
}
