//! The reconcilers' work queue: one row per resource that needs a visit.
//!
//! A worker claims a row with a lease, acts without any transaction open, and
//! applies what it found in a transaction that fails if the lease was lost.

mod queue;
mod runner;

mod together;

pub use queue::{
    Claim, FinishError, Item, claim, fail, finish, finish_all, hand_back, list, retry, sweep, wait_for_wakers,
};
pub use runner::{Settings, Workers};
pub use together::visit_together;

use std::{borrow::Cow, collections::HashMap, fmt, future::Future, time::Duration};

use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::{
    bell::Topic,
    lifecycle::TransitionError,
    pool::one_connection,
    tx::{Access, Db, Tx},
};

/// What a visit decided about the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Done,
    After(Duration),
    /// As the others, and the moves that this visit made call for no further visit:
    /// it knew of them. Wakes by others do.
    Settled(Option<Duration>),
}

impl Next {
    /// After how long the next visit is due, if one is.
    fn delay(self) -> Option<Duration> {
        match self {
            Next::Done | Next::Settled(None) => None,
            Next::After(delay) | Next::Settled(Some(delay)) => Some(delay),
        }
    }
}

pub(crate) struct Wake {
    kind: Cow<'static, str>,
    id: Uuid,
    after: Option<jiff::Timestamp>,
}

impl Wake {
    pub(crate) fn topic(&self) -> Topic {
        self.kind.clone()
    }
}

/// Asks for a visit. Repeated calls collapse into one; a call while a worker
/// holds the lease makes it visit once more.
pub fn wake(tx: &mut Tx, kind: impl Into<Cow<'static, str>>, id: Uuid) {
    push_wake(tx, Wake { kind: kind.into(), id, after: None });
}

/// Asks for a visit at a later time, unless an earlier one is due.
pub fn wake_at(tx: &mut Tx, kind: impl Into<Cow<'static, str>>, id: Uuid, at: jiff::Timestamp) {
    push_wake(tx, Wake { kind: kind.into(), id, after: Some(at) });
}

/// Puts it into the queue for a visit after a while, and leaves it alone if it is
/// there: for rows that many transactions wake, whose visits come anyway.
pub fn wake_unless_queued(tx: &mut Tx, kind: &'static str, id: Uuid, after: Duration) {
    if !tx.pending.unless_queued.iter().any(|it| (it.kind, it.id) == (kind, id)) {
        tx.pending.unless_queued.push(Unqueued { kind, id, after });
    }
}

/// Asks for a visit of something that many transactions wake at once. They do
/// not wait for each other; its reconciler calls [`wait_for_wakers`].
pub fn wake_together(tx: &mut Tx, kind: &'static str, id: Uuid) {
    if !tx.pending.together.contains(&(kind, id)) {
        tx.pending.together.push((kind, id));
    }
}

pub(crate) struct Unqueued {
    kind: &'static str,
    id: Uuid,
    after: Duration,
}

pub(crate) fn push_unless_queued(statement: &mut QueryBuilder<Postgres>, rows: Vec<Unqueued>) {
    statement.push("INSERT INTO work (kind, id, due_at) ");
    statement.push_values(rows, |mut values, row| {
        values.push_bind(row.kind).push_bind(row.id).push("app_now() + make_interval(secs => ");
        values.push_bind_unseparated(row.after.as_secs_f64()).push_unseparated(")");
    });
    statement.push(" ON CONFLICT DO NOTHING");
}

/// Called, not inserted: the function decides by what others have committed meanwhile.
pub(crate) fn push_together(statement: &mut QueryBuilder<Postgres>, rows: Vec<(&'static str, Uuid)>) {
    let (kinds, ids): (Vec<&str>, Vec<Uuid>) = rows.into_iter().unzip();
    statement.push(" SELECT wake_together(kind, id) FROM unnest(").push_bind(kinds).push("::text[], ");
    statement.push_bind(ids).push("::uuid[]) AS woken (kind, id) ORDER BY kind, id");
}

pub(crate) fn push_wake(tx: &mut Tx, wake: Wake) {
    let known = tx.pending.wakes.iter_mut().find(|it| it.kind == wake.kind && it.id == wake.id);
    match known {
        // `None` is now, and sorts first: the earlier of the two wins.
        Some(known) => known.after = known.after.min(wake.after),
        None => tx.pending.wakes.push(wake),
    }
}

pub(crate) fn push(statement: &mut QueryBuilder<Postgres>, mut wakes: Vec<Wake>) {
    // In the order in which everybody locks these rows.
    wakes.sort_unstable_by(|a, b| (&a.kind, a.id).cmp(&(&b.kind, b.id)));
    statement.push("INSERT INTO work (kind, id, due_at) ");
    statement.push_values(wakes, |mut values, wake| {
        values.push_bind(wake.kind).push_bind(wake.id);
        match wake.after {
            None => values.push("app_now()"),
            Some(at) => values.push_bind(crate::clock::bind(at)),
        };
    });
    statement.push(
        " ON CONFLICT (kind, id) DO UPDATE SET wakes = work.wakes + 1, due_at = least(work.due_at, excluded.due_at)",
    );
}

/// Which visits share slots. A kind of work whose visits may wait for somebody
/// outside has a lane that what must not wait for it does not use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    pub name: &'static str,
    /// Visits at once, in one process.
    pub slots: usize,
    /// How many visits may share a slot and, where their verdicts are alike, a transaction.
    pub batch: usize,
}

