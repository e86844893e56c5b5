//! Drives allocations: places what waits, asks hosts, believes only proof, and
//! frees slots only on evidence.

use std::{collections::HashMap, time::Duration};

use contract::{
    allocations::{AllocationLeaseEnding, AllocationStopEnding},
    id::NodeId,
    skus::Shape,
};
use kernel::{
    Tx,
    lifecycle::{Lifecycle, transition},
    work::{Next, ReconcileError, Reconciler},
};
use planner::{Denial, Invalid, NodeKey};
use protocol::Done;
use uuid::Uuid;

use super::{
    decide::{Limits, Step, decide},
    endings,
    lifecycle::{AllocationLifecycle, Event},
    reason::{Reason, TaskFailure},
    store,
    visits::{self, Visit},
};
use crate::placement::{Placement, PlacementChoice, slots, starvation_guard};
use fleet::{nodes, tasks::TaskSigner};
use platform::{
    events::emit,
    policies::{Policies, settings},
};

// bound: how soon a request that found no room may look again
const SOONEST: Duration = Duration::from_secs(1);

pub struct AllocationReconciler {
    pub placement: Placement,
    pub signer: TaskSigner,
    pub policies: Policies,
}

/// What was found out without the database.
pub enum Observation {
    Placed,
    Chosen(Box<PlacementChoice>),
    Denied {
        denial: Denial,
        /// Whether an empty fleet would have room.
        could_run: bool,
        /// The nodes that are to be kept free for it.
        keep: Vec<NodeKey>,
    },
    Behind(u32),
    /// What is free goes to an organization that holds less.
    NotItsTurn,
}

pub enum Verdict {
    Place(Box<PlacementChoice>),
    Reject(Invalid),
    KeepWaiting(Wait),
    Go(Step),
}

/// What is written down about a request that is not placed now.
pub struct Wait {
    reason: Reason,
    could_run: bool,
    keep: Vec<NodeKey>,
}

impl Wait {
    fn because(reason: Reason) -> Self {
        Self { reason, could_run: true, keep: Vec::new() }
    }
}

impl Reconciler for AllocationReconciler {
    const KIND: &'static str = AllocationLifecycle::NAME;
    const LANE: kernel::work::Lane = platform::lanes::ALLOCATIONS;
    type Snapshot = Visit;
    type Observation = Observation;
    type Verdict = Verdict;
    type Error = ReconcileError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Visit>, ReconcileError> {
        Ok(self.load_all(tx, &[id]).await?.remove(&id))
    }

    async fn load_all(&self, tx: &mut Tx, ids: &[Uuid]) -> Result<HashMap<Uuid, Visit>, ReconcileError> {
        let mut visits = visits::load(tx, Self::KIND, ids).await?;
        if visits.iter().any(|it| it.request.is_some()) {
            self.placement.refresh(tx).await?;
        }
        let enough = settings::seconds(self.policies.number(settings::STARVATION_GUARD_SECONDS));
        for visit in &mut visits {
            let Some(request) = &mut visit.request else { continue };
            if request.is_waiting && request.is_eldest && request.age >= enough {
                request.leases = Some(starvation_guard::leases(tx).await?);
            }
        }
        Ok(visits.into_iter().map(|it| (it.id.uuid(), it)).collect())
    }

    async fn act(&self, visit: &Visit) -> Result<Observation, ReconcileError> {
        let Some(request) = &visit.request else { return Ok(Observation::Placed) };
        if request.behind > 0 {
            return Ok(Observation::Behind(request.behind));
        }
        // Who waited longest comes before those who hold less, or they could pass for ever.
        let comes_first = request.leases.is_some() || !request.kept.is_empty();
        if !comes_first && request.ahead.iter().any(|it| self.placement.has_room(it)) {
            return Ok(Observation::NotItsTurn);
        }
        let denial = match self.placement.choose(visit.id, &request.ask, &request.kept) {
            Ok(chosen) => return Ok(Observation::Chosen(Box::new(chosen))),
            Err(denial) => denial,
        };
        let could_run = self.placement.could_run(&request.ask);
        let keep = match &request.leases {
            Some(leases) if could_run => self.placement.soonest(visit.id, &request.ask, leases),
            Some(_) | None => Vec::new(),
        };
        Ok(Observation::Denied { denial, could_run, keep })
    }

