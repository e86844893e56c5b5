//! What goes wrong on a pretended host, and when.

use std::collections::HashMap;
use std::time::Duration;

/// Changes take effect with the next step.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// How long every step takes.
    pub latency: Duration,
    /// How long a named step takes instead.
    pub latency_of: HashMap<String, Duration>,
    pub failing: Option<Failing>,
    pub lie: Option<FalseReport>,
    /// Fails the self-test of every GPU.
    pub self_test_fails: bool,
    /// Without one the node cannot sanitize itself.
    pub wipe_script: bool,
    /// Leaves that many processes on the GPUs after cleaning.
    pub processes_left: u32,
}

/// Fails at a named step.
#[derive(Clone, Debug)]
pub struct Failing {
    pub step: String,
    pub code: String,
    pub retryable: bool,
    /// How many more times; it works again afterwards.
    pub times: u32,
}

impl Failing {
    pub fn at(step: &str, times: u32) -> Self {
        Self { step: step.into(), code: "scripted".into(), retryable: true, times }
    }
}

/// What a host may say that is not so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FalseReport {
    /// It has that many GPUs more than it enrolled with.
    MoreGpus(u32),
    /// Its GPUs have other UUIDs than before.
    OtherUuids,
    /// One GPU is listed twice.
    SlotTwice,
    /// It proves GPUs that it was not asked for.
    ForeignProof,
}

impl Script {
    pub(super) fn latency_of(&self, step: &str) -> Duration {
        self.latency_of.get(step).copied().unwrap_or(self.latency)
    }
}
