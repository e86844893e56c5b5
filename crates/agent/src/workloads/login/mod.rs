//! A user of the host with SSH keys, processes and a home. Works as root on Debian
//! and Ubuntu.

pub(crate) mod clean;
pub(crate) mod configure;
pub(crate) mod environment;
pub(crate) mod evidence;
pub(crate) mod files;
pub(crate) mod groups;
pub(crate) mod keys;
pub(crate) mod logins;
pub(crate) mod outlook;
pub(crate) mod processes;
pub(crate) mod schedulers;
pub(crate) mod sessions;
pub(crate) mod shell;
pub(crate) mod sshd;
pub(crate) mod users;
