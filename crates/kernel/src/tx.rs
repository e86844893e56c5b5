//! A transaction that carries its actor, its cause and its scope. Nothing
//! reads or changes the database without one, and whoever forgets to choose a
//! scope sees no row: connections rest in the role that sees nothing.

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use sqlx::{
    AssertSqlSafe, ConnectOptions, PgConnection,
    postgres::{PgConnectOptions, PgRow},
};
use uuid::Uuid;

use crate::{
    bell::{Bell, Topic},
    clock::Clock,
    hooks::Hooks,
    outbox,
    pending::Pending,
    pool::{Pool, PooledConnection},
    work,
};

/// Whose rows a transaction can see; each is a database role of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Sees nothing.
    Public,
    /// Accounts and credentials, to sign in and to recognize callers.
    Identity,
    /// One person's own things.
    Person(Uuid),
    /// One organization.
    Organization(Uuid),
    /// Platform staff, across organizations.
    Operator,
    /// Reconcilers and housekeeping.
    System,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

/// Who acts: `user:…`, `service_account:…`, `system:…` or `public`. Ids only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Actor(Arc<str>);

/// The database as the rest of the program knows it.
#[derive(Clone)]
pub struct Db {
    pool: Pool,
    pub bell: Bell,
    pub clock: Clock,
    hooks: Hooks,
    epoch: i32,
}

/// How to reach the database, and how long to wait for it.
#[derive(Debug, Clone)]
pub struct DbSettings {
    pub url: String,
    pub max_connections: usize,
    pub acquire_timeout: Duration,
    pub statement_timeout: Duration,
    pub lock_timeout: Duration,
}

pub struct Tx {
    inner: PooledConnection,
    pub actor: Actor,
    /// The correlation id of the request or visit that causes this.
    pub cause: Arc<str>,
    /// The W3C trace that this is part of; events carry it on.
    pub trace: Option<Arc<str>>,
    scope: Scope,
    access: Access,
    epoch: i32,
    bell: Bell,
    clock: Clock,
    hooks: Hooks,
    pub(crate) pending: Pending,
    /// What the commit rings about.
    rings: BTreeSet<Topic>,
}

/// A place in a transaction, with what was pending there.
#[must_use = "roll back to it, or release it"]
pub(crate) struct Mark {
    pending: Pending,
    scope: Scope,
}

impl Actor {
    pub fn public() -> Self {
        Self("public".into())
    }

    pub fn system(component: &str) -> Self {
        Self(format!("system:{component}").into())
    }

