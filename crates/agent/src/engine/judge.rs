//! Whether a genuine task may be acted on now.

use super::Shared;
use crate::locked;
use protocol::{Refusal, Report, Task};

pub(super) enum Verdict {
    Refuse(Refusal),
    /// It was done before; this is what came of it.
    Repeat(Box<Report>),
    Run,
}

impl<H> Shared<H> {
    pub(super) fn judge(&self, task: &Task) -> Verdict {
        if task.node != self.node {
            return Verdict::Refuse(Refusal::ForeignNode);
        }
        // Before expiry and fence: a lost report must not make a done task look refused.
        let journal = locked(&self.journal);
        if let Some(report) = journal.report(task.id) {
            return Verdict::Repeat(Box::new(report.clone()));
        }
        // Without the control plane's time nothing can be judged to be in time.
        if self.now().is_none_or(|now| now >= task.expires_at) {
            return Verdict::Refuse(Refusal::Expired);
        }
        let is_fenced = journal.highest(&task.resource).is_some_and(|highest| task.token() < highest);
        drop(journal);
        if is_fenced || task.epoch < locked(&self.state).epoch {
            return Verdict::Refuse(Refusal::Stale);
        }
        Verdict::Run
    }
}
