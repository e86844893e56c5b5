//! Nodes: the hosts of the fleet and the GPUs on them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Page, Reason, Timestamp, Within,
    agents::AgentUpdateState,
    endpoint, event,
    id::{AllocationId, NodeId, OrganizationId, PoolId, RegionId, SlotId},
    list_query, moved_event,
    organizations::Because,
    pools::PoolProvider,
    words,
};

endpoint! {
    /// List the nodes of the fleet.
    ListNodes = GET "/v1/platform/nodes" {
        query: NodeFilter,
        returns: 200 Page<Node>,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Read one node with its slots.
    GetNode = GET "/v1/platform/nodes/{node_id}" {
        path: NodePath,
        returns: 200 NodeDetail,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Read the nodes that changed since a cursor.
    ///
    /// Call it without a cursor to get one, list the nodes, then call it with the cursor to get changes.
    ListNodeChanges = GET "/v1/platform/node-changes" {
        query: NodeChangesRange,
        returns: 200 NodeChanges,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Cordon a node: place nothing new on it. Running allocations continue.
    CordonNode = POST "/v1/platform/nodes/{node_id}/cordon" {
        path: NodePath,
        body: Because,
        returns: 202 Node,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("node.cordon"),
        problems: [NotFound, Conflict, InvalidValue],
    }
}

endpoint! {
    /// Uncordon a node: allow new placements again.
    UncordonNode = POST "/v1/platform/nodes/{node_id}/uncordon" {
        path: NodePath,
        body: Because,
        returns: 202 Node,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("node.uncordon"),
        problems: [NotFound, Conflict, InvalidValue],
    }
}

endpoint! {
    /// Drain a node: allocations that still run at the deadline are released.
    ///
    /// The node is `draining` until it is empty, then in `maintenance`.
    DrainNode = POST "/v1/platform/nodes/{node_id}/drain" {
        path: NodePath,
        body: DrainSpec,
        returns: 202 Node,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("node.drain"),
        problems: [NotFound, Conflict, InvalidValue],
    }
}

endpoint! {
    /// Return a node in maintenance, or a failed node, to service.
    RestoreNode = POST "/v1/platform/nodes/{node_id}/restore" {
        path: NodePath,
        body: Because,
        returns: 202 Node,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("node.restore"),
        problems: [NotFound, Conflict, InvalidValue],
    }
}

endpoint! {
    /// Attest that a node was sanitized or reinstalled; it can serve any organization again.
    AttestNode = POST "/v1/platform/nodes/{node_id}/attest" {
        path: NodePath,
        body: Because,
        returns: 202 Node,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("node.attest"),
        problems: [NotFound, Conflict, InvalidValue],
    }
}

endpoint! {
    /// Remove an empty node from the fleet permanently and revoke its certificate.
    ///
    /// A `lost` node does not have to be empty: its allocations end as of its last heartbeat, and its slots
    /// stay quarantined.
    RetireNode = POST "/v1/platform/nodes/{node_id}/retire" {
        path: NodePath,
        body: RetireSpec,
        returns: 202 Node,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("node.retire"),
        problems: [NotFound, Conflict, InvalidValue],
    }
}

endpoint! {
    /// Attest that a dirty or quarantined slot was cleaned; it can be assigned again.
    AttestSlot = POST "/v1/platform/nodes/{node_id}/slots/{slot_id}/attest" {
        path: SlotPath,
        body: Because,
        returns: 200 Slot,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("slot.attest"),
        problems: [NotFound, Conflict],
    }
}

text! {
    /// The host name, as the host reports it.
    HostName {
        schema: { "type": "string", "minLength": 1, "maxLength": 253, "pattern": r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$" },
        rule: |text| (1..=253).contains(&text.len())
            && text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-' || it == b'.')
            && !text.starts_with(['-', '.']) && !text.ends_with(['-', '.']),
        otherwise: "a host name has 1 to 253 small letters, digits, `-` or `.`, and neither starts nor ends with `-` or `.`",
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NodePath {
    pub node_id: NodeId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SlotPath {
    pub node_id: NodeId,
    pub slot_id: SlotId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrainSpec {
    /// Seconds until allocations that still run are released.
    pub deadline_seconds: Within<0, 2_592_000>,
    pub reason: Reason,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetireSpec {
    pub reason: Reason,
    /// The host will not come back: allocations on the node end immediately.
    #[serde(default)]
    pub lost: bool,
}

list_query! {
    NodeFilter {
        /// Only nodes in this state. Default: all except retired ones.
        state: NodeState,
        /// Only nodes of this health.
        health: NodeHealth,
        /// Only nodes of this region.
        region_id: RegionId,
        /// Only nodes of this pool.
        pool_id: PoolId,
        /// Only the node with this name.
        name: HostName,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    pub id: NodeId,
    pub name: String,
    pub region_id: RegionId,
    pub pool_id: PoolId,
    pub provider: Open<PoolProvider>,
    pub state: Open<NodeState>,
    pub version: i64,
    /// The observed health, independent of the state.
    pub health: Open<NodeHealth>,
    /// Why the health is not `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_reason: Option<String>,
    /// The organization that the node serves until it is sanitized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serves: Option<OrganizationId>,
    pub gpus: u32,
    pub gpus_free: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The requested agent version and the status of the update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_wanted: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_update: Option<Open<AgentUpdateState>>,
    /// Why the agent was not updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_update_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric_domain: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain_deadline_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

text! {
    /// The position in the changes. Opaque: only send back a value from an earlier response.
    ChangeMark {
        schema: { "type": "string", "pattern": "^[0-9]{1,18}$" },
        rule: |text| (1..=18).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit()),
        otherwise: "not a mark; send the `mark` of an earlier answer",
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeChangesRange {
    /// The cursor from the previous response. Without one, the response contains only a cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ChangeMark>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeChanges {
    /// Send it as `after` the next time.
    pub mark: ChangeMark,
    /// Their current state, including retired nodes. Unchanged nodes may be included.
    pub nodes: Vec<Node>,
    /// Too many changes for one response: list the nodes again.
    pub is_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeDetail {
    pub node: Node,
    pub slots: Vec<Slot>,
    /// The inventory that the host reported; absent until it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<NodeHost>,
    /// Its certificates, newest first.
    #[serde(default)]
    pub certificates: Vec<NodeCertificate>,
    /// Its latest tasks, newest first.
    #[serde(default)]
    pub tasks: Vec<NodeTask>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeHost {
    pub os: String,
    pub kernel: String,
    pub cpus: u32,
    pub memory_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeCertificate {
    pub serial: String,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeTask {
    pub id: uuid::Uuid,
    /// What the node has to do.
    pub verb: String,
    /// The kind of its resource, as in the work queue.
    pub kind: String,
    pub subject_id: uuid::Uuid,
    pub state: Open<NodeTaskState>,
    /// Why it failed or was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_at: Option<Timestamp>,
}

words! {
    NodeTaskState {
        /// Not delivered to the node yet.
        Waiting = "waiting",
        /// Delivered; the node has not reported yet.
        Delivered = "delivered",
        Done = "done",
        Failed = "failed",
        /// The node refused it.
        Refused = "refused",
        /// It expired.
        Expired = "expired",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slot {
    pub id: SlotId,
    pub index: u32,
    pub gpu_uuid: String,
    pub pci: String,
    pub model: String,
    pub memory_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<String>,
    pub nvme: Vec<String>,
    pub condition: Open<SlotCondition>,
    /// Why it is quarantined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<AllocationId>,
}

words! {
    NodeState {
        Enrolling = "enrolling",
        Ready = "ready",
        Cordoned = "cordoned",
        Draining = "draining",
        Maintenance = "maintenance",
        Sanitizing = "sanitizing",
        Failed = "failed",
        Retired = "retired",
    }
}

words! {
    /// The observed health of a node.
    NodeHealth {
        /// It never connected.
        Unknown = "unknown",
        Ok = "ok",
        /// The host reports a problem.
        Degraded = "degraded",
        /// It sent no heartbeat for too long.
        Silent = "silent",
        /// It reported something that cannot be true.
        Lying = "lying",
    }
}

words! {
    /// The condition of a slot.
    SlotCondition {
        Clean = "clean",
        /// Used and not sanitized yet.
        Dirty = "dirty",
        /// Cleanup or the GPU failed; needs attention from a person.
        Quarantined = "quarantined",
        /// The host no longer reports it.
        Missing = "missing",
    }
}

event! {
    /// A host enrolled and became a node.
    NodeCreated = "node.created", staff: PlatformFleetRead { id: NodeId, pool_id: PoolId, name: String }
}
event! {
    /// The health of a node changed.
    NodeHealthChanged = "node.health_changed", staff: PlatformFleetRead {
        id: NodeId,
        health: Open<NodeHealth>,
        reason: Option<String>,
    }
}
event! {
    /// The certificates of a node were revoked; it must enroll again.
    NodeCertificatesRevoked = "node.certificates_revoked", staff: PlatformFleetRead { id: NodeId }
}
event! {
    /// The condition of a slot changed.
    SlotConditionChanged = "node.slot_condition_changed", staff: PlatformFleetRead {
        id: NodeId,
        slot_id: SlotId,
        condition: Open<SlotCondition>,
    }
}
moved_event! {
    /// A node reported its inventory and can be used.
    NodeEnrolled = "node.enrolled", staff: PlatformFleetRead
}
moved_event! {
    /// A node was cordoned; nothing new is placed on it.
    NodeCordoned = "node.cordoned", staff: PlatformFleetRead
}
moved_event! {
    /// A node was uncordoned; it accepts new allocations.
    NodeUncordoned = "node.uncordoned", staff: PlatformFleetRead
}
moved_event! {
    /// A node is being drained.
    NodeDrainRequested = "node.drain_requested", staff: PlatformFleetRead
}
moved_event! {
    /// A node is empty.
    NodeDrained = "node.drained", staff: PlatformFleetRead
}
moved_event! {
    /// A node is back in service.
    NodeRestored = "node.restored", staff: PlatformFleetRead
}
moved_event! {
    /// A node must be sanitized before it serves another organization.
    NodeSanitizeRequested = "node.sanitize_requested", staff: PlatformFleetRead
}
moved_event! {
    /// A node was sanitized; it can serve any organization.
    NodeSanitized = "node.sanitized", staff: PlatformFleetRead
}
moved_event! {
    /// A node failed and needs attention from a person.
    NodeFailed = "node.failed", staff: PlatformFleetRead
}
moved_event! {
    /// A node was retired.
    NodeRetired = "node.retired", staff: PlatformFleetRead
}
