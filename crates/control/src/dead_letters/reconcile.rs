//! Delivers dead letters again, a bounded number of times.

use std::{sync::Arc, time::Duration};

use contract::dead_letters::DeadLetterState;
use kernel::{
    Access, Db, Tx,
    bus::{Consumer, consume},
    machine::{Machine, transition},
    work::{self, Next, ReconcileError, Reconciler},
};
use uuid::Uuid;

use super::{
    lifecycle::{Event, Lifecycle},
    store::{self, Held},
};
use crate::policies::{Policies, keys};

pub struct DeadLetterReconciler {
    pub db: Db,
    pub consumers: Vec<Arc<dyn Consumer>>,
    pub policies: Policies,
}

/// A dead letter, and whether it may be delivered now.
pub struct Seen {
    held: Held,
    is_blocked: bool,
    /// How long until it is due; zero when it is.
    wait: Duration,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    Wait(Duration),
    Deliver,
    Failed { error: String, exhausted: bool },
}

impl Reconciler for DeadLetterReconciler {
    const KIND: &'static str = Lifecycle::NAME;
    type Seen = Seen;
    /// What a trial delivery, taken back, said; `None` when none was made.
    type Found = Option<Result<(), String>>;
    type Verdict = Verdict;
    type Error = ReconcileError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Seen>, ReconcileError> {
        let Some(held) = store::get(tx, id).await? else { return Ok(None) };
        let now = kernel::clock::now(tx).await?;
        let wait = held
            .letter
            .redeliver_at
            .map_or(Duration::ZERO, |it| Duration::try_from(it.duration_since(now)).unwrap_or_default());
        let is_blocked = store::is_blocked(tx, &held).await?;
        Ok(Some(Seen { held, is_blocked, wait }))
    }

    /// Tries the delivery in a transaction that is taken back: a failure must
    /// not take the record of the failure with it.
    async fn act(&self, seen: &Seen) -> Result<Self::Found, ReconcileError> {
        if seen.held.letter.state != DeadLetterState::Waiting || seen.is_blocked || !seen.wait.is_zero() {
            return Ok(None);
        }
        let Some(consumer) = self.find(&seen.held.letter.consumer) else {
            return Ok(Some(Err("this release has no such consumer".into())));
        };
        let mut tx = Tx::system(&self.db, consumer.name(), Access::Write).await?;
        let outcome = consume(&mut tx, &*consumer, &seen.held.message).await.map_err(|error| error.to_string());
        tx.rollback().await?;
        Ok(Some(outcome))
    }

    fn decide(&self, seen: &Seen, found: Self::Found) -> Verdict {
        if seen.held.letter.state != DeadLetterState::Waiting {
            return Verdict::Nothing;
        }
        let rest = keys::seconds(self.policies.number(keys::REDELIVERY_SECONDS));
        match found {
            None if seen.is_blocked => Verdict::Wait(rest),
            None => Verdict::Wait(seen.wait),
            Some(Ok(())) => Verdict::Deliver,
            Some(Err(error)) => {
                let most = self.policies.number(keys::REDELIVERY_ATTEMPTS);
                let exhausted = seen.held.letter.attempts.max(0) as u64 + 1 >= most;
                Verdict::Failed { error, exhausted }
            }
        }
    }

    async fn apply(&self, tx: &mut Tx, seen: Seen, verdict: Verdict) -> Result<Next, ReconcileError> {
        let id = seen.held.letter.id.uuid();
        match verdict {
            Verdict::Nothing => Ok(Next::Done),
            Verdict::Wait(rest) => Ok(Next::After(rest)),
            Verdict::Deliver => {
                let consumer = self.find(&seen.held.letter.consumer).ok_or(sqlx::Error::RowNotFound)?;
                consume(tx, &*consumer, &seen.held.message)
                    .await
                    .map_err(|error| sqlx::Error::Protocol(format!("a delivery that just worked failed: {error}")))?;
                transition::<Lifecycle>(tx, seen.held.versioned()?, Event::Delivered, "").await?;
                if let Some(next) = store::release_next(tx, &seen.held).await? {
                    work::wake(tx, Self::KIND, next);
                }
                Ok(Next::Done)
            }
            Verdict::Failed { error, exhausted: true } => {
                store::postpone(tx, id, &error, None).await?;
                transition::<Lifecycle>(tx, seen.held.versioned()?, Event::Exhausted, &error).await?;
                tracing::error!(consumer = seen.held.letter.consumer, id = %seen.held.letter.id, error,
                    "a dead letter needs a person: see `gpuaas dead-letters show`");
                Ok(Next::Done)
            }
            Verdict::Failed { error, exhausted: false } => {
                let rest = keys::seconds(self.policies.number(keys::REDELIVERY_SECONDS));
                store::postpone(tx, id, &error, Some(rest)).await?;
                Ok(Next::After(rest))
            }
        }
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::overdue(tx, limit).await
    }
}

impl DeadLetterReconciler {
    fn find(&self, name: &str) -> Option<Arc<dyn Consumer>> {
        self.consumers.iter().find(|it| it.name() == name).cloned()
    }
}
