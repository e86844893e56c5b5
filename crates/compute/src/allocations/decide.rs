//! What a visit does next, from what it saw. Pure.

use std::{collections::BTreeSet, time::Duration};

use contract::{Timestamp, allocations::AllocationState, id::NodeId};
use protocol::{Done, Outcome};

use super::{
    reason::{Reason, TaskFailure},
    visits::{Parent, StopLimit, Visit},
};
use fleet::tasks::Evidence;

/// How often hosts are asked again, and how long things wait.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub provision_attempts: i32,
    pub cleaning_attempts: i32,
    pub retry: Duration,
    pub task: Duration,
    /// How long before its end the owner of a lease is told.
    pub lease_warning: Duration,
    /// After how long without a word a host is silent.
    pub silent: Duration,
}

impl Limits {
    /// Of a short lease it is no news that it ends soon.
    pub fn warning(&self, lease: Duration) -> Duration {
        self.lease_warning.min(lease / 4)
    }
}

/// What a visit does to an allocation that has been placed.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Nothing,
    Wait(Duration),
    /// Ask these nodes, again where `because` says so.
    Order {
        nodes: Vec<NodeId>,
        because: Option<TaskFailure>,
    },
    Prove(Vec<(NodeId, Done)>),
    /// It is stopped; its lease goes on.
    Stop(Vec<(NodeId, Done)>),
    FailStop {
        failure: TaskFailure,
    },
    FailStart {
        reason: Reason,
        liars: Vec<(NodeId, TaskFailure)>,
    },
    FailProvision {
        failure: TaskFailure,
        /// Nodes that claimed what cannot be true, and what.
        liars: Vec<(NodeId, TaskFailure)>,
    },
    Clean(Vec<(NodeId, Done)>),
    FailCleaning {
        cleaned: Vec<(NodeId, Done)>,
        failure: TaskFailure,
    },
    /// A host that could not clean it is back, and is asked again.
    CleanAgain,
    /// Its hosts wrote its keys, which failed before; it goes on for so long.
    KeysWritten(Option<Duration>),
    /// Its hosts did not write its keys: somebody may get in who should not.
    FailKeys {
        failure: TaskFailure,
        after: Duration,
    },
    /// Tell its project that the lease ends.
    TellLease(Timestamp),
    EndLease,
    /// Notify its requester that it gives up its slots.
    WarnStop(Timestamp),
    /// It was stopped for longer than so many hours.
    EndStop(u64),
    /// Its project or organization ended.
    EndWithProject,
    /// Its organization is suspended: what runs is stopped.
    Suspend,
    /// Its organization is suspended: it waits, and nobody behind it does.
    HoldBack,
}

/// Where the hosts stand with what they were asked for in this version.
#[derive(Debug, Default)]
struct Progress {
    done: Vec<(NodeId, Done)>,
    missing: Vec<NodeId>,
    failed: Vec<(NodeId, TaskFailure, bool)>,
    waiting: bool,
}

pub fn decide(visit: &Visit, limits: &Limits) -> Step {
    match (visit.parent, visit.state) {
        (Parent::Active, _) => by_state(visit, limits),
        (_, AllocationState::Releasing) => clean(visit, limits),
        (_, AllocationState::ReleaseFailed) => uncleaned(visit, limits),
        (_, AllocationState::Released | AllocationState::Failed) => Step::Nothing,
        (Parent::Ended, _) => Step::EndWithProject,
        (Parent::Suspended, AllocationState::Requested) => Step::HoldBack,
        (Parent::Suspended, AllocationState::Active) => Step::Suspend,
        (Parent::Suspended, AllocationState::Starting) => {
            Step::FailStart { reason: Reason::Suspended, liars: Vec::new() }
        }
        // Nobody may start it: the time that it may stay stopped does not pass.
        (Parent::Suspended, AllocationState::Stopped) => kept(visit),
        // What is being prepared is stopped once it is proven.
        (Parent::Suspended, AllocationState::Provisioning | AllocationState::Stopping) => by_state(visit, limits),
    }
}

fn by_state(visit: &Visit, limits: &Limits) -> Step {
    match visit.state {
        AllocationState::Provisioning | AllocationState::Starting => provision(visit, limits),
        AllocationState::Active => active(visit, limits),
        AllocationState::Stopping => stop(visit, limits),
        AllocationState::Stopped => stopped(visit),
        AllocationState::Releasing => clean(visit, limits),
        AllocationState::ReleaseFailed => uncleaned(visit, limits),
        AllocationState::Requested | AllocationState::Released | AllocationState::Failed => Step::Nothing,
    }
}

/// How much of its lease is left; none when it has no end.
fn lease_left(visit: &Visit) -> Option<Duration> {
    visit.lease_ends_at.map(|it| Duration::try_from(it.duration_since(visit.now)).unwrap_or_default())
}

