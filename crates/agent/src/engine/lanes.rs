//! Tasks that wait for their turn: one lane per resource, so that tasks of one
//! resource are done in order and others beside them.

use protocol::{Task, TaskId};
use std::collections::{HashMap, HashSet, VecDeque};

#[derive(Default)]
pub(super) struct Lanes {
    /// A lane exists as long as somebody works through it.
    waiting: HashMap<String, VecDeque<Task>>,
    /// Waiting or being done.
    known: HashSet<TaskId>,
}

impl Lanes {
    /// Whether the caller must start a worker for the task's resource.
    pub fn add(&mut self, task: Task, most: usize) -> bool {
        if self.known.len() >= most || !self.known.insert(task.id) {
            return false;
        }
        let starts = !self.waiting.contains_key(&task.resource);
        let lane = self.waiting.entry(task.resource.clone()).or_default();
        let at = lane.iter().position(|other| other.token() > task.token()).unwrap_or(lane.len());
        lane.insert(at, task);
        starts
    }

    /// The next task of a resource; none ends the lane.
    pub fn next(&mut self, resource: &str) -> Option<Task> {
        let next = self.waiting.get_mut(resource)?.pop_front();
        if next.is_none() {
            self.waiting.remove(resource);
        }
        next
    }

    pub fn finished(&mut self, task: TaskId) {
        self.known.remove(&task);
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}
