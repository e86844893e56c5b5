//! What a host can be made to do, whatever kind it is. Every method ensures a
//! state: it may be called again after it was cut short at any step.

use crate::streams::Refused;
use crate::streams::shell::{Prepared, Program, Way};
use protocol::limits::bounded_text;
use protocol::{
    Done, GpuRef, GpuSample, HealthEvent, HostSample, Inventory, Isolation, Login, Shape, Stage, Task, WantedLimits,
};
use std::sync::Arc;
use std::time::Instant;

/// The allocation that must exist.
#[derive(Clone, Copy)]
pub struct Allocation<'a> {
    pub shape: Shape,
    pub gpus: &'a [GpuRef],
    pub login: &'a Login,
    pub self_test: bool,
    /// The driver's own measure where the task does not say.
    pub limits: Option<WantedLimits>,
}

/// Measured now; the age is added when it is sent.
#[derive(Clone, Debug)]
pub struct Readings {
    pub host: HostSample,
    pub gpus: Vec<GpuSample>,
}

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

pub trait Driver: Send + Sync + 'static {
    fn inventory(&self) -> impl Future<Output = Inventory> + Send;
    fn sample(&self) -> impl Future<Output = Option<Readings>> + Send;
    /// What was noticed since the last call.
    fn health(&self) -> impl Future<Output = Vec<HealthEvent>> + Send;

    fn ensure_allocation(&self, steps: &mut Steps, wanted: Allocation<'_>)
    -> impl Future<Output = Result<Done>> + Send;
    fn ensure_keys(&self, steps: &mut Steps, user: &str, keys: &[String]) -> impl Future<Output = Result<Done>> + Send;
    fn ensure_stopped(
        &self,
        steps: &mut Steps,
        user: &str,
        gpus: &[GpuRef],
    ) -> impl Future<Output = Result<Done>> + Send;
    fn ensure_gone(
        &self,
        steps: &mut Steps,
        user: &str,
        gpus: &[GpuRef],
        isolation: Isolation,
    ) -> impl Future<Output = Result<Done>> + Send;
    fn ensure_sanitized(&self, steps: &mut Steps) -> impl Future<Output = Result<Done>> + Send;
    /// None when the agent is about to be replaced: its successor reports.
    fn ensure_agent(&self, steps: &mut Steps, task: &Task) -> impl Future<Output = Result<Option<Done>>> + Send;

    /// How a stream runs something as the user of a login, which must be open.
    fn prepare(
        &self,
        user: &str,
        program: Program<'_>,
    ) -> impl Future<Output = std::result::Result<Prepared, Refused>> + Send;
    /// How a stream reaches a port on which the user of a login listens.
    fn connect(&self, user: &str, port: u16) -> impl Future<Output = std::result::Result<Way, Refused>> + Send;
}

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