// bound: how late a policy that was lowered is noticed
const STOPPED_LOOK: Duration = Duration::from_secs(3600);

// bound: how long before its end the owner of what is stopped is notified
const STOP_WARNING: Duration = Duration::from_secs(86_400);

/// A stopped one keeps its slots until its lease ends, or the time that the policy gives it.
fn stopped(visit: &Visit) -> Step {
    let lease = lease_left(visit);
    if lease.is_some_and(|it| it.is_zero()) {
        return Step::EndLease;
    }
    let Some(StopLimit { ends_at, hours, is_notified, .. }) = visit.stop_limit else {
        return lease.map_or(Step::Nothing, Step::Wait);
    };
    let mut left = Duration::try_from(ends_at.duration_since(visit.now)).unwrap_or_default();
    if left.is_zero() {
        return Step::EndStop(hours);
    }
    let warning = (Duration::from_secs(hours * 3600) / 4).min(STOP_WARNING);
    if !is_notified {
        if left <= warning {
            return Step::WarnStop(ends_at);
        }
        left -= warning;
    }
    Step::Wait(lease.unwrap_or(left).min(left).min(STOPPED_LOOK))
}

/// What a suspension stopped keeps its slots and files until its lease ends.
fn kept(visit: &Visit) -> Step {
    match lease_left(visit) {
        Some(left) if left.is_zero() => Step::EndLease,
        left => Step::Wait(left.unwrap_or(STOPPED_LOOK).min(STOPPED_LOOK)),
    }
}

fn provision(visit: &Visit, limits: &Limits) -> Step {
    let mut progress = progress(visit);
    let mut liars = Vec::new();
    for (node, done) in &progress.done {
        match is_proof(visit, *node, done) {
            Ok(()) => (),
            Err(NoProof::Broken(failure)) => progress.failed.push((*node, failure, false)),
            Err(NoProof::Lie(failure)) => {
                liars.push((*node, failure.clone()));
                progress.failed.push((*node, failure, false));
            }
        }
    }
    match settle(visit, &mut progress, limits.provision_attempts, limits.task) {
        Ok(()) => Step::Prove(progress.done),
        Err(Stuck::Step(step)) => step,
        Err(Stuck::Failed(failure)) if visit.state == AllocationState::Starting => {
            Step::FailStart { reason: Reason::StartFailed { failure }, liars }
        }
        Err(Stuck::Failed(failure)) => Step::FailProvision { failure, liars },
    }
}

enum NoProof {
    /// The GPUs are there and do not work.
    Broken(TaskFailure),
    /// An honest host would not say so.
    Lie(TaskFailure),
}

/// Whether a host showed exactly the GPUs that it was asked for, and that they work.
fn is_proof(visit: &Visit, node: NodeId, done: &Done) -> Result<(), NoProof> {
    let Done::Proof { gpus, self_test, .. } = done else {
        return Err(NoProof::Lie(TaskFailure::NoProof));
    };
    let expected: BTreeSet<&str> = visit.held_on(node).map(|it| it.gpu_uuid.as_str()).collect();
    let shown: BTreeSet<&str> = gpus.iter().map(String::as_str).collect();
    if expected != shown || shown.len() != gpus.len() {
        return Err(NoProof::Lie(TaskFailure::OtherGpus { requested: expected.len() }));
    }
    if !self_test.passed {
        return Err(NoProof::Broken(TaskFailure::SelfTest { detail: self_test.detail.clone() }));
    }
    Ok(())
}

fn active(visit: &Visit, limits: &Limits) -> Step {
    let left = lease_left(visit);
    if left.is_some_and(|it| it.is_zero()) {
        return Step::EndLease;
    }
    let warning = limits.warning(visit.lease.unwrap_or_default());
    let left = match (left, visit.lease_ends_at) {
        (Some(left), Some(ends_at)) if !visit.is_lease_warning_sent && !warning.is_zero() => {
            if left <= warning {
                return Step::TellLease(ends_at);
            }
            Some(left - warning)
        }
        _ => left,
    };
    let rest = left.map_or(Step::Nothing, Step::Wait);
    // Its proof was ordered one version before it became active; a later version changed its keys.
    let is_proof = |it: &Option<Outcome>| matches!(it, Some(Outcome::Done { result: Done::Proof { .. } }));
    if visit.orders.iter().all(|it| it.version + 1 == visit.version && is_proof(&it.outcome)) {
        return rest;
    }
    let mut progress = progress(visit);
    match settle(visit, &mut progress, limits.provision_attempts, limits.task) {
        Ok(()) if visit.needs_attention || visit.attempts > 0 => Step::KeysWritten(left),
        Ok(()) => rest,
        Err(Stuck::Failed(failure)) => {
            Step::FailKeys { failure, after: left.map_or(limits.retry, |it| it.min(limits.retry)) }
        }
        Err(Stuck::Step(step)) => match (step, left) {
            (Step::Wait(after), Some(left)) => Step::Wait(after.min(left)),
            (step, _) => step,
        },
    }
}