    /// `kind` and `id` are ours, never a caller's text: they end up in `SET`.
    pub fn principal(kind: &str, id: impl fmt::Display) -> Self {
        Self(format!("{kind}:{id}").into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Every database role that a transaction may run as.
pub const ROLES: [&str; 6] =
    ["gpuaas_public", "gpuaas_identity", "gpuaas_person", "gpuaas_tenant", "gpuaas_operator", "gpuaas_system"];

impl Scope {
    fn role(self) -> &'static str {
        match self {
            Scope::Public => "gpuaas_public",
            Scope::Identity => "gpuaas_identity",
            Scope::Person(_) => "gpuaas_person",
            Scope::Organization(_) => "gpuaas_tenant",
            Scope::Operator => "gpuaas_operator",
            Scope::System => "gpuaas_system",
        }
    }

    pub fn organization(self) -> Option<Uuid> {
        match self {
            Scope::Organization(organization) => Some(organization),
            Scope::Public | Scope::Identity | Scope::Person(_) | Scope::Operator | Scope::System => None,
        }
    }

    fn settings(self) -> String {
        let mut text = format!("SET LOCAL ROLE {}", self.role());
        match self {
            Scope::Organization(id) => text += &format!("; SET LOCAL app.organization = '{id}'"),
            Scope::Person(id) => text += &format!("; SET LOCAL app.person = '{id}'"),
            Scope::Public | Scope::Identity | Scope::Operator | Scope::System => (),
        }
        text
    }
}

impl Db {
    /// Opens the pool. Connections rest as `gpuaas_public`, which sees nothing.
    pub async fn connect(settings: &DbSettings) -> sqlx::Result<Db> {
        let options: PgConnectOptions = settings.url.parse::<PgConnectOptions>()?.options([
            ("statement_timeout", settings.statement_timeout.as_millis().to_string()),
            ("lock_timeout", settings.lock_timeout.as_millis().to_string()),
            ("idle_in_transaction_session_timeout", settings.statement_timeout.as_millis().to_string()),
            ("application_name", "gpuaas".to_owned()),
        ]);
        // The texts hold ids and the hashes of credentials, which no log may show.
        let options = options.disable_statement_logging();
        let pool = Pool::new(options, settings.max_connections, settings.acquire_timeout);
        let mut lent = pool.take().await?;
        let (epoch, now): (i32, jiff_sqlx::Timestamp) =
            sqlx::query_as("SELECT epoch, app_now() FROM installation").fetch_one(&mut *lent).await?;
        lent.give_back();
        let clock = Clock::default();
        clock.learn(now.to_jiff());
        Ok(Db { pool, bell: Bell::default(), clock, hooks: Hooks::default(), epoch })
    }

    /// The same database, whose transactions call these hooks.
    #[must_use]
    pub fn with_hooks(self, hooks: Hooks) -> Db {
        Db { hooks, ..self }
    }

    /// A statement of our own as `scope`, in one round trip, without a
    /// transaction to carry on. Values are rendered by [`Literal`].
    pub async fn read_once(&self, scope: Scope, statement: &str) -> sqlx::Result<Vec<PgRow>> {
        let text = format!("BEGIN READ ONLY; {}{}; {statement}; COMMIT", scope.settings(), self.clock.settings());
        let (lent, rows) = self.first(&text).await?;
        lent.give_back();
        Ok(rows)
    }

    /// Sends the first statement of a use. A connection that died while it
    /// rested shows only now; as nothing was done on it, another is tried.
    async fn first(&self, text: &str) -> sqlx::Result<(PooledConnection, Vec<PgRow>)> {
        let mut lent = self.pool.take().await?;
        let debt = lent.debt();
        match fetch_all(&mut lent, debt, text).await {
            Ok(rows) => Ok((lent, rows)),
            Err(error) if is_disconnect(&error) => {
                drop(lent);
                self.pool.forget_idle();
                let mut fresh = self.pool.take().await?;
                let debt = fresh.debt();
                let rows = fetch_all(&mut fresh, debt, text).await?;
                Ok((fresh, rows))
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the database answers; for readiness.
    pub async fn ping(&self) -> sqlx::Result<()> {
        let mut lent = self.pool.take().await?;
        let debt = lent.debt();
        if let Err(error) = fetch_all(&mut lent, debt, "SELECT 1").await {
            self.pool.forget_idle();
            return Err(error);
        }
        lent.give_back();
        Ok(())
    }

    /// Learns the database's time anew; call now and then.
    pub async fn learn_time(&self) -> sqlx::Result<()> {
        let mut lent = self.pool.take().await?;
        lent.settle().await?;
        let now: jiff_sqlx::Timestamp = sqlx::query_scalar("SELECT app_now()").fetch_one(&mut *lent).await?;
        lent.give_back();
        self.clock.learn(now.to_jiff());
        Ok(())
    }

    pub fn epoch(&self) -> i32 {
        self.epoch
    }

    /// Connections in use, and the most there may be; for metrics.
    pub fn pool_use(&self) -> (usize, usize) {
        self.pool.in_use()
    }

    /// How many wait for a connection.
    pub fn pool_waiting(&self) -> usize {
        self.pool.waiting()
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub fn close(&self) {
        self.pool.close();
    }
}

async fn fetch_all(connection: &mut PgConnection, debt: &str, text: &str) -> sqlx::Result<Vec<PgRow>> {
    sqlx::raw_sql(AssertSqlSafe(format!("{debt}{text}"))).fetch_all(connection).await
}

/// Whether the error says that the connection, not the statement, is at fault.
pub fn is_disconnect(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => true,
        // 57P01..57P03: the server shuts down, crashed, or starts up.
        sqlx::Error::Database(it) => it.code().is_some_and(|code| code.starts_with("57P")),
        _ => false,
    }
}

/// Whether the database gave the transaction up because of others beside it, or
/// because it rested too long. It had no effect; repeated, it may succeed.
pub fn is_contended(error: &sqlx::Error) -> bool {
    // 55P03: a lock was not free in time; 40P01: a deadlock; 40001: a serialization
    // failure; 25P03: the transaction was idle for too long.
    let sqlx::Error::Database(it) = error else { return false };
    it.code().is_some_and(|code| ["55P03", "40P01", "40001", "25P03"].contains(&code.as_ref()))
}

/// Whether the error says that the database cannot be reached, is overloaded or
/// had too many at the same rows: whatever was asked may be repeated later.
pub fn is_unavailable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Tls(_) => true,
        // 53: insufficient resources; 08: connection exceptions; 57014: statement timeout;
        // 57P: the server shuts down, crashed, or starts up.
        sqlx::Error::Database(it) => {
            it.code()
                .is_some_and(|code| ["53", "08", "57P"].iter().any(|class| code.starts_with(class)) || code == "57014")
                || is_contended(error)
        }
        _ => is_disconnect(error),
    }
}

/// A value that is safe inside a statement's text.
pub enum Literal<'a> {
    Uuid(Uuid),
    Bytes(&'a [u8]),
    Null,
}

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Uuid(uuid) => write!(f, "'{uuid}'::uuid"),
            Literal::Bytes(bytes) => {
                f.write_str("'\\x")?;
                for byte in *bytes {
                    write!(f, "{byte:02x}")?;
                }
                f.write_str("'::bytea")
            }
            Literal::Null => f.write_str("NULL"),
        }
    }
}

