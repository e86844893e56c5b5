//! From a signed task to a report: verify, fence, answer from the store what was
//! done before, otherwise do it, keep the report, and queue it for sending.

mod execute;
mod judge;
mod lanes;
mod outbox;
#[cfg(test)]
mod tests;

pub use outbox::Outbox;

use crate::host::Host;
use crate::journal::Journal;
use crate::locked;
use crate::steps::Points;
use crate::streams::{Judge, Sessions, Trusted};
use crate::workloads::Workloads;
use jiff::Timestamp;
use judge::Verdict;
use lanes::Lanes;
use protocol::{Outcome, Refusal, RefusedCounts, Report, SignedTask, Task, TaskId, TaskKey};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::{Notify, Semaphore};
use trust::ControlClock;

const MAX_AT_ONCE: usize = 8; // bound: tasks start processes; a host has other work to do
const MAX_WAITING: usize = 256; // bound: the control plane delivers again what is not reported

/// Who this engine acts for.
pub struct EngineIdentity {
    pub node: String,
    pub generation: u64,
    pub epoch: i64,
    /// Who may sign grants; tasks come with the keys of their poll.
    pub keys: Vec<TaskKey>,
    pub clock: ControlClock,
    pub points: Points,
}

/// Cheap to clone; all clones are one engine.
pub struct Engine<H> {
    shared: Arc<Shared<H>>,
}

impl<H> Clone for Engine<H> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

struct Shared<H> {
    host: Arc<H>,
    workloads: Workloads,
    node: String,
    generation: u64,
    clock: ControlClock,
    points: Points,
    journal: Arc<Mutex<Journal>>,
    sessions: Sessions,
    state: Mutex<State>,
    at_once: Semaphore,
    /// Rings when a task has ended.
    ended: Notify,
}

struct State {
    epoch: i64,
    lanes: Lanes,
    refused: RefusedCounts,
    outbox: Outbox,
}

impl<H: Host> Engine<H> {
    pub fn new(place: EngineIdentity, host: Arc<H>, workloads: Workloads, journal: Arc<Mutex<Journal>>) -> Self {
        let mut outbox = Outbox::default();
        for report in locked(&journal).unacknowledged() {
            outbox.push(report);
        }
        let state = State { epoch: place.epoch, lanes: Lanes::default(), refused: RefusedCounts::default(), outbox };
        let judge = Judge { node: place.node.clone(), clock: place.clock.clone(), started: Instant::now() };
        let sessions = Sessions::new(judge, Trusted { keys: place.keys, epoch: place.epoch });
        let shared = Shared {
            host,
            workloads,
            sessions,
            node: place.node,
            generation: place.generation,
            clock: place.clock,
            points: place.points,
            journal,
            state: Mutex::new(state),
            at_once: Semaphore::new(MAX_AT_ONCE),
            ended: Notify::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Takes what a poll delivered. Never waits; what is to be done runs by itself.
    pub fn admit(&self, tasks: &[SignedTask], keys: &[TaskKey]) {
        for signed in tasks {
            match signed.verify(keys) {
                Ok(task) => self.consider(task),
                Err(reason) => self.refuse(reason, None),
            }
        }
    }

    fn consider(&self, task: Task) {
        match self.shared.judge(&task) {
            Verdict::Refuse(reason) => self.refuse(reason, Some(&task)),
            Verdict::Repeat(report) => {
                let mut state = locked(&self.shared.state);
                state.refused.repeated += 1;
                state.outbox.push(*report);
            }
            Verdict::Run => {
                let resource = task.resource.clone();
                let starts_lane = locked(&self.shared.state).lanes.add(task, MAX_WAITING);
                if starts_lane {
                    let shared = Arc::clone(&self.shared);
                    tokio::spawn(async move { shared.work_through(&resource).await });
                }
            }
        }
    }

    fn refuse(&self, reason: Refusal, task: Option<&Task>) {
        self.shared.refuse(reason, task);
    }

    /// Raises the epoch below which every task is stale.
    pub fn learn_epoch(&self, epoch: i64) {
        let mut state = locked(&self.shared.state);
        state.epoch = state.epoch.max(epoch);
        drop(state);
        self.shared.sessions.learn_epoch(epoch);
    }

    /// The streams that are open here.
    pub fn sessions(&self) -> &Sessions {
        &self.shared.sessions
    }

    pub fn refused(&self) -> RefusedCounts {
        locked(&self.shared.state).refused
    }

    pub fn is_busy(&self) -> bool {
        !locked(&self.shared.state).lanes.is_empty()
    }

    /// Reports that are due, oldest first; they stay until acknowledged.
    pub fn reports(&self, limit: usize) -> Vec<Report> {
        locked(&self.shared.state).outbox.due(limit, Instant::now())
    }

    /// What the control plane said to the reports that were sent to it.
    pub fn settle(&self, sent: &[Report], accepted: &[TaskId]) {
        locked(&self.shared.state).outbox.settle(sent, accepted, Instant::now());
        if let Err(error) = locked(&self.shared.journal).acknowledge(accepted.to_vec()) {
            tracing::warn!(%error, "an acknowledgment could not be stored; the report is sent again after a restart");
        }
    }

    /// Reports a task on behalf of the agent that ran before this one.
    pub fn report_for_predecessor(&self, task: &Task, outcome: Outcome) {
        let report = self.shared.report(task, outcome);
        self.shared.keep(report);
    }

    /// Waits until a task ends; returns at once when none runs.
    pub async fn task_ended(&self) {
        let ended = self.shared.ended.notified();
        if self.is_busy() {
            ended.await;
        }
    }
}

impl<H> Shared<H> {
    fn now(&self) -> Option<Timestamp> {
        self.clock.now()
    }

    fn report(&self, task: &Task, outcome: Outcome) -> Report {
        Report {
            task: task.id,
            resource: task.resource.clone(),
            epoch: task.epoch,
            version: task.version,
            generation: self.generation,
            outcome,
        }
    }

    /// Counts a refusal, and tells it where the task is known to be genuine.
    fn refuse(&self, reason: Refusal, task: Option<&Task>) {
        let mut state = locked(&self.state);
        state.refused.count(reason);
        tracing::warn!(reason = reason.name(), task = ?task.map(|task| task.id), "refused a task");
        if let Some(task) = task {
            let report = self.report(task, Outcome::Refused { reason });
            state.outbox.push(report);
        }
    }

    /// Keeps a report on disk, then queues it.
    fn keep(&self, report: Report) {
        let at = self.now().unwrap_or(Timestamp::UNIX_EPOCH);
        let kept = locked(&self.journal).record(at, report.clone());
        let queued = match kept {
            Ok(()) => report,
            Err(error) => {
                tracing::error!(%error, task = %report.task, "a report could not be stored; free space on the disk");
                Report { outcome: execute::journal_failed("persist", &error), ..report }
            }
        };
        locked(&self.state).outbox.push(queued);
    }
}
