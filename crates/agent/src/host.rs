//! The host itself, apart from what runs on it for allocations: what it is made of,
//! how it fares, wiping it, and replacing its agent.

use crate::steps::{Result, Steps};
use crate::workloads::Workloads;
use protocol::{Done, GpuSample, HealthEvent, HostSample, Inventory, Task};

/// Measured now; the age is added when it is sent.
#[derive(Clone, Debug)]
pub struct Readings {
    pub host: HostSample,
    pub gpus: Vec<GpuSample>,
}

/// Every method ensures a state: it may be called again after it was cut short at any
/// step.
pub trait Host: Send + Sync + 'static {
    fn inventory(&self) -> impl Future<Output = Inventory> + Send;
    fn sample(&self) -> impl Future<Output = Option<Readings>> + Send;
    /// What was noticed since the last call.
    fn health(&self) -> impl Future<Output = Vec<HealthEvent>> + Send;
    /// The host is wiped, and nothing of any of its workloads was seen afterwards.
    fn sanitize(&self, steps: &mut Steps, workloads: &Workloads) -> impl Future<Output = Result<Done>> + Send;
    /// None when the agent is about to be replaced: its successor reports.
    fn update(&self, steps: &mut Steps, task: &Task) -> impl Future<Output = Result<Option<Done>>> + Send;
}