fn stop(visit: &Visit, limits: &Limits) -> Step {
    if lease_left(visit).is_some_and(|it| it.is_zero()) {
        return Step::EndLease;
    }
    let mut progress = progress(visit);
    doubt(&mut progress, Evidence::Idle);
    match settle(visit, &mut progress, limits.cleaning_attempts, limits.task) {
        Ok(()) => Step::Stop(progress.done),
        Err(Stuck::Step(step)) => step,
        Err(Stuck::Failed(failure)) => Step::FailStop { failure },
    }
}

/// What a host reports as done counts only with the evidence that is asked for.
fn doubt(progress: &mut Progress, wanted: Evidence) {
    for (node, done) in &progress.done {
        if let Err(missing) = wanted.in_report(done) {
            progress.failed.push((*node, TaskFailure::NoEvidence { missing }, missing.is_retryable()));
        }
    }
}

fn clean(visit: &Visit, limits: &Limits) -> Step {
    let mut progress = progress(visit);
    doubt(&mut progress, Evidence::Gone);
    let failed: Vec<NodeId> = progress.failed.iter().map(|(node, ..)| *node).collect();
    match settle(visit, &mut progress, limits.cleaning_attempts, limits.task) {
        Ok(()) => Step::Clean(progress.done),
        Err(Stuck::Step(step)) => step,
        Err(Stuck::Failed(failure)) => {
            let cleaned = progress.done.into_iter().filter(|(node, _)| !failed.contains(node)).collect();
            Step::FailCleaning { cleaned, failure }
        }
    }
}

/// One that could not be cleaned is looked at when a host of it is heard again. A
/// host that speaks and did not clean is for a person, unless it was away since.
fn uncleaned(visit: &Visit, limits: &Limits) -> Step {
    let is_back = visit.hosts.iter().any(|host| {
        let is_heard = host.last_seen_at + limits.silent > visit.now;
        let order = visit.orders.iter().find(|it| it.node == host.node);
        let may_clean_now = match order.and_then(|it| it.outcome.as_ref()) {
            None => true,
            // It cleaned, and its report was late.
            Some(Outcome::Done { result }) if Evidence::Gone.in_report(result).is_ok() => true,
            Some(_) => host.health_since > visit.since,
        };
        is_heard && may_clean_now
    });
    if is_back { Step::CleanAgain } else { Step::Nothing }
}

fn progress(visit: &Visit) -> Progress {
    let mut progress = Progress::default();
    for node in visit.nodes() {
        let order = visit.orders.iter().find(|it| it.node == node && it.version >= visit.version);
        match order.map(|it| (&it.outcome, it.is_expired)) {
            None => progress.missing.push(node),
            Some((None, false)) => progress.waiting = true,
            Some((None, true)) => progress.failed.push((node, TaskFailure::NoResponse, true)),
            Some((Some(Outcome::Done { result }), _)) => progress.done.push((node, result.clone())),
            Some((Some(Outcome::Failed { step, code, detail, retryable }), _)) => {
                let (step, code, detail) = (step.clone(), code.clone(), detail.clone());
                progress.failed.push((node, TaskFailure::Failed { step, code, detail }, *retryable));
            }
            Some((Some(Outcome::Refused { reason }), _)) => {
                progress.failed.push((node, TaskFailure::Rejected { refusal: *reason }, true));
            }
        }
    }
    progress
}

enum Stuck {
    Step(Step),
    Failed(TaskFailure),
}

/// Whether every host is done; else what is to do about those that are not.
fn settle(visit: &Visit, progress: &mut Progress, attempts: i32, task: Duration) -> Result<(), Stuck> {
    let final_failure = progress.failed.iter().find(|(.., retryable)| !retryable || visit.attempts + 1 >= attempts);
    if let Some((_, failure, _)) = final_failure {
        return Err(Stuck::Failed(failure.clone()));
    }
    let because = progress.failed.first().map(|(_, failure, _)| failure.clone());
    let mut nodes = std::mem::take(&mut progress.missing);
    nodes.extend(progress.failed.iter().map(|(node, ..)| *node));
    match (nodes.is_empty(), progress.waiting) {
        (false, _) => Err(Stuck::Step(Step::Order { nodes, because })),
        (true, true) => Err(Stuck::Step(Step::Wait(task))),
        (true, false) => Ok(()),
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
