//! The journal's content in memory, bounded in number and in age.

use super::Entry;
use jiff::{SignedDuration, Timestamp};
use protocol::{Report, TaskId};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// How much is remembered.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub reports: usize,
    pub report_age: SignedDuration,
    /// Tasks expire, so the fence of a long quiet resource protects nothing.
    pub resources: usize,
}

impl Bounds {
    // bound: a month of a busy host, in a file of a few megabytes
    pub const HOST: Self = Self { reports: 10_000, report_age: SignedDuration::from_hours(24 * 30), resources: 20_000 };
    // bound: thousands of simulated nodes share one process
    pub const SIM: Self = Self { reports: 256, report_age: SignedDuration::from_hours(24), resources: 512 };
}

struct StoredReport {
    at: Timestamp,
    report: Report,
    acknowledged: bool,
}

pub(super) struct ReportMemory {
    bounds: Bounds,
    fences: HashMap<String, ((i64, i64), u64)>,
    fence_order: BTreeMap<u64, String>,
    next_fence: u64,
    reports: HashMap<TaskId, StoredReport>,
    report_order: VecDeque<TaskId>,
}

impl ReportMemory {
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            fences: HashMap::new(),
            fence_order: BTreeMap::new(),
            next_fence: 0,
            reports: HashMap::new(),
            report_order: VecDeque::new(),
        }
    }

    pub fn highest(&self, resource: &str) -> Option<(i64, i64)> {
        self.fences.get(resource).map(|(token, _)| *token)
    }

    pub fn report(&self, task: TaskId) -> Option<&Report> {
        self.reports.get(&task).map(|kept| &kept.report)
    }

    pub fn unacknowledged(&self) -> Vec<Report> {
        let kept = self.report_order.iter().filter_map(|id| self.reports.get(id));
        kept.filter(|kept| !kept.acknowledged).map(|kept| kept.report.clone()).collect()
    }

    pub fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Accepted { resource, epoch, version } => self.fence(resource, (epoch, version)),
            Entry::Reported { at, report } => self.keep(at, report),
            Entry::Acknowledged { tasks } => {
                for task in tasks {
                    if let Some(kept) = self.reports.get_mut(&task) {
                        kept.acknowledged = true;
                    }
                }
            }
        }
    }

    fn fence(&mut self, resource: String, token: (i64, i64)) {
        let known = self.fences.get(&resource);
        if known.is_some_and(|(highest, _)| *highest > token) {
            return;
        }
        if let Some((_, order)) = known {
            self.fence_order.remove(order);
        }
        self.next_fence += 1;
        self.fence_order.insert(self.next_fence, resource.clone());
        self.fences.insert(resource, (token, self.next_fence));
        while self.fences.len() > self.bounds.resources
            && let Some((_, oldest)) = self.fence_order.pop_first()
        {
            self.fences.remove(&oldest);
        }
    }

    fn keep(&mut self, at: Timestamp, report: Report) {
        let task = report.task;
        if self.reports.insert(task, StoredReport { at, report, acknowledged: false }).is_none() {
            self.report_order.push_back(task);
        }
        let too_old = |kept: &StoredReport| at.duration_since(kept.at) > self.bounds.report_age;
        while let Some(oldest) = self.report_order.front()
            && (self.report_order.len() > self.bounds.reports || self.reports.get(oldest).is_none_or(too_old))
        {
            self.reports.remove(oldest);
            self.report_order.pop_front();
        }
    }

    /// After how many lines the file holds more past than present.
    pub fn compact_after(&self) -> usize {
        2 * (self.fences.len() + self.reports.len()) + 1000
    }

    /// What a new file must say to mean the same.
    pub fn entries(&self) -> Vec<Entry> {
        let fences = self.fence_order.values().filter_map(|resource| {
            let ((epoch, version), _) = *self.fences.get(resource)?;
            Some(Entry::Accepted { resource: resource.clone(), epoch, version })
        });
        let kept = self.report_order.iter().filter_map(|id| self.reports.get(id));
        let reports = kept.clone().map(|kept| Entry::Reported { at: kept.at, report: kept.report.clone() });
        let tasks: Vec<TaskId> = kept.filter(|kept| kept.acknowledged).map(|kept| kept.report.task).collect();
        fences.chain(reports).chain([Entry::Acknowledged { tasks }]).collect()
    }
}
