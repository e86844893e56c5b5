//! Telemetry: what hosts measured of themselves and their GPUs, at full rate
//! for a short while, then by minute and by hour.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Timestamp,
    allocations::AllocationPath,
    endpoint,
    id::{AllocationId, NodeId, SlotId},
    nodes::NodePath,
    words,
};

endpoint! {
    /// Read what a node measured of itself and its GPUs.
    GetNodeTelemetry = GET "/v1/platform/nodes/{node_id}/telemetry" {
        path: NodePath,
        query: TelemetryRange,
        returns: 200 NodeTelemetry,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound, InvalidValue],
    }
}

endpoint! {
    /// Read what was measured of an allocation's GPUs while it held them.
    ///
    /// Minutes and hours count only when the allocation held the GPUs for all of them.
    GetAllocationTelemetry = GET "/v1/projects/{project_id}/allocations/{allocation_id}/telemetry" {
        path: AllocationPath,
        query: AllocationTelemetryRange,
        returns: 200 AllocationTelemetry,
        auth: Project(AllocationsRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound, InvalidValue],
    }
}

words! {
    /// How much time one point stands for.
    Resolution {
        /// One sample; kept for a short while.
        Raw = "raw",
        Minute = "minute",
        Hour = "hour",
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TelemetryRange {
    /// How much time one point stands for; a minute when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// From when on; ten minutes of samples, six hours of minutes or a week of hours when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Until when, without that moment itself; until now when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocationTelemetryRange {
    /// How much time one point stands for; a minute when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// From when on; ten minutes of samples, six hours of minutes or a week of hours when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Until when, without that moment itself; until now when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Only the GPUs on this node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeTelemetry {
    pub node_id: NodeId,
    pub resolution: Open<Resolution>,
    pub since: Timestamp,
    pub until: Timestamp,
    /// Oldest first.
    pub host: Vec<HostPoint>,
    pub gpus: Vec<GpuSeries>,
    /// Where to go on when the answer would have been too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_since: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllocationTelemetry {
    pub allocation_id: AllocationId,
    pub resolution: Open<Resolution>,
    pub since: Timestamp,
    pub until: Timestamp,
    pub gpus: Vec<GpuSeries>,
    /// Where to go on when the answer would have been too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_since: Option<Timestamp>,
}

/// What a host was like from a moment on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostPoint {
    pub at: Timestamp,
    /// How many samples it stands for.
    pub samples: u64,
    pub cpu_percent_avg: u32,
    pub cpu_percent_max: u32,
    pub memory_used_bytes_avg: u64,
    pub memory_used_bytes_max: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuSeries {
    pub node_id: NodeId,
    pub slot_id: SlotId,
    pub index: u32,
    pub gpu_uuid: String,
    /// Oldest first.
    pub points: Vec<GpuPoint>,
}

/// What a GPU was like from a moment on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuPoint {
    pub at: Timestamp,
    /// How many samples it stands for.
    pub samples: u64,
    pub utilization_percent_avg: u32,
    pub utilization_percent_max: u32,
    pub memory_used_bytes_avg: u64,
    pub memory_used_bytes_max: u64,
    pub temperature_c_avg: i32,
    pub temperature_c_max: i32,
    pub power_mw_avg: u32,
    pub power_mw_max: u32,
}
