//! Doing a task: fence first, then the host or a workload, then the report on disk.

use super::judge::Verdict;
use super::{Engine, Shared};
use crate::host::Host;
use crate::journal::JournalError;
use crate::locked;
use crate::steps::{Failure, Result, Steps};
use crate::workloads::Workloads;
use protocol::limits::bounded_text;
use protocol::stream::Closing;
use protocol::{Done, Outcome, Task, Verb};
use std::sync::Arc;

/// What became of an attempt.
enum End {
    Report(Outcome),
    /// The agent that takes over reports.
    Successor,
    /// As if the process had been killed: nothing more happens.
    Cut,
}

impl<H: Host> Shared<H> {
    /// Does the tasks of one resource until none waits.
    pub(super) async fn work_through(self: Arc<Self>, resource: &str) {
        while let Some(task) = {
            let mut state = locked(&self.state);
            state.lanes.next(resource)
        } {
            let Ok(permit) = self.at_once.acquire().await else {
                return;
            };
            match self.attempt(&task).await {
                End::Report(outcome) => self.conclude(&task, outcome),
                End::Successor => {}
                End::Cut => return,
            }
            drop(permit);
            locked(&self.state).lanes.finished(task.id);
            self.ended.notify_waiters();
        }
    }

    async fn attempt(self: &Arc<Self>, task: &Task) -> End {
        // It may have waited long enough to be too late, or to be done by its twin.
        match self.judge(task) {
            Verdict::Run => {}
            Verdict::Refuse(reason) => {
                self.refuse(reason, Some(task));
                return End::Successor;
            }
            Verdict::Repeat(report) => {
                locked(&self.state).outbox.push(*report);
                return End::Successor;
            }
        }
        if let Err(error) = locked(&self.journal).accept(&task.resource, task.token()) {
            tracing::error!(%error, task = %task.id, "a task could not be accepted; free space on the disk");
            let report = self.report(task, journal_failed("accept", &error));
            locked(&self.state).outbox.push(report);
            return End::Successor;
        }
        if (self.points)("accepted") {
            return End::Cut;
        }
        let outcome = self.run_apart(task).await;
        if (self.points)("executed") { End::Cut } else { outcome }
    }

    fn conclude(&self, task: &Task, outcome: Outcome) {
        let (task_id, verb) = (task.id, task.verb.name());
        match &outcome {
            Outcome::Done { .. } => tracing::info!(%task_id, verb, resource = task.resource, "completed a task"),
            Outcome::Failed { step, code, detail, .. } => {
                tracing::warn!(%task_id, verb, resource = task.resource, step, code, detail, "a task failed");
            }
            Outcome::Refused { reason } => {
                tracing::warn!(%task_id, verb, resource = task.resource, reason = reason.name(), "refused a task");
            }
        }
        let report = self.report(task, outcome);
        self.keep(report);
        (self.points)("persisted");
    }

    /// In a task of its own: a workload that panics fails its task and nothing else.
    async fn run_apart(self: &Arc<Self>, task: &Task) -> End {
        let (shared, wanted) = (Arc::clone(self), task.clone());
        let limit = task.verb.limit();
        let attempt = tokio::spawn(async move {
            let mut steps = Steps::new(Arc::clone(&shared.points));
            match tokio::time::timeout(limit, perform(&shared, &mut steps, &wanted)).await {
                Ok(Ok(Some(result))) => End::Report(Outcome::Done { result }),
                Ok(Ok(None)) => End::Successor,
                Ok(Err(failure)) => End::Report(failed(steps.current(), failure)),
                Err(_) => {
                    let detail = format!("not completed within {} s", limit.as_secs());
                    End::Report(failed(steps.current(), Failure::passing("timeout", detail)))
                }
            }
        });
        attempt.await.unwrap_or_else(|error| {
            tracing::error!(%error, task = %task.id, "a task panicked");
            End::Report(failed(
                "start",
                Failure::passing("panic", "the agent stopped the task unexpectedly; see its log"),
            ))
        })
    }
}

async fn perform<H: Host>(shared: &Shared<H>, steps: &mut Steps, task: &Task) -> Result<Option<Done>> {
    let Shared { host, workloads, sessions, .. } = shared;
    // Streams end first, and none begins until it is done: nobody types into what is being cleaned.
    let _closed = match &task.verb {
        Verb::EnsureStopped { .. } | Verb::EnsureGone { .. } => Some(sessions.end(&task.resource).await),
        Verb::EnsureSanitized {} => {
            sessions.end_all(Closing::AllocationEnded).await;
            None
        }
        Verb::EnsureAllocation { .. } | Verb::EnsureKeys { .. } | Verb::EnsureAgent { .. } => None,
    };
    let done = match &task.verb {
        Verb::EnsureAllocation { workload } => workloads.ensure(steps, workload).await,
        Verb::EnsureKeys { workload, keys } => workloads.keys(steps, workload, keys).await,
        Verb::EnsureStopped { workload, gpus } => workloads.stop(steps, workload, gpus).await,
        Verb::EnsureGone { workload, gpus, isolation } => workloads.remove(steps, workload, gpus, *isolation).await,
        Verb::EnsureSanitized {} => host.sanitize(steps, workloads).await,
        Verb::EnsureAgent { .. } => return host.update(steps, task).await,
    };
    done.map(Some)
}

fn failed(step: &str, failure: Failure) -> Outcome {
    let Failure { code, detail, retryable } = failure;
    Outcome::Failed { step: step.to_owned(), code, detail, retryable }
}

pub(super) fn journal_failed(step: &str, error: &JournalError) -> Outcome {
    let detail = bounded_text(error.to_string());
    Outcome::Failed { step: step.to_owned(), code: "journal".into(), detail, retryable: true }
}

impl<H: Host> Engine<H> {
    pub fn host(&self) -> &Arc<H> {
        &self.shared.host
    }

    pub fn workloads(&self) -> &Workloads {
        &self.shared.workloads
    }
}
