//! Lets invitations run out.

use contract::invitations::InvitationState;
use kernel::{
    Tx,
    lifecycle::transition,
    work::{Next, ReconcileError, Reconciler},
};
use uuid::Uuid;

use super::{
    lifecycle::{Event, InvitationLifecycle},
    store::{self, StoredInvitation},
};

pub struct InvitationReconciler;

/// An invitation and the time that it was looked at.
pub struct Snapshot {
    found: StoredInvitation,
    now: contract::Timestamp,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    Wait(std::time::Duration),
    Expire,
}

impl Reconciler for InvitationReconciler {
    const KIND: &'static str = "invitation";
    const LANE: kernel::work::Lane = platform::lanes::DATABASE;
    type Snapshot = Snapshot;
    type Observation = ();
    type Verdict = Verdict;
    type Error = ReconcileError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Snapshot>, ReconcileError> {
        let Some(found) = store::get(tx, id).await? else { return Ok(None) };
        Ok(Some(Snapshot { found, now: kernel::clock::now(tx).await? }))
    }

    async fn act(&self, _: &Snapshot) -> Result<(), ReconcileError> {
        Ok(())
    }

    fn decide(&self, seen: &Snapshot, (): ()) -> Verdict {
        let invitation = &seen.found.invitation;
        if invitation.state != InvitationState::Pending {
            return Verdict::Nothing;
        }
        let left = invitation.expires_at.duration_since(seen.now);
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
                transition::<InvitationLifecycle>(tx, store::versioned(&seen.found)?, Event::Expired, "").await?;
                Ok(Next::Done)
            }
        }
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::overdue(tx, limit).await
    }
}
