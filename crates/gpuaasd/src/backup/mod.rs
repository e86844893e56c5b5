//! `gpuaasd backup` and `gpuaasd restore`: one file that holds the database,
//! made and read by PostgreSQL's own programs. The secrets key is not in it.

mod programs;
mod store;

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use sqlx::{Connection, PgConnection};

use crate::dev::postgres::{Binaries, DevError};
use programs::Program;

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("the database cannot be used: check `database.url`")]
    Database(#[from] sqlx::Error),
    #[error("{path} already exists; choose another name")]
    Exists { path: PathBuf },
    #[error("{path} cannot be used")]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("rows of {0} would be missing; give `gpuaas_system` a policy that can see all rows, then back up again")]
    Unseen(String),
    #[error("the database already contains {0}; restore into an empty database")]
    NotEmpty(String),
    #[error(transparent)]
    Programs(#[from] DevError),
    #[error("{program} cannot be run")]
    Run {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{program} failed, it said: {said}")]
    Failed { program: &'static str, said: String },
}

/// Writes the whole database to `file`, which must not exist, as of one moment.
/// Returns its size.
pub async fn back_up(url: &str, file: &Path) -> Result<u64, BackupError> {
    if file.try_exists().map_err(at(file))? {
        return Err(BackupError::Exists { path: file.to_owned() });
    }
    let mut connection = PgConnection::connect(url).await?;
    if let Some(table) = store::unseen_table(&mut connection).await? {
        return Err(BackupError::Unseen(table));
    }
    let binaries = Binaries::for_server(store::server_version(&mut connection).await?)?;
    connection.close().await?;
    let draft = with_suffix(file, ".partial");
    let output =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft).map_err(at(&draft))?;
    let flushed = output.try_clone().map_err(at(&draft))?;
    let dump = Program::new(&binaries, "pg_dump", url)
        .args(["--format=custom", "--lock-wait-timeout=60s"])
        // Forced row-level security holds for the tables' owner too; this role sees all.
        .args(["--enable-row-security", "--role", store::SYSTEM_ROLE])
        .writes_to(output);
    let written = async {
        dump.run().await?;
        Program::new(&binaries, "pg_restore", url).arg("--list").arg(&draft).run().await?;
        flushed.sync_all().map_err(at(&draft))?;
        publish(&draft, file)
    };
    let written = written.await;
    // Gone already where it was renamed; else only a whole one keeps a name.
    let _ = fs::remove_file(&draft);
    written?;
    fs::metadata(file).map(|it| it.len()).map_err(at(file))
}

/// Fills an empty database from `file` and starts a new epoch in it, so that
/// nothing mistakes it for the one that was backed up. Returns the epoch.
pub async fn restore(url: &str, file: &Path) -> Result<i32, BackupError> {
    File::open(file).map_err(at(file))?;
    let mut connection = PgConnection::connect(url).await?;
    let binaries = Binaries::for_server(store::server_version(&mut connection).await?)?;
    Program::new(&binaries, "pg_restore", url).arg("--list").arg(file).run().await?;
    if let Some(found) = store::first_relation(&mut connection).await? {
        return Err(BackupError::NotEmpty(found));
    }
    // Policies and grants name the roles, which belong to the cluster.
    store::make_roles(&mut connection).await?;
    Program::new(&binaries, "pg_restore", url)
        .args(["--single-transaction", "--exit-on-error", "--no-owner"])
        .names_database()
        .arg(file)
        .run()
        .await?;
    let epoch = kernel::installation::start_epoch(&mut connection).await?;
    connection.close().await?;
    Ok(epoch)
}

/// Gives the finished draft its name, unless somebody took it meanwhile.
fn publish(draft: &Path, file: &Path) -> Result<(), BackupError> {
    match fs::hard_link(draft, file) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(BackupError::Exists { path: file.to_owned() })
        }
        // Some file systems have no links.
        Err(_) => fs::rename(draft, file).map_err(at(file)),
        Ok(()) => Ok(()),
    }
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn at(path: &Path) -> impl Fn(io::Error) -> BackupError {
    let path = path.to_owned();
    move |source| BackupError::File { path: path.clone(), source }
}
