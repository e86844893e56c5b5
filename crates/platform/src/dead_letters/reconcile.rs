//! Delivers dead letters again, a bounded number of times.

use std::{sync::Arc, time::Duration};

use contract::dead_letters::DeadLetterState;
use kernel::{
    Tx,
    bus::{Consumer, attempt},
    lifecycle::{Lifecycle, transition},
    work::{self, Next, ReconcileError, Reconciler},
};
use uuid::Uuid;

use super::{
    lifecycle::{DeadLetterLifecycle, Event},
    store::{self, StoredDeadLetter},
};
use crate::policies::{Policies, settings};

pub struct DeadLetterReconciler {
    pub consumers: Vec<Arc<dyn Consumer>>,
    pub policies: Policies,
}

/// A dead letter, and whether it may be delivered now.
pub struct Snapshot {
    held: StoredDeadLetter,
    is_blocked: bool,
    /// How long until it is due; zero when it is.
    wait: Duration,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    Wait(Duration),
    Deliver,
}

impl Reconciler for DeadLetterReconciler {
    const KIND: &'static str = DeadLetterLifecycle::NAME;
    const LANE: kernel::work::Lane = crate::lanes::DATABASE;
    type Snapshot = Snapshot;
    type Observation = ();
    type Verdict = Verdict;
    type Error = ReconcileError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Snapshot>, ReconcileError> {
        let Some(held) = store::get(tx, id).await? else { return Ok(None) };
        let now = kernel::clock::now(tx).await?;
        let wait = held
            .letter
            .redeliver_at
            .map_or(Duration::ZERO, |it| Duration::try_from(it.duration_since(now)).unwrap_or_default());
        let is_blocked = store::is_blocked(tx, &held).await?;
        Ok(Some(Snapshot { held, is_blocked, wait }))
    }

    async fn act(&self, _: &Snapshot) -> Result<(), ReconcileError> {
        Ok(())
    }

    fn decide(&self, seen: &Snapshot, (): ()) -> Verdict {
        if seen.held.letter.state != DeadLetterState::Waiting {
            Verdict::Nothing
        } else if seen.is_blocked {
            Verdict::Wait(self.rest())
        } else if !seen.wait.is_zero() {
            Verdict::Wait(seen.wait)
        } else {
            Verdict::Deliver
        }
    }

    async fn apply(&self, tx: &mut Tx, seen: Snapshot, verdict: Verdict) -> Result<Next, ReconcileError> {
        match verdict {
            Verdict::Nothing => Ok(Next::Done),
            Verdict::Wait(rest) => Ok(Next::After(rest)),
            Verdict::Deliver => {
                let outcome = match self.find(&seen.held.letter.consumer) {
                    Some(consumer) => attempt(tx, &*consumer, &seen.held.message).await?,
                    None => Err("this release has no such consumer".into()),
                };
                match outcome {
                    Ok(()) => delivered(tx, &seen.held).await,
                    Err(error) => self.failed(tx, &seen.held, &error).await,
                }
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

    fn rest(&self) -> Duration {
        settings::seconds(self.policies.number(settings::REDELIVERY_SECONDS))
    }

    async fn failed(&self, tx: &mut Tx, held: &StoredDeadLetter, error: &str) -> Result<Next, ReconcileError> {
        let id = held.letter.id.uuid();
        let failures = u64::try_from(held.letter.attempts).unwrap_or(0) + 1;
        if failures < self.policies.number(settings::REDELIVERY_ATTEMPTS) {
            let rest = self.rest();
            store::postpone(tx, id, error, Some(rest)).await?;
            return Ok(Next::After(rest));
        }
        store::postpone(tx, id, error, None).await?;
        transition::<DeadLetterLifecycle>(tx, held.versioned()?, Event::Exhausted, error).await?;
        tracing::error!(consumer = held.letter.consumer, id = %held.letter.id, error,
            "a dead letter needs attention: see `gpuaas dead-letters show`");
        Ok(Next::Done)
    }
}

async fn delivered(tx: &mut Tx, held: &StoredDeadLetter) -> Result<Next, ReconcileError> {
    transition::<DeadLetterLifecycle>(tx, held.versioned()?, Event::Delivered, "").await?;
    if let Some(next) = store::release_next(tx, held).await? {
        work::wake(tx, DeadLetterReconciler::KIND, next);
    }
    Ok(Next::Done)
}