impl Tx {
    /// Opens a transaction in `scope`, in one round trip.
    pub async fn begin(db: &Db, scope: Scope, access: Access, actor: Actor, cause: Arc<str>) -> sqlx::Result<Tx> {
        let (inner, _) = db.first(&opening(scope, access, &actor, &db.clock)).await?;
        Ok(Tx {
            inner,
            actor,
            cause,
            trace: None,
            scope,
            access,
            epoch: db.epoch,
            bell: db.bell.clone(),
            clock: db.clock.clone(),
            hooks: db.hooks.clone(),
            pending: Pending::default(),
            rings: BTreeSet::new(),
        })
    }

    /// Commits what was done so far, lets `work` run while the connection serves
    /// others, and goes on in a new transaction of the same scope. For reads
    /// that wait for somebody outside; what is seen afterwards may be newer.
    pub async fn aside<T>(&mut self, work: impl Future<Output = T>) -> sqlx::Result<T> {
        self.flush().await?;
        sqlx::raw_sql("COMMIT").execute(&mut *self.inner).await?;
        self.inner.pause();
        let done = work.await;
        self.inner.take_again().await?;
        let debt = self.inner.debt();
        let text = opening(self.scope, self.access, &self.actor, &self.clock);
        fetch_all(&mut self.inner, debt, &text).await?;
        Ok(done)
    }

    pub async fn system(db: &Db, component: &str, access: Access) -> sqlx::Result<Tx> {
        let cause = format!("{component}:{}", Uuid::now_v7());
        Tx::begin(db, Scope::System, access, Actor::system(component), cause.into()).await
    }

