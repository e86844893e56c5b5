//! Ends sessions that nobody came back to.

use std::time::Duration;

use contract::{access_sessions::AccessSessionState, allocations::AllocationState};
use kernel::{
    Tx,
    lifecycle::Lifecycle,
    work::{Next, ReconcileError, Reconciler},
};
use uuid::Uuid;

use super::{
    lifecycle::AccessSessionLifecycle,
    store::{self, Visit},
};

pub struct AccessSessionReconciler;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    Wait(Duration),
    End(&'static str),
}

// bound: how late a detached session notices that its allocation is gone
const LOOK: Duration = Duration::from_secs(30);

impl Reconciler for AccessSessionReconciler {
    const KIND: &'static str = AccessSessionLifecycle::NAME;
    const LANE: kernel::work::Lane = platform::lanes::DATABASE;
    type Snapshot = Visit;
    type Observation = ();
    type Verdict = Verdict;
    type Error = ReconcileError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Visit>, ReconcileError> {
        Ok(store::visit(tx, id).await?)
    }

    async fn act(&self, _: &Visit) -> Result<(), ReconcileError> {
        Ok(())
    }

    fn decide(&self, visit: &Visit, (): ()) -> Verdict {
        decide(visit)
    }

    async fn apply(&self, tx: &mut Tx, visit: Visit, verdict: Verdict) -> Result<Next, ReconcileError> {
        match verdict {
            Verdict::Nothing => Ok(Next::Done),
            Verdict::Wait(rest) => Ok(Next::After(rest)),
            Verdict::End(reason) => {
                super::end(tx, &visit.session, reason).await?;
                Ok(Next::Done)
            }
        }
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::detached(tx, limit).await
    }
}

fn decide(visit: &Visit) -> Verdict {
    if visit.session.state != AccessSessionState::Detached {
        return Verdict::Nothing;
    }
    let is_usable = matches!(visit.allocation, AllocationState::Active);
    if !is_usable {
        return Verdict::End("allocation_ended");
    }
    if visit.is_revoked {
        return Verdict::End("credentials_ended");
    }
    if visit.left.is_zero() {
        return Verdict::End("time_limit");
    }
    match visit.session.grace.saturating_sub(visit.alone) {
        Duration::ZERO => Verdict::End("grace_over"),
        rest => Verdict::Wait(rest.min(visit.left).min(LOOK)),
    }
}

#[cfg(test)]
mod tests {
    use contract::access_sessions::AccessKind;

    use super::*;

    fn visit(alone_s: u64) -> Visit {
        let mut session = store::tests::session(AccessKind::Terminal);
        session.state = AccessSessionState::Detached;
        let seconds = Duration::from_secs;
        let (left, alone) = (seconds(3600), seconds(alone_s));
        Visit { session, allocation: AllocationState::Active, is_revoked: false, left, alone }
    }

    #[test]
    fn a_shell_waits_for_its_grace_and_no_longer() {
        assert_eq!(decide(&visit(0)), Verdict::Wait(LOOK));
        assert_eq!(decide(&visit(290)), Verdict::Wait(Duration::from_secs(10)));
        assert_eq!(decide(&visit(300)), Verdict::End("grace_over"));
    }

    #[test]
    fn access_session_ends_with_its_allocation_its_credential_or_its_time_limit() {
        let gone = Visit { allocation: AllocationState::Releasing, ..visit(0) };
        assert_eq!(decide(&gone), Verdict::End("allocation_ended"));
        let revoked = Visit { is_revoked: true, ..visit(0) };
        assert_eq!(decide(&revoked), Verdict::End("credentials_ended"));
        let late = Visit { left: Duration::ZERO, ..visit(0) };
        assert_eq!(decide(&late), Verdict::End("time_limit"));
        let mut open = visit(900);
        open.session.state = AccessSessionState::Open;
        assert_eq!(decide(&open), Verdict::Nothing);
    }
}
