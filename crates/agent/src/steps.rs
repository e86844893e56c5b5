//! The steps of a task: their names and times, where a test may cut them short, and
//! why one failed.

use protocol::Stage;
use protocol::limits::bounded_text;
use std::sync::Arc;
use std::time::Instant;

/// Why a verb could not be done. The engine adds the step it happened in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub code: String,
    pub detail: String,
    /// Whether the same task may succeed later without somebody seeing to it.
    pub retryable: bool,
}

impl Failure {
    pub fn lasting(code: &str, detail: impl Into<String>) -> Self {
        Self { code: code.to_owned(), detail: bounded_text(detail), retryable: false }
    }

    pub fn passing(code: &str, detail: impl Into<String>) -> Self {
        Self { retryable: true, ..Self::lasting(code, detail) }
    }
}

pub type Result<T> = std::result::Result<T, Failure>;

/// Called with the name of every point passed; true means: as if killed there.
pub type Points = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Points that nobody watches.
pub fn no_points() -> Points {
    Arc::new(|_| false)
}

/// Ends the process without any cleaning when the named point is passed, as
/// `kill -9` would.
pub fn crash_at(name: String) -> Points {
    Arc::new(move |point| {
        if point == name {
            std::process::abort();
        }
        false
    })
}

/// The named steps of a task, each with the time it took.
pub struct Steps {
    points: Points,
    current: Option<(&'static str, Instant)>,
    done: Vec<Stage>,
}

impl Steps {
    pub fn new(points: Points) -> Self {
        Self { points, current: None, done: Vec::new() }
    }

    /// Ends the step before and begins this one.
    pub fn enter(&mut self, name: &'static str) {
        self.leave();
        (self.points)(name);
        self.current = Some((name, Instant::now()));
    }

    pub fn current(&self) -> &'static str {
        self.current.map_or("start", |(name, _)| name)
    }

    /// Every step with its time, in order.
    pub fn finish(&mut self) -> Vec<Stage> {
        self.leave();
        std::mem::take(&mut self.done)
    }

    fn leave(&mut self) {
        if let Some((name, began)) = self.current.take() {
            let took_ms = began.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
            self.done.push(Stage { name: name.to_owned(), took_ms });
        }
    }
}
