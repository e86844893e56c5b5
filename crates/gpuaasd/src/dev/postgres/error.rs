//! What can go wrong with the private cluster, and what to do about it.

use std::{io, path::PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum DevError {
    #[error(
        "PostgreSQL's programs were not found: run `apt-get install postgresql`, or set GPUAAS_PG_BIN to the folder of `initdb` and `postgres`"
    )]
    NoPostgres,
    #[error("GPUAAS_PG_BIN names {dir}, where `{}` or `{}` is missing: correct it or unset it", needed[0], needed[1])]
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
    #[error("{path} cannot be prepared: check that it is ours to write and that the disk has room")]
    Folder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "user {account}, who runs PostgreSQL for root, cannot pass {path}: run `chmod o+x` on it, or choose another data folder"
    )]
    Closed { path: PathBuf, account: String },
    #[error("{path} is not a folder of ours: remove it, or set TMPDIR to another folder")]
    NotOurs { path: PathBuf },
    #[error("no folder has a path short enough for a socket: set TMPDIR to a short one like /tmp")]
    NoSocketFolder,
    #[error(
        "PostgreSQL refuses to run as root and there is neither a user `postgres` nor `nobody`: add one, or run as another user"
    )]
    NoAccount,
    #[error("{program} cannot be run: check that it is installed and that its user may execute it")]
    Run {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("initdb failed, it said: {said}: mend that and start again, the log is {log}")]
    Init { log: PathBuf, said: String },
    #[error("postgres ended at its start, it said: {said}: mend that and start again, the log is {log}")]
    Ended { log: PathBuf, said: String },
    #[error("{program} was not done after {limit_s} s: look at the log {log}, and at the load of the machine")]
    TooSlow { program: &'static str, limit_s: u64, log: PathBuf },
    #[error("processes {pids:?} still work on {data}: stop them and start again")]
    StillRunning { pids: Vec<i32>, data: PathBuf },
}
