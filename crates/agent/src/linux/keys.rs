//! The public keys of a login. The files are written by the user itself, not by
//! root: what the user links to is then the user's own business.

use super::command::{run_with_input, tool};
use super::users::User;
use crate::driver::{Failure, Result};
use protocol::limits::{MAX_KEY_BYTES, MAX_KEYS_PER_LOGIN};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(10); // bound: it writes one file
const KINDS: &[&str] = &[
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
];

const WRITE: &str = "umask 077 && mkdir -p \"$1/.ssh\" && chmod 700 \"$1/.ssh\" && cd \"$1/.ssh\" \
    && cat > .gpuaas.new && mv -f .gpuaas.new authorized_keys && rm -f authorized_keys2";

const ENVIRONMENT: &str = "umask 077 && cd \"$1\" && cat > .gpuaas_environment.new \
    && mv -f .gpuaas_environment.new .gpuaas_environment && for file in .profile .bashrc; do \
      grep -qs gpuaas_environment \"$file\" || { \
        echo '[ -r \"$HOME/.gpuaas_environment\" ] && . \"$HOME/.gpuaas_environment\"' > .gpuaas.new \
        && { [ ! -e \"$file\" ] || cat \"$file\" >> .gpuaas.new; } && mv -f .gpuaas.new \"$file\"; }; done";

/// Plain public keys only: an option in front could run a command.
pub(super) fn check(keys: &[String]) -> Result<()> {
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

pub(super) async fn write(user: &User, keys: &[String]) -> Result<()> {
    let text: String = keys.iter().map(|key| format!("{key}\n")).collect();
    as_user(user, WRITE, &text, "keys").await
}

/// Variables for every shell of the user, over ssh too.
pub(super) async fn set_environment(user: &User, text: &str) -> Result<()> {
    as_user(user, ENVIRONMENT, text, "gpu_access").await
}

async fn as_user(user: &User, script: &str, input: &str, code: &str) -> Result<()> {
    let home = user.home.to_string_lossy();
    let mut shell = tool("/bin/sh", &["-c", script, "sh", &home]);
    shell.uid(user.uid).gid(user.gid);
    let ended = run_with_input(shell, input.as_bytes(), LIMIT).await.map_err(|said| Failure::passing(code, said))?;
    if ended.is_success() { Ok(()) } else { Err(Failure::passing(code, ended.said)) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
