//! The host's own sshd: whether it lets logins in by the agent's keys and by nothing
//! else, as sshd itself understands its files.

use super::users::LOGINS;
use crate::config::Config;
use crate::linux::command::{run, tool};
use std::path::{Path, PathBuf};

/// What sshd reads where nobody says otherwise.
pub(crate) const MAIN_FILE: &str = "/etc/ssh/sshd_config";
/// Where Debian's sshd keeps what it no longer trusts. Its service makes the folder when
/// it starts, and sshd answers no question without.
const SCRATCH: &str = "/run/sshd";

/// The settings for logins only; the operator's own users log in as before.
pub(crate) fn settings(config: &Config) -> String {
    format!(
        "# Written by gpuaas-node at every start; edits do not last.\n\
         Match Group {LOGINS}\n\
         \x20   AuthorizedKeysFile {}/%u\n\
         \x20   AuthorizedKeysCommand none\n\
         \x20   TrustedUserCAKeys none\n\
         \x20   AuthenticationMethods publickey\n\
         \x20   PasswordAuthentication no\n\
         \x20   KbdInteractiveAuthentication no\n\
         \x20   HostbasedAuthentication no\n\
         \x20   PermitUserRC no\n\
         Match all\n",
        config.keys_root.display()
    )
}

pub(crate) fn program() -> Option<PathBuf> {
    let folders = ["/usr/local/sbin", "/usr/sbin", "/usr/bin", "/sbin"];
    folders.iter().map(|folder| Path::new(folder).join("sshd")).find(|path| path.exists())
}

/// sshd with these arguments, ready to answer.
pub(crate) fn asked(program: &Path, arguments: &[&str]) -> tokio::process::Command {
    // Where this cannot be made, sshd says so itself.
    let _ = std::fs::create_dir_all(SCRATCH);
    tool(&program.to_string_lossy(), arguments)
}

/// Whether the login is let in by the agent's keys alone; otherwise why not. A host
/// without sshd lets nobody in.
pub(crate) async fn check(config: &Config, file: &Path, login: &str) -> Result<(), String> {
    let Some(program) = program() else { return Ok(()) };
    let about = format!("user={login},host=localhost,addr=127.0.0.1");
    let file = file.to_string_lossy();
    let ended = run(asked(&program, &["-T", "-f", &file, "-C", &about])).await?;
    if !ended.is_success() {
        return Err(ended.said);
    }
    judge(&ended.printed, &config.keys_root)
}

/// What sshd prints with `-T`: names in lower case, a value behind each.
fn judge(printed: &str, keys_root: &Path) -> Result<(), String> {
    let keys = format!("{}/%u", keys_root.display());
    let wanted = [
        ("authorizedkeysfile", keys.as_str()),
        ("authorizedkeyscommand", "none"),
        ("authenticationmethods", "publickey"),
        ("trustedusercakeys", "none"),
    ];
    for (name, wanted) in wanted {
        let line = printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let found = line.unwrap_or("none");
        if found != wanted {
            return Err(format!("sshd has `{name} {found}` for logins instead of `{wanted}`"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sshd_that_honors_other_keys_is_found_out() {
        let good = "port 22\nauthorizedkeysfile /etc/gpuaas/keys/%u\nauthorizedkeyscommand none\n\
                    authenticationmethods publickey\ntrustedusercakeys none\n";
        let root = Path::new("/etc/gpuaas/keys");
        assert_eq!(judge(good, root), Ok(()));
        for (from, to) in [
            ("authorizedkeysfile /etc/gpuaas/keys/%u", "authorizedkeysfile .ssh/authorized_keys"),
            ("/etc/gpuaas/keys/%u", "/etc/gpuaas/keys/%u .ssh/authorized_keys"),
            ("authorizedkeyscommand none", "authorizedkeyscommand /usr/bin/sss_ssh_authorizedkeys"),
            ("authenticationmethods publickey", "authenticationmethods any"),
            ("trustedusercakeys none", "trustedusercakeys /etc/ssh/ca.pub"),
        ] {
            assert!(judge(&good.replace(from, to), root).is_err(), "{to}");
        }
        assert!(judge("", root).is_err());
    }
}
