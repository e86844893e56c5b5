//! Reports on their way: each is sent until the control plane acknowledges it, at
//! growing intervals when it does not.

use protocol::{Report, TaskId};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

const MOST: usize = 10_000; // bound: as many as the journal keeps
const FIRST_PAUSE: Duration = Duration::from_secs(1); // bound: an unwanted report must not make polls spin
const LONGEST_PAUSE: Duration = Duration::from_secs(300); // bound: it is not lost, only late

struct Waiting {
    report: Report,
    pause: Duration,
    not_before: Option<Instant>,
}

#[derive(Default)]
pub struct Outbox {
    waiting: VecDeque<Waiting>,
}

impl Outbox {
    /// The latest word about a task replaces what was said before. The oldest goes
    /// when there are too many: its task will be delivered, and answered, again.
    pub fn push(&mut self, report: Report) {
        self.waiting.retain(|waiting| waiting.report.task != report.task);
        if self.waiting.len() >= MOST {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Waiting { report, pause: FIRST_PAUSE, not_before: None });
    }

    pub fn due(&self, limit: usize, now: Instant) -> Vec<Report> {
        let is_due = |waiting: &&Waiting| waiting.not_before.is_none_or(|at| at <= now);
        self.waiting.iter().filter(is_due).take(limit).map(|waiting| waiting.report.clone()).collect()
    }

    pub fn settle(&mut self, sent: &[Report], accepted: &[TaskId], now: Instant) {
        // A newer word about an accepted task still has to be sent.
        let is_settled = |report: &Report| accepted.contains(&report.task) && sent.contains(report);
        self.waiting.retain(|waiting| !is_settled(&waiting.report));
        for waiting in &mut self.waiting {
            if sent.contains(&waiting.report) {
                waiting.not_before = Some(now + waiting.pause);
                waiting.pause = (waiting.pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}
