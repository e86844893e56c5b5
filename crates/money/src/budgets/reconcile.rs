//! Tells of thresholds at the moment at which usage reaches them. That moment is
//! known from what runs, so a visit sleeps until it, or until the next period; a
//! mark of the project wakes it earlier.

use std::time::Duration;

use contract::{Timestamp, budgets::BudgetThresholdReached};
use kernel::{
    Tx, clock,
    work::{Next, ReconcileError, Reconciler},
};
use uuid::Uuid;

use super::{
    period::{Span, around},
    store::{self, BudgetLimits, Use},
};
use platform::events::emit;

pub struct BudgetReconciler;

pub struct Snapshot {
    known: BudgetLimits,
    span: Span,
    usage: Use,
    now: Timestamp,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The thresholds that are reached.
    reached: Vec<u16>,
    /// When the next one is, or the next period begins; none while nothing runs.
    next: Option<Duration>,
}

impl Reconciler for BudgetReconciler {
    const KIND: &'static str = store::KIND;
    const LANE: kernel::work::Lane = platform::lanes::DATABASE;
    type Snapshot = Snapshot;
    type Observation = ();
    type Verdict = Verdict;
    type Error = ReconcileError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Snapshot>, ReconcileError> {
        let Some(known) = store::known(tx, id.into()).await? else { return Ok(None) };
        let now = clock::now(tx).await?;
        let span = around(known.period, now);
        let usage = store::usage(tx, &known, span).await?;
        Ok(Some(Snapshot { known, span, usage, now }))
    }

    async fn act(&self, _: &Snapshot) -> Result<(), ReconcileError> {
        Ok(())
    }

    fn decide(&self, seen: &Snapshot, (): ()) -> Verdict {
        let Snapshot { known, span, usage, now } = seen;
        let (reached, ahead): (Vec<u16>, Vec<u16>) =
            known.thresholds.iter().partition(|it| known.share(**it) <= usage.spent);
        let ends = span.until.map(|at| Duration::try_from(at.duration_since(*now)).unwrap_or_default());
        let crossing = ahead.iter().filter_map(|it| usage.reaches(known.share(*it))).min();
        let next = crossing.into_iter().chain(ends).min().filter(|_| usage.burn > 0);
        Verdict { reached, next }
    }

    async fn apply(&self, tx: &mut Tx, seen: Snapshot, verdict: Verdict) -> Result<Next, ReconcileError> {
        let Snapshot { known, span, usage, .. } = &seen;
        // One that was changed or deleted meanwhile was woken for it, and is looked at again.
        if !verdict.reached.is_empty() && store::lock_version(tx, known).await? {
            for percent in store::tell(tx, known, *span, &verdict.reached).await? {
                let event = BudgetThresholdReached {
                    id: known.id,
                    project_id: known.project,
                    percent,
                    amount_micros: known.amount_micros,
                    spent_micros: i64::try_from(usage.spent).unwrap_or(i64::MAX),
                    currency: known.currency.clone(),
                    until: span.until,
                };
                emit(tx, Some(known.organization), known.id, &event);
            }
        }
        Ok(verdict.next.map_or(Next::Done, Next::After))
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::overdue(tx, limit).await
    }
}

#[cfg(test)]
mod tests {
    use contract::{
        budgets::BudgetPeriod,
        id::{BudgetId, OrganizationId, ProjectId},
    };

    use super::*;

    fn seen(spent: i128, burn: i128) -> Snapshot {
        let project = ProjectId::generate();
        let known = BudgetLimits {
            id: BudgetId::generate(),
            organization: OrganizationId::generate(),
            project,
            subject_kind: "project".to_owned(),
            subject: project.uuid(),
            amount_micros: 1_000,
            currency: "USD".parse().unwrap(),
            period: BudgetPeriod::Month,
            thresholds: vec![50, 80, 100],
            version: 1,
        };
        let now: Timestamp = "2026-11-30T23:00:00Z".parse().unwrap();
        let span = around(BudgetPeriod::Month, now);
        Snapshot { known, span, usage: Use { spent, burn, running: 1 }, now }
    }

    fn decided(spent: i128, burn: i128) -> (Vec<u16>, Option<Duration>) {
        let Verdict { reached, next } = BudgetReconciler.decide(&seen(spent, burn), ());
        (reached, next)
    }

    #[test]
    fn a_visit_sleeps_until_the_next_threshold_or_the_next_period() {
        let hour = Duration::from_secs(3600);
        // At 1201 an hour, 499 and the fraction that each interval may lose take less than half an hour.
        let (reached, next) = decided(1, 1_201);
        assert!(reached.is_empty());
        let next = next.unwrap();
        assert!(next > Duration::from_secs(1490) && next < Duration::from_secs(1500), "{next:?}");
        assert_eq!(decided(1, 1), (vec![], Some(hour)), "the month ends before");
        assert_eq!(decided(499, 0), (vec![], None), "nothing runs, and a mark wakes it");
        assert_eq!(decided(800, 1_000_000).0, [50, 80]);
        assert_eq!(decided(5_000, 10), (vec![50, 80, 100], Some(hour)), "for the next month");
    }

    #[test]
    fn at_the_predicted_moment_the_threshold_is_reached() {
        for (burn, running, target) in
            [(1, 1, 500), (7, 3, 1_000), (2_500_000, 64, 999_999_999), (i128::from(i64::MAX), 1, 5)]
        {
            let usage = Use { spent: 0, burn, running };
            let after = usage.reaches(target).unwrap();
            // Each interval is rounded down by itself.
            let used = burn * i128::try_from(after.as_micros()).unwrap() / 3_600_000_000 - running;
            assert!(used >= target, "{burn} {running} {target}: {used}");
        }
    }
}
