//! What can go wrong with the private cluster, and what to do about it.

use std::{io, path::PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum DevError {
    #[error(
        "PostgreSQL is not installed: run `apt-get install postgresql`, or set GPUAAS_PG_BIN to the folder of `initdb` and `postgres`"
    )]
    NoPostgres,
    #[error("GPUAAS_PG_BIN is {dir}, where `{}` or `{}` is missing: correct or unset it", needed[0], needed[1])]
    BadBinaries { dir: PathBuf, needed: [&'static str; 2] },
    #[error(
        "`pg_dump` and `pg_restore` of PostgreSQL {version} or newer were not found: run `apt-get install postgresql-client-{version}`, or set GPUAAS_PG_BIN to their folder"
    )]
    NoClient { version: u32 },
    #[error(
        "{data} belongs to PostgreSQL {version}, which is not installed: run `apt-get install postgresql-{version}`, or choose another data folder"
    )]
    OtherVersion { data: PathBuf, version: u32 },
    #[error("{data} is not a PostgreSQL cluster: move it away, or choose another data folder")]
    NotACluster { data: PathBuf },
    #[error("{dir} is in use by another gpuaasd: stop it, or choose another data folder")]
    InUse { dir: PathBuf },
    #[error("cannot prepare {path}: check its permissions and the free disk space")]
    Folder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "user {account}, who runs PostgreSQL for root, cannot pass {path}: run `chmod o+x` on it, or choose another data folder"
    )]
    Closed { path: PathBuf, account: String },
    #[error("{path} was not created by gpuaasd: remove it, or set TMPDIR to another folder")]
    NotOurs { path: PathBuf },
    #[error("no folder has a path short enough for a socket: set TMPDIR to a short one like /tmp")]
    NoSocketFolder,
    #[error(
        "PostgreSQL refuses to run as root and there is neither a user `postgres` nor `nobody`: add one, or run as another user"
    )]
    NoAccount,
    #[error("cannot run {program}: check that it is installed and that its user can execute it")]
    Run {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("initdb failed: {said}; fix this and start again (log: {log})")]
    Init { log: PathBuf, said: String },
    #[error("postgres exited at startup: {said}; fix this and start again (log: {log})")]
    Ended { log: PathBuf, said: String },
    #[error("{program} timed out after {limit_s} s: check the log {log} and the load of the machine")]
    TooSlow { program: &'static str, limit_s: u64, log: PathBuf },
    #[error("processes {pids:?} still use {data}: stop them and start again")]
    StillRunning { pids: Vec<i32>, data: PathBuf },
}
