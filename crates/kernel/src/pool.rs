//! A small pool of connections. Unlike the library's own it sends nothing when
//! a connection is taken or given back, which saves a round trip per request;
//! a connection whose last use did not end cleanly is closed instead.

use std::{
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex},
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
    idle: Mutex<Vec<PgConnection>>,
    permits: Arc<Semaphore>,
    acquire_timeout: Duration,
    max: usize,
}

/// A connection on loan. Closed on drop unless [`Lent::give_back`] was called.
pub(crate) struct Lent {
    connection: Option<PgConnection>,
    shared: Arc<Shared>,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    pub fn new(options: PgConnectOptions, max: usize, acquire_timeout: Duration) -> Self {
        let shared = Shared {
            options,
            idle: Mutex::new(Vec::with_capacity(max)),
            permits: Arc::new(Semaphore::new(max)),
            acquire_timeout,
            max,
        };
        Self { shared: Arc::new(shared) }
    }

    pub async fn take(&self) -> sqlx::Result<Lent> {
        let waited = tokio::time::timeout(self.shared.acquire_timeout, self.open()).await;
        waited.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    async fn open(&self) -> sqlx::Result<Lent> {
        let permits = self.shared.permits.clone();
        let permit = permits.acquire_owned().await.map_err(|_| sqlx::Error::PoolClosed)?;
        let idle = self.shared.idle.lock().expect("no code panics while it holds this lock").pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok(Lent { connection: Some(connection), shared: self.shared.clone(), _permit: permit })
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

    /// Forgets idle connections, because one of them turned out to be dead.
    pub fn forget_idle(&self) {
        self.shared.idle.lock().expect("no code panics while it holds this lock").clear();
    }

    pub fn close(&self) {
        self.shared.permits.close();
        self.forget_idle();
    }
}

impl Lent {
    /// Returns the connection; call only when no transaction is open on it.
    pub fn give_back(mut self) {
        if let Some(connection) = self.connection.take()
            && !self.shared.permits.is_closed()
        {
            self.shared.idle.lock().expect("no code panics while it holds this lock").push(connection);
        }
    }
}

impl Deref for Lent {
    type Target = PgConnection;
    fn deref(&self) -> &PgConnection {
        self.connection.as_ref().expect("taken only by give_back, which consumes the loan")
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.connection.as_mut().expect("taken only by give_back, which consumes the loan")
    }
}
