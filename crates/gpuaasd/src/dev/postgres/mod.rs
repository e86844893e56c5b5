//! A private PostgreSQL cluster: found, initialized, started, supervised and
//! stopped by us, reachable through a Unix socket that only its owner can
//! open. It serves `gpuaasd dev` and tests; what is in it is not our business.

mod account;
mod binaries;
mod error;
mod init;
mod leftovers;
mod log;
mod place;
mod server;
mod supervise;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::mpsc::SyncSender,
    thread::JoinHandle,
};

use tokio::sync::watch;
use url::form_urlencoded;

pub use binaries::Binaries;
pub use error::DevError;
pub use supervise::Status;

use account::Account;
use place::ClusterPaths;
use server::Spec;
use supervise::{Event, StopDeadline, Supervisor};

const SUPERUSER: &str = "postgres";

#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// The cluster's own folder. Made if it is missing; when we are root, it
    /// becomes passable (not readable) for the account that runs the server.
    pub dir: PathBuf,
    /// Whether a commit survives a power cut. Tests do without.
    pub durable: bool,
    pub max_connections: u32,
    /// Removes the data when the cluster stops, also when we are killed.
    pub remove_at_exit: bool,
}

impl ClusterOptions {
    /// A cluster whose data is kept.
    pub fn durable(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), durable: true, max_connections: 100, remove_at_exit: false }
    }

    /// A cluster for a test run: fast, and gone with the process.
    pub fn disposable(dir: impl Into<PathBuf>) -> Self {
        Self { durable: false, max_connections: 200, remove_at_exit: true, ..Self::durable(dir) }
    }
}

/// A running cluster. Prefer [`Cluster::stop`] to dropping it: the drop blocks
/// its thread until the server is gone.
pub struct Cluster {
    place: ClusterPaths,
    durable: bool,
    remove_at_exit: bool,
    binaries: Binaries,
    status: watch::Receiver<Status>,
    events: SyncSender<Event>,
    supervisor: Option<JoinHandle<()>>,
}

impl Cluster {
    /// Returns when the server accepts connections. What an earlier run left
    /// behind (a running server, a stale lock, half an `initdb`) is put right.
    pub async fn start(options: ClusterOptions) -> Result<Self, DevError> {
        tokio::task::spawn_blocking(move || Self::start_blocking(options))
            .await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    fn start_blocking(options: ClusterOptions) -> Result<Self, DevError> {
        let place = ClusterPaths::prepare(&options, Account::needed()?)?;
        let binaries = match init::data_version(&place)? {
            Some(version) => Binaries::of_version(version, &place.data)?,
            None => Binaries::find()?,
        };
        let spec = Spec {
            binaries: binaries.clone(),
            place: place.clone(),
            durable: options.durable,
            max_connections: options.max_connections,
            remove_at_exit: options.remove_at_exit,
        };
        leftovers::sweep(&place)?;
        init::init_if_missing(&spec)?;
        let supervisor = Supervisor::launch(spec)?;
        Ok(Self {
            place,
            durable: options.durable,
            remove_at_exit: options.remove_at_exit,
            binaries,
            status: supervisor.status(),
            events: supervisor.events(),
            supervisor: Some(supervisor.run_on_thread()?),
        })
    }

    /// Ends sessions, writes a checkpoint and waits until the server is gone;
    /// a server that takes too long is stopped the hard way.
    pub async fn stop(mut self) -> Result<(), DevError> {
        tokio::task::spawn_blocking(move || self.shut_down(StopDeadline::Fast))
            .await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    /// For SQLx and libpq alike: `postgres:///db?host=/path&user=…`.
    pub fn url(&self, database: &str) -> String {
        self.url_as(SUPERUSER, database)
    }

    /// The address for another role than the superuser.
    pub fn url_as(&self, user: &str, database: &str) -> String {
        let escape = |text: &str| -> String {
            // libpq reads `+` as itself, so a space must be `%20`.
            let form: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
            form.replace('+', "%20")
        };
        format!(
            "postgres:///{}?host={}&port={}&user={user}&sslmode=disable",
            escape(database),
            escape(&self.place.socket_dir.to_string_lossy()),
            place::PORT,
        )
    }

    pub fn socket_dir(&self) -> &Path {
        &self.place.socket_dir
    }

    pub fn superuser(&self) -> &'static str {
        SUPERUSER
    }

    /// Where the server writes what it has to say.
    pub fn log_file(&self) -> &Path {
        &self.place.log
    }

    /// The programs of the server's version, for `pg_dump` and the like.
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// Changes when the server dies, is back, or is given up.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }

    fn shut_down(&mut self, patience: StopDeadline) -> Result<(), DevError> {
        let Some(supervisor) = self.supervisor.take() else {
            return Ok(());
        };
        // Neither fails unless the supervisor is gone already.
        let _ = self.events.send(Event::Stop(patience));
        let _ = supervisor.join();
        let swept = leftovers::sweep(&self.place);
        self.place.leave(self.remove_at_exit && swept.is_ok());
        swept
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let patience = if self.durable { StopDeadline::Fast } else { StopDeadline::Immediate };
        if let Err(error) = self.shut_down(patience) {
            tracing::error!(%error, "the private PostgreSQL did not stop");
        }
    }
}
