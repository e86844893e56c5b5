//! What a host measures and what it noticed, as it travels with a poll. Integers
//! only, and ages instead of dates: a host's clock is never believed.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// How long before the poll was sent.
    pub at_ms_ago: u32,
    pub host: HostSample,
    pub gpus: Vec<GpuSample>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSample {
    pub cpu_percent: u32,
    pub memory_used_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuSample {
    pub uuid: String,
    pub utilization_percent: u32,
    pub memory_used_bytes: u64,
    pub temperature_c: i32,
    pub power_mw: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthEvent {
    /// The GPU it is about; none for the host as a whole.
    #[serde(default)]
    pub gpu: Option<String>,
    pub kind: HealthKind,
    #[serde(default)]
    pub code: Option<i64>,
    pub detail: String,
    /// Whether nothing should be placed there until it is seen to.
    pub fatal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HealthKind {
    Xid,
    Ecc,
    GpuLost,
    Driver,
    Disk,
    Recovered,
}