/// One visit of one resource. The signatures keep the phases apart: `act` has
/// no transaction in reach, `decide` has neither transaction nor network.
pub trait Reconciler: Send + Sync + 'static {
    const KIND: &'static str;
    /// There is no default: who writes a reconciler says what it may hold up.
    const LANE: Lane;
    type Snapshot: Send + Sync;
    type Observation: Send;
    type Verdict: Send;
    type Error: std::error::Error + Send + Sync + From<sqlx::Error> + 'static;

    fn load(&self, tx: &mut Tx, id: Uuid) -> impl Future<Output = Result<Option<Self::Snapshot>, Self::Error>> + Send;
    fn act(&self, seen: &Self::Snapshot) -> impl Future<Output = Result<Self::Observation, Self::Error>> + Send;
    fn decide(&self, seen: &Self::Snapshot, found: Self::Observation) -> Self::Verdict;
    fn apply(
        &self,
        tx: &mut Tx,
        seen: Self::Snapshot,
        verdict: Self::Verdict,
    ) -> impl Future<Output = Result<Next, Self::Error>> + Send;

    /// As `load`, of several at once. Those that are not in the answer do not exist.
    fn load_all(
        &self,
        tx: &mut Tx,
        ids: &[Uuid],
    ) -> impl Future<Output = Result<HashMap<Uuid, Self::Snapshot>, Self::Error>> + Send {
        async move {
            let mut all = HashMap::with_capacity(ids.len());
            for id in ids {
                if let Some(seen) = self.load(tx, *id).await? {
                    all.insert(*id, seen);
                }
            }
            Ok(all)
        }
    }

    /// The group of a verdict: visits of one group may be applied in one transaction.
    /// Without a group each has a transaction of its own.
    fn group(&self, _: &Self::Snapshot, _: &Self::Verdict) -> Option<&'static str> {
        None
    }

    /// As `apply`, of several of one group, in their order. If it fails, each is visited alone.
    fn apply_all(
        &self,
        tx: &mut Tx,
        visits: Vec<(Self::Snapshot, Self::Verdict)>,
    ) -> impl Future<Output = Result<Vec<Next>, Self::Error>> + Send {
        async move {
            let mut all = Vec::with_capacity(visits.len());
            for (seen, verdict) in visits {
                all.push(self.apply(tx, seen, verdict).await?);
            }
            Ok(all)
        }
    }

    /// Rows that should be in the queue; the slow safety net asks for them.
    fn overdue(&self, tx: &mut Tx, limit: i64) -> impl Future<Output = sqlx::Result<Vec<Uuid>>> + Send;
}

/// Why a reconciler failed that needs nothing but the database.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    #[error(transparent)]
    Transition(#[from] TransitionError),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

#[derive(Debug, thiserror::Error)]
pub enum VisitError<E> {
    #[error("the visit failed")]
    Reconciler(#[source] E),
    #[error(transparent)]
    Finish(#[from] FinishError),
    #[error("the visit's transaction failed")]
    Database(#[from] sqlx::Error),
}

/// Loads, acts, decides and applies; gives the lease back with the result.
pub async fn visit<R: Reconciler>(db: &Db, reconciler: &R, claim: &Claim) -> Result<(), VisitError<R::Error>> {
    one_connection(phases(db, reconciler, claim)).await
}

async fn phases<R: Reconciler>(db: &Db, reconciler: &R, claim: &Claim) -> Result<(), VisitError<R::Error>> {
    let mut tx = Tx::system(db, R::KIND, Access::Read).await?;
    let seen = reconciler.load(&mut tx, claim.id).await.map_err(VisitError::Reconciler)?;
    tx.commit().await?;

    let verdict = match seen {
        None => None,
        Some(seen) => {
            let found = reconciler.act(&seen).await.map_err(VisitError::Reconciler)?;
            let verdict = reconciler.decide(&seen, found);
            Some((seen, verdict))
        }
    };
    let mut tx = Tx::system(db, R::KIND, Access::Write).await?;
    let next = match verdict {
        None => Next::Done,
        Some((seen, verdict)) => reconciler.apply(&mut tx, seen, verdict).await.map_err(VisitError::Reconciler)?,
    };
    finish(&mut tx, claim, next).await?;
    tx.commit().await?;
    Ok(())
}

impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Next::Done => f.write_str("done"),
            Next::After(delay) => write!(f, "again after {delay:?}"),
            Next::Settled(None) => f.write_str("done until woken"),
            Next::Settled(Some(delay)) => write!(f, "again after {delay:?}, or when woken"),
        }
    }
}