    fn decide(&self, visit: &Visit, found: Observation) -> Verdict {
        match found {
            Observation::Chosen(chosen) => Verdict::Place(chosen),
            Observation::Denied { denial: Denial::Invalid(invalid), .. } => Verdict::Reject(invalid),
            Observation::Denied { denial, could_run, keep } => {
                let reason = Reason::NoRoom { shortage: denial, could_run, kept: keep.len() };
                Verdict::KeepWaiting(Wait { reason, could_run, keep })
            }
            Observation::Behind(others) => Verdict::KeepWaiting(Wait::because(Reason::OlderRequests { others })),
            Observation::NotItsTurn => Verdict::KeepWaiting(Wait::because(Reason::NotItsTurn)),
            Observation::Placed => Verdict::Go(decide(visit, &self.limits())),
        }
    }

    async fn apply(&self, tx: &mut Tx, visit: Visit, verdict: Verdict) -> Result<Next, ReconcileError> {
        match verdict {
            Verdict::Place(chosen) => Ok(self.place(tx, vec![(visit, chosen)]).await?.remove(0)),
            Verdict::Reject(rule) => {
                if visit.has_kept_nodes {
                    starvation_guard::end(tx, visit.id).await?;
                }
                let reason = Reason::NeverFits { rule };
                transition::<AllocationLifecycle>(tx, visit.row(), Event::Rejected, &reason.sentence()).await?;
                visits::finish(tx, visit.id, Some(&reason)).await?;
                Ok(Next::Done)
            }
            Verdict::KeepWaiting(wait) => self.keep_waiting(tx, visit, wait).await,
            Verdict::Go(step) => self.go(tx, visit, step).await,
        }
    }

    /// What waited changes who comes next, and is placed alone.
    fn group(&self, visit: &Visit, verdict: &Verdict) -> Option<&'static str> {
        match verdict {
            Verdict::Place(_) => visit.request.as_ref().is_some_and(|it| !it.is_waiting).then_some("place"),
            Verdict::Go(Step::Prove(_)) => Some("prove"),
            Verdict::Reject(_) | Verdict::KeepWaiting(_) | Verdict::Go(_) => None,
        }
    }

    async fn apply_all(&self, tx: &mut Tx, visits: Vec<(Visit, Verdict)>) -> Result<Vec<Next>, ReconcileError> {
        let (mut placed, mut proven) = (Vec::new(), Vec::new());
        for (visit, verdict) in visits {
            match verdict {
                Verdict::Place(chosen) => placed.push((visit, chosen)),
                Verdict::Go(Step::Prove(done)) => proven.push((visit, done)),
                Verdict::Reject(_) | Verdict::KeepWaiting(_) | Verdict::Go(_) => {
                    unreachable!("`group` gives no group to the others")
                }
            }
        }
        // A group is of one verdict: the other list is empty.
        if proven.is_empty() { self.place(tx, placed).await } else { self.prove(tx, proven).await }
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::overdue(tx, limit).await
    }
}

impl AllocationReconciler {
    pub(super) fn limits(&self) -> Limits {
        let count = |key| i32::try_from(self.policies.number(key)).unwrap_or(i32::MAX);
        Limits {
            provision_attempts: count(settings::PROVISION_ATTEMPTS),
            cleaning_attempts: count(settings::CLEANING_ATTEMPTS),
            retry: settings::seconds(self.policies.number(settings::ALLOCATION_RETRY_SECONDS)),
            task: settings::seconds(self.policies.number(settings::TASK_SECONDS)),
            lease_warning: settings::minutes(self.policies.number(settings::LEASE_WARNING_MINUTES)),
            silent: settings::seconds(self.policies.number(settings::NODE_SILENT_SECONDS)),
        }
    }

    async fn keep_waiting(&self, tx: &mut Tx, visit: Visit, wait: Wait) -> Result<Next, ReconcileError> {
        let gives_up = match (wait.keep.is_empty(), visit.has_kept_nodes) {
            (false, _) => starvation_guard::keep(tx, visit.id, &wait.keep).await?,
            (true, true) => {
                starvation_guard::end(tx, visit.id).await?;
                true
            }
            (true, false) => false,
        };
        let request = visit.request.as_ref().filter(|it| it.behind == 0);
        for node in match request {
            Some(request) => slots::idle_elsewhere(tx, visit.organization, visit.id, &request.ask).await?,
            None => Vec::new(),
        } {
            nodes::request_sanitizing(tx, node, "another organization waits for it").await?;
        }
        let steps_aside = visits::wait(tx, visit.id, &wait.reason, wait.could_run).await?;
        if gives_up || steps_aside {
            super::capacity_changed(tx).await?;
        }
        // What becomes free at this very moment may wake only those that it saw
        // waiting: a young request looks again soon, an old one now and then.
        let age = visit.request.as_ref().map_or(SOONEST, |it| it.age.max(SOONEST));
        Ok(Next::After(self.limits().retry.min(age)))
    }

