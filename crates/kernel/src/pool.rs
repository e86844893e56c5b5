//! A small pool of connections. Unlike the library's own it sends nothing when
//! a connection is taken or given back, which saves a round trip per request;
//! a connection whose last use did not end cleanly is closed instead. Under
//! load the end of a read travels with the beginning of the next use.

use std::{
    ops::{Deref, DerefMut},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use sqlx::{ConnectOptions, PgConnection, postgres::PgConnectOptions};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

#[derive(Clone)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    options: PgConnectOptions,
    idle: Mutex<Vec<Idle>>,
    permits: Arc<Semaphore>,
    /// Who waits for a connection now.
    waiting: AtomicUsize,
    acquire_timeout: Duration,
    max: usize,
}

struct Idle {
    connection: PgConnection,
    owes_commit: bool,
}

/// A connection on loan. Closed on drop unless [`PooledConnection::give_back`] was called.
pub(crate) struct PooledConnection {
    connection: Option<PgConnection>,
    /// A read-only transaction is still open on it, whose `COMMIT` goes out
    /// with the first statement of this use.
    owes_commit: bool,
    shared: Arc<Shared>,
    permit: Option<(OwnedSemaphorePermit, Option<Holding>)>,
}

tokio::task_local! {
    /// Connections that this request or visit holds.
    static HELD: Arc<AtomicUsize>;
}

/// Runs a request or a visit that may hold one connection at a time. Asking for
/// a second one fails at once: as many that hold one and wait for another as the
/// pool is large would wait for each other.
pub async fn one_connection<F: Future>(work: F) -> F::Output {
    HELD.scope(Arc::default(), work).await
}

/// Counts a connection among those that a request or visit holds.
struct Holding(Arc<AtomicUsize>);

impl Holding {
    /// Nothing outside of [`one_connection`].
    fn begin() -> sqlx::Result<Option<Self>> {
        let Ok(held) = HELD.try_with(Arc::clone) else { return Ok(None) };
        if held.fetch_add(1, Ordering::SeqCst) > 0 {
            held.fetch_sub(1, Ordering::SeqCst);
            metrics::counter!("gpuaas_database_second_connections_total").increment(1);
            tracing::error!(
                "a request or visit requested a second database connection while it holds one; it was refused"
            );
            return Err(sqlx::Error::Configuration(
                "it requests a second database connection while it holds one".into(),
            ));
        }
        Ok(Some(Self(held)))
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Pool {
    pub fn new(options: PgConnectOptions, max: usize, acquire_timeout: Duration) -> Self {
        let shared = Shared {
            options,
            idle: Mutex::new(Vec::with_capacity(max)),
            permits: Arc::new(Semaphore::new(max)),
            waiting: AtomicUsize::new(0),
            acquire_timeout,
            max,
        };
        Self { shared: Arc::new(shared) }
    }

    pub async fn take(&self) -> sqlx::Result<PooledConnection> {
        let waited = tokio::time::timeout(self.shared.acquire_timeout, self.open()).await;
        waited.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    async fn open(&self) -> sqlx::Result<PooledConnection> {
        let holding = Holding::begin()?;
        let permits = self.shared.permits.clone();
        let permit = {
            let _counted = Waiting::count(&self.shared.waiting);
            permits.acquire_owned().await.map_err(|_| sqlx::Error::PoolClosed)?
        };
        let idle = self.shared.idle.lock().expect("no code panics while it holds this lock").pop();
        let Idle { connection, owes_commit } = match idle {
            Some(idle) => idle,
            None => Idle { connection: self.connect().await?, owes_commit: false },
        };
        let permit = Some((permit, holding));
        Ok(PooledConnection { connection: Some(connection), owes_commit, shared: self.shared.clone(), permit })
    }

    /// A connection that is not counted, for listening.
    pub async fn connect(&self) -> sqlx::Result<PgConnection> {
        let mut connection = self.shared.options.connect().await?;
        // Whoever forgets to choose a scope sees nothing.
        sqlx::raw_sql("SET ROLE gpuaas_public").execute(&mut connection).await?;
        Ok(connection)
    }

    pub fn options(&self) -> &PgConnectOptions {
        &self.shared.options
    }

    /// Connections in use, and the most there may be.
    pub fn in_use(&self) -> (usize, usize) {
        (self.shared.max - self.shared.permits.available_permits(), self.shared.max)
    }

    /// How many wait for a connection.
    pub fn waiting(&self) -> usize {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// Forgets idle connections, because one of them turned out to be dead.
    pub fn forget_idle(&self) {
        self.shared.idle.lock().expect("no code panics while it holds this lock").clear();
    }

    pub fn close(&self) {
        self.shared.permits.close();
        self.forget_idle();
    }
}

impl PooledConnection {
    /// Returns the connection; call only when no transaction is open on it.
    pub fn give_back(self) {
        self.rest(false);
    }

    /// Ends a read-only transaction and returns the connection. Nothing can
    /// be lost with it, so when somebody waits for the connection they send
    /// the `COMMIT` together with their own first statement.
    pub async fn end_read(mut self) -> sqlx::Result<()> {
        let is_wanted = self.shared.waiting.load(Ordering::Relaxed) > 0;
        if !is_wanted {
            sqlx::raw_sql("COMMIT").execute(&mut *self).await?;
        }
        self.rest(is_wanted);
        Ok(())
    }

    /// What the first statement of this use must begin with.
    pub fn debt(&mut self) -> &'static str {
        if std::mem::take(&mut self.owes_commit) { "COMMIT; " } else { "" }
    }

    /// Pays the debt by itself, for a use that does not begin with a text of its own.
    pub async fn settle(&mut self) -> sqlx::Result<()> {
        if std::mem::take(&mut self.owes_commit) {
            sqlx::raw_sql("COMMIT").execute(&mut **self).await?;
        }
        Ok(())
    }

    /// Returns the connection and stays without one until [`PooledConnection::take_again`].
    pub fn pause(&mut self) {
        self.put_down(false);
    }

    pub async fn take_again(&mut self) -> sqlx::Result<()> {
        *self = Pool { shared: self.shared.clone() }.take().await?;
        Ok(())
    }

    /// Whether it is paused.
    pub fn is_empty(&self) -> bool {
        self.connection.is_none()
    }

    fn rest(mut self, owes_commit: bool) {
        self.put_down(owes_commit);
    }

    fn put_down(&mut self, owes_commit: bool) {
        if let Some(connection) = self.connection.take()
            && !self.shared.permits.is_closed()
        {
            let idle = Idle { connection, owes_commit };
            self.shared.idle.lock().expect("no code panics while it holds this lock").push(idle);
        }
        self.permit = None;
    }
}

/// Counts one who waits, also one who gives up.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn count(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Deref for PooledConnection {
    type Target = PgConnection;
    fn deref(&self) -> &PgConnection {
        self.connection.as_ref().expect("a returned or paused connection is not used")
    }
}

impl DerefMut for PooledConnection {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.connection.as_mut().expect("a returned or paused connection is not used")
    }
}
