//! Variables for every shell of a login, in a file that only root writes. The home
//! reads it by a line that is put there before anybody can log in: later nothing
//! is written into the home, where the tenant could make a write fail or hang.

use super::keys::make_root;
use super::users::User;
use crate::config::Config;
use crate::linux::command::{run, tool};
use crate::steps::{Failure, Result};
use std::io;
use std::path::PathBuf;

const HOOK: &str = "umask 077 && cd \"$1\" && for file in .profile .bashrc; do \
    grep -qsF \"$2\" \"$file\" || { echo \"[ -r '$2' ] && . '$2'\" > .gpuaas.new \
    && { [ ! -e \"$file\" ] || cat \"$file\" >> .gpuaas.new; } && mv -f .gpuaas.new \"$file\"; }; done";

fn place(config: &Config, name: &str) -> PathBuf {
    config.keys_root.with_file_name("environment").join(name)
}

/// What shells of the login begin with from now on.
pub(crate) fn write(config: &Config, user: &User, text: &str) -> Result<()> {
    let place = place(config, &user.name);
    let write = || {
        make_root(&config.keys_root.with_file_name("environment"))?;
        crate::state::replace(&place, text.as_bytes(), 0o644)
    };
    write().map_err(|error: io::Error| {
        Failure::passing("gpu_access", format!("{} cannot be written: {error}", place.display()))
    })
}

/// Lets the home of a login that nobody has used yet read its file. As the user:
/// what is in the home is the user's.
pub(crate) async fn hook(config: &Config, user: &User) -> Result<()> {
    let (home, place) = (user.home.to_string_lossy(), place(config, &user.name));
    let mut shell = tool("/bin/sh", &["-c", HOOK, "sh", &home, &place.to_string_lossy()]);
    shell.uid(user.uid).gid(user.gid);
    let failed = |said| Failure::passing("gpu_access", said);
    let ended = run(shell).await.map_err(failed)?;
    if ended.is_success() { Ok(()) } else { Err(failed(ended.said)) }
}

pub(crate) fn remove(config: &Config, name: &str) -> Result<()> {
    let place = place(config, name);
    match std::fs::remove_file(&place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::passing("gpu_access", format!("{} cannot be removed: {error}", place.display())))
        }
        _ => Ok(()),
    }
}

/// Nobody is left whose file it could be.
pub(crate) fn clear(config: &Config) {
    let _ = std::fs::remove_dir_all(config.keys_root.with_file_name("environment"));
}