    async fn go(&self, tx: &mut Tx, visit: Visit, step: Step) -> Result<Next, ReconcileError> {
        match step {
            // Canceled while nodes were kept for it, which are free for others now.
            Step::Nothing if visit.has_kept_nodes => {
                starvation_guard::end(tx, visit.id).await?;
                super::capacity_changed(tx).await?;
                Ok(Next::Done)
            }
            Step::Nothing => Ok(Next::Done),
            Step::HoldBack => self.hold_back(tx, visit).await,
            Step::Wait(rest) => Ok(Next::After(rest)),
            Step::Order { nodes, because } => {
                if let Some(failure) = because {
                    visits::attempt(tx, visit.id, &Reason::TaskFailed { failure }).await?;
                }
                Ok(Next::Settled(Some(self.order(tx, &[(&visit, nodes)]).await?)))
            }
            Step::Prove(done) => Ok(self.prove(tx, vec![(visit, done)]).await?.remove(0)),
            Step::Stop(done) => {
                visits::note_done(tx, [(visit.id, done.as_slice())]).await?;
                visits::attended(tx, visit.id).await?;
                transition::<AllocationLifecycle>(tx, visit.row(), Event::Stopped, "").await?;
                // How long it may stay so is read at the next visit.
                Ok(Next::After(Duration::ZERO))
            }
            Step::FailStop { failure } => {
                let reason = Reason::TaskFailed { failure };
                visits::need_attention(tx, visit.id, &reason).await?;
                tracing::error!(allocation = %visit.id, %reason, "an allocation could not be stopped: see docs/runbooks/release-failed.md");
                Ok(Next::Done)
            }
            Step::KeysWritten(left) => {
                visits::keys_written(tx, visit.id).await?;
                Ok(left.map_or(Next::Done, Next::After))
            }
            Step::FailKeys { failure, after } => {
                if !visit.needs_attention {
                    let reason = Reason::KeysNotWritten { failure };
                    visits::need_attention(tx, visit.id, &reason).await?;
                    tracing::error!(allocation = %visit.id, %reason, "the SSH keys of an allocation could not be written: see docs/runbooks/ssh-keys-not-written.md");
                }
                visits::forgive(tx, visit.id).await?;
                Ok(Next::After(after))
            }
            Step::FailStart { reason, liars } => {
                self.tell_on(tx, &liars).await?;
                store::explain(tx, visit.id.uuid(), &reason, None).await?;
                transition::<AllocationLifecycle>(tx, visit.row(), Event::StartFailed, &reason.sentence()).await?;
                Ok(Next::Done)
            }
            Step::FailProvision { failure, liars } => {
                self.tell_on(tx, &liars).await?;
                let reason = Reason::TaskFailed { failure };
                store::explain(tx, visit.id.uuid(), &reason, Some(&reason)).await?;
                transition::<AllocationLifecycle>(tx, visit.row(), Event::ProvisionFailed, &reason.sentence()).await?;
                Ok(Next::Done)
            }
            Step::TellLease(lease_ends_at) => {
                visits::lease_warning_sent(tx, visit.id).await?;
                let event = AllocationLeaseEnding { id: visit.id, project_id: visit.project, lease_ends_at };
                emit(tx, Some(visit.organization), visit.id, &event);
                Ok(Next::After(Duration::ZERO))
            }
            Step::WarnStop(ends_at) => {
                if let Some(limit) = visit.stop_limit {
                    visits::stop_notified(tx, visit.id, limit.since).await?;
                }
                let event = AllocationStopEnding { id: visit.id, project_id: visit.project, ends_at };
                emit(tx, Some(visit.organization), visit.id, &event);
                Ok(Next::After(Duration::ZERO))
            }
            Step::EndLease => self.end(tx, &visit, Event::LeaseEnded, &Reason::LeaseEnded).await,
            Step::EndStop(hours) => self.end(tx, &visit, Event::StopExpired, &Reason::StoppedTooLong { hours }).await,
            Step::EndWithProject => {
                endings::end_with_project(tx, visit.row()).await?;
                Ok(Next::After(Duration::ZERO))
            }
            Step::Suspend => {
                let reason = Reason::Suspended;
                transition::<AllocationLifecycle>(tx, visit.row(), Event::StopRequested, &reason.sentence()).await?;
                store::record_intent(tx, visit.id, Some(&reason)).await?;
                Ok(Next::Done)
            }
            Step::Clean(done) => self.clean(tx, visit, done).await,
            Step::FailCleaning { cleaned, failure } => self.give_up(tx, visit, cleaned, failure).await,
            Step::CleanAgain => {
                let (row, back) = (visit.row(), Reason::SanitizedAgain);
                let moved =
                    transition::<AllocationLifecycle>(tx, row, Event::ReleaseRequested, &back.sentence()).await?;
                store::ended(tx, visit.id, moved.state, visit.failure.as_ref().unwrap_or(&back)).await?;
                Ok(Next::Done)
            }
        }
    }

