//! What must outlive the agent: the highest version accepted per resource, and the
//! report of every task done. A line is on disk before anything depends on it.

mod log;
mod remembered;

pub use log::JournalError;
pub use remembered::Bounds;

use jiff::Timestamp;
use log::Log;
use protocol::{Report, TaskId};
use remembered::ReportMemory;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub(crate) enum Entry {
    Accepted { resource: String, epoch: i64, version: i64 },
    Reported { at: Timestamp, report: Report },
    Acknowledged { tasks: Vec<TaskId> },
}

/// In memory, and with [`Journal::open`] in a file too.
pub struct Journal {
    memory: ReportMemory,
    log: Option<Log>,
}

impl Journal {
    /// A journal that ends with the process: for simulated nodes.
    pub fn in_memory(bounds: Bounds) -> Self {
        Self { memory: ReportMemory::new(bounds), log: None }
    }

    /// Reads what was written before and rewrites it compactly.
    pub fn open(path: &Path, bounds: Bounds) -> Result<Self, JournalError> {
        let mut memory = ReportMemory::new(bounds);
        for entry in log::read(path)? {
            memory.apply(entry);
        }
        let log = Log::rewrite(path, memory.entries())?;
        Ok(Self { memory, log: Some(log) })
    }

    /// The fencing token of the latest task accepted for a resource.
    pub fn highest(&self, resource: &str) -> Option<(i64, i64)> {
        self.memory.highest(resource)
    }

    pub fn report(&self, task: TaskId) -> Option<&Report> {
        self.memory.report(task)
    }

    /// Reports that the control plane has not acknowledged, oldest first.
    pub fn unacknowledged(&self) -> Vec<Report> {
        self.memory.unacknowledged()
    }

    /// Fences off whatever came before; on disk when this returns.
    pub fn accept(&mut self, resource: &str, token: (i64, i64)) -> Result<(), JournalError> {
        if self.highest(resource) == Some(token) {
            return Ok(());
        }
        let entry = Entry::Accepted { resource: resource.to_owned(), epoch: token.0, version: token.1 };
        self.write(entry, true)
    }

    /// Keeps a task's report; on disk when this returns.
    pub fn record(&mut self, at: Timestamp, report: Report) -> Result<(), JournalError> {
        self.write(Entry::Reported { at, report }, true)
    }

    /// A lost acknowledgment only means that a report is sent once more.
    pub fn acknowledge(&mut self, tasks: Vec<TaskId>) -> Result<(), JournalError> {
        if tasks.is_empty() { Ok(()) } else { self.write(Entry::Acknowledged { tasks }, false) }
    }

    fn write(&mut self, entry: Entry, durable: bool) -> Result<(), JournalError> {
        if let Some(log) = &mut self.log {
            log.append(&entry, durable)?;
        }
        self.memory.apply(entry);
        if let Some(log) = &mut self.log
            && log.lines() > self.memory.compact_after()
        {
            *log = Log::rewrite(log.path(), self.memory.entries())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