    /// Goes on in another scope. For the few procedures that cross scopes by
    /// nature, such as signing in; the guards list who may call it.
    pub async fn enter(&mut self, scope: Scope) -> sqlx::Result<()> {
        sqlx::raw_sql(AssertSqlSafe(scope.settings())).execute(&mut *self.inner).await?;
        self.scope = scope;
        Ok(())
    }

    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// What a higher area does at once when this one asks for it.
    pub fn hook<T: ?Sized + Send + Sync + 'static>(&self) -> Arc<T> {
        self.hooks.get()
    }

    /// Counts the restores of this installation.
    pub fn epoch(&self) -> i32 {
        self.epoch
    }

    /// For the SQL of stores.
    pub fn conn(&mut self) -> &mut PgConnection {
        &mut self.inner
    }

    /// Sets a mark that the transaction can go back to.
    pub(crate) async fn mark(&mut self) -> sqlx::Result<Mark> {
        sqlx::raw_sql("SAVEPOINT mark").execute(&mut *self.inner).await?;
        Ok(Mark { pending: std::mem::take(&mut self.pending), scope: self.scope })
    }

    /// Takes back what was done since the mark, pending or written.
    pub(crate) async fn go_back(&mut self, mark: Mark) -> sqlx::Result<()> {
        sqlx::raw_sql("ROLLBACK TO SAVEPOINT mark; RELEASE SAVEPOINT mark").execute(&mut *self.inner).await?;
        (self.pending, self.scope) = (mark.pending, mark.scope);
        Ok(())
    }

    /// Goes on with what was done since the mark.
    pub(crate) async fn keep(&mut self, mark: Mark) -> sqlx::Result<()> {
        sqlx::raw_sql("RELEASE SAVEPOINT mark").execute(&mut *self.inner).await?;
        let since = std::mem::replace(&mut self.pending, mark.pending);
        self.pending.events.extend(since.events);
        self.pending.entries.extend(since.entries);
        // One by one: the same wake must not be written twice.
        since.wakes.into_iter().for_each(|wake| work::push_wake(self, wake));
        self.pending.unless_queued.extend(since.unless_queued);
        since.together.into_iter().for_each(|(kind, id)| work::wake_together(self, kind, id));
        self.pending.answer = since.answer.or(self.pending.answer.take());
        Ok(())
    }

    /// Rings about a topic of an area once this is committed. Events and wakes ring by themselves.
    pub fn ring(&mut self, topic: &'static str) {
        self.rings.insert(topic.into());
    }

    /// Of the events that the commit will tell, in their order.
    pub fn subjects(&self) -> impl Iterator<Item = &str> {
        self.pending.events.iter().map(outbox::Row::subject)
    }

    /// Writes what is pending. The commit does it, too: whoever needs the locks of
    /// queue rows earlier calls it.
    pub async fn flush(&mut self) -> sqlx::Result<()> {
        let pending = std::mem::take(&mut self.pending);
        self.rings.extend(pending.topics());
        pending.write(self).await
    }

    /// Writes what is pending, commits, and rings the bell.
    pub async fn commit(mut self) -> sqlx::Result<()> {
        self.flush().await?;
        if self.access == Access::Read {
            return self.inner.end_read().await;
        }
        sqlx::raw_sql("COMMIT").execute(&mut *self.inner).await?;
        self.inner.give_back();
        if !self.rings.is_empty() {
            self.bell.ring(self.rings);
        }
        Ok(())
    }

    /// Takes everything back. A transaction that is merely dropped closes its
    /// connection, which has the same effect and costs a new one.
    pub async fn rollback(mut self) -> sqlx::Result<()> {
        if self.inner.is_empty() {
            return Ok(());
        }
        sqlx::raw_sql("ROLLBACK").execute(&mut *self.inner).await?;
        self.inner.give_back();
        Ok(())
    }
}

/// What a transaction begins with, in one round trip.
fn opening(scope: Scope, access: Access, actor: &Actor, clock: &Clock) -> String {
    let (scope, clock) = (scope.settings(), clock.settings());
    match access {
        // Only idempotency keys belong to a principal, and reads have none.
        Access::Read => format!("BEGIN READ ONLY; {scope}{clock}"),
        Access::Write => format!("BEGIN; {scope}; SET LOCAL app.principal = '{}'{clock}", actor.as_str()),
    }
}