    async fn end(&self, tx: &mut Tx, visit: &Visit, event: Event, reason: &Reason) -> Result<Next, ReconcileError> {
        store::explain(tx, visit.id.uuid(), reason, None).await?;
        transition::<AllocationLifecycle>(tx, visit.row(), event, &reason.sentence()).await?;
        Ok(Next::Done)
    }

    /// Keeps a request waiting until its organization is resumed, which wakes it. Nobody waits behind it.
    async fn hold_back(&self, tx: &mut Tx, visit: Visit) -> Result<Next, ReconcileError> {
        if visit.has_kept_nodes {
            starvation_guard::end(tx, visit.id).await?;
        }
        let steps_aside = visits::wait(tx, visit.id, &Reason::Suspended, false).await?;
        if steps_aside || visit.has_kept_nodes {
            super::capacity_changed(tx).await?;
        }
        Ok(Next::Done)
    }

    /// Nodes before allocations, as everywhere, so that nobody waits in a circle.
    async fn tell_on(&self, tx: &mut Tx, liars: &[(NodeId, TaskFailure)]) -> Result<(), ReconcileError> {
        for (node, lie) in liars {
            nodes::caught_lying(tx, *node, &lie.to_string()).await?;
        }
        Ok(())
    }

    async fn clean(&self, tx: &mut Tx, visit: Visit, done: Vec<(NodeId, Done)>) -> Result<Next, ReconcileError> {
        visits::note_done(tx, [(visit.id, done.as_slice())]).await?;
        for node in visit.nodes() {
            slots::clean(tx, visit.id, node).await?;
        }
        let event = if visit.failure.is_some() { Event::Compensated } else { Event::Cleaned };
        visits::finish(tx, visit.id, None).await?;
        transition::<AllocationLifecycle>(tx, visit.row(), event, "").await?;
        for node in slots::vacated(tx, &visit.nodes(), visit.shape == Shape::Baremetal).await? {
            nodes::request_sanitizing(tx, node, "an allocation left it").await?;
        }
        super::capacity_changed(tx).await?;
        Ok(Next::Done)
    }

    /// Frees what was cleaned, quarantines the rest, and asks for a person.
    async fn give_up(
        &self,
        tx: &mut Tx,
        visit: Visit,
        cleaned: Vec<(NodeId, Done)>,
        failure: TaskFailure,
    ) -> Result<Next, ReconcileError> {
        visits::note_done(tx, [(visit.id, cleaned.as_slice())]).await?;
        for (node, _) in &cleaned {
            slots::clean(tx, visit.id, *node).await?;
        }
        let reason = Reason::TaskFailed { failure };
        let sentence = reason.sentence();
        slots::quarantine(tx, visit.id, &sentence).await?;
        visits::need_attention(tx, visit.id, &reason).await?;
        transition::<AllocationLifecycle>(tx, visit.row(), Event::CleaningFailed, &sentence).await?;
        tracing::error!(allocation = %visit.id, reason = sentence, "an allocation could not be sanitized: see docs/runbooks/release-failed.md");
        super::capacity_changed(tx).await?;
        Ok(Next::Done)
    }
}
