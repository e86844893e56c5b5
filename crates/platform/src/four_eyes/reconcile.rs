//! Lets corrections run out that nobody decided about.

use contract::corrections::Correction;
use kernel::{
    Tx,
    lifecycle::{Lifecycle, transition},
    work::{Next, ReconcileError, Reconciler},
};
use uuid::Uuid;

use super::{
    lifecycle::{CorrectionLifecycle, Event},
    store,
};

pub struct CorrectionReconciler;

/// A correction and the time that it was looked at.
pub struct Snapshot {
    correction: Correction,
    now: contract::Timestamp,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    Wait(std::time::Duration),
    Expire,
}

impl Reconciler for CorrectionReconciler {
    const KIND: &'static str = CorrectionLifecycle::NAME;
    const LANE: kernel::work::Lane = crate::lanes::DATABASE;
    type Snapshot = Snapshot;
    type Observation = ();
    type Verdict = Verdict;
    type Error = ReconcileError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Snapshot>, ReconcileError> {
        let Some(correction) = store::get(tx, id.into()).await? else { return Ok(None) };
        Ok(Some(Snapshot { correction, now: kernel::clock::now(tx).await? }))
    }

    async fn act(&self, _: &Snapshot) -> Result<(), ReconcileError> {
        Ok(())
    }

    fn decide(&self, seen: &Snapshot, (): ()) -> Verdict {
        let Some(expires_at) = seen.correction.expires_at else { return Verdict::Nothing };
        let left = expires_at.duration_since(seen.now);
        match std::time::Duration::try_from(left) {
            Ok(left) if !left.is_zero() => Verdict::Wait(left),
            _ => Verdict::Expire,
        }
    }

    async fn apply(&self, tx: &mut Tx, seen: Snapshot, verdict: Verdict) -> Result<Next, ReconcileError> {
        match verdict {
            Verdict::Nothing => Ok(Next::Done),
            Verdict::Wait(left) => Ok(Next::After(left)),
            Verdict::Expire => {
                transition::<CorrectionLifecycle>(tx, store::versioned(&seen.correction)?, Event::Expired, "").await?;
                Ok(Next::Done)
            }
        }
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::overdue(tx, limit).await
    }
}
