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
    /// Read the metrics of a node and its GPUs.
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
    /// Read the metrics of an allocation's GPUs for the time that it had them.
    ///
    /// Minutes and hours are only included if the allocation had the GPUs for all of it.
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
    /// The resolution of a point.
    Resolution {
        /// One sample; stored for a short time.
        Raw = "raw",
        Minute = "minute",
        Hour = "hour",
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TelemetryRange {
    /// The resolution. Default: a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// The start. Default: ten minutes of samples, six hours of minutes or a week of hours before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The end, exclusive. Default: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocationTelemetryRange {
    /// The resolution. Default: a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// The start. Default: ten minutes of samples, six hours of minutes or a week of hours before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The end, exclusive. Default: now.
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
    /// Where to continue if the response was truncated.
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
    /// Where to continue if the response was truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_since: Option<Timestamp>,
}

/// The metrics of a host from a time on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostPoint {
    pub at: Timestamp,
    /// How many samples it aggregates.
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

/// The metrics of a GPU from a time on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuPoint {
    pub at: Timestamp,
    /// How many samples it aggregates.
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
