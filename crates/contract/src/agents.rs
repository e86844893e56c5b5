//! Agents: the program that runs on every node, which versions of it are
//! served, and replacing it on a node or in a whole pool.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Nothing, Reason, endpoint, event,
    id::{AgentUpdateId, NodeId, PoolId},
    moved_event,
    nodes::{Node, NodePath},
    organizations::Because,
    pools::PoolPath,
    words,
};

endpoint! {
    /// List the available agent versions, newest first.
    ListAgents = GET "/v1/platform/agents" {
        returns: 200 Agents,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Update the agent of a node to another version.
    ///
    /// Running allocations continue. If the new agent does not report, the old one is restored.
    UpdateNode = POST "/v1/platform/nodes/{node_id}/update" {
        path: NodePath,
        body: AgentUpdateSpec,
        returns: 202 Node,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("node.update"),
        problems: [NotFound, Conflict, InvalidValue],
    }
}

endpoint! {
    /// Update the agents of a pool, a few nodes at a time.
    ///
    /// The update stops automatically when one of them fails or is rolled back.
    UpdatePool = POST "/v1/platform/pools/{pool_id}/update" {
        path: PoolPath,
        body: AgentUpdateSpec,
        returns: 202 PoolUpdate,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("pool.update"),
        problems: [NotFound, Conflict, InvalidValue],
    }
}

endpoint! {
    /// Cancel the updates of a pool that have not started.
    StopPoolUpdate = POST "/v1/platform/pools/{pool_id}/update/stop" {
        path: PoolPath,
        body: Because,
        returns: 202 Nothing,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("pool.stop_update"),
        problems: [NotFound],
    }
}

text! {
    /// The version of an agent.
    AgentVersion {
        schema: { "type": "string", "minLength": 1, "maxLength": 64, "pattern": r"^[A-Za-z0-9_+-][A-Za-z0-9._+-]*$" },
        rule: |text| (1..=64).contains(&text.len()) && !text.starts_with('.')
            && text.bytes().all(|it| it.is_ascii_alphanumeric() || b"._-+".contains(&it)),
        otherwise: "a version has 1 to 64 letters, digits, `.`, `_`, `-` or `+`, and does not start with `.`",
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentUpdateSpec {
    /// Default: the newest available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<AgentVersion>,
    pub reason: Reason,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agents {
    pub items: Vec<Agent>,
}

/// An available agent version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    pub version: String,
    /// The platform that it runs on.
    pub target: String,
    pub size_bytes: u64,
    pub sha256: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PoolUpdate {
    pub pool_id: PoolId,
    pub version: String,
    /// How many nodes are updated; the others run it already.
    pub nodes: u32,
}

words! {
    /// The status of a node's latest agent update.
    AgentUpdateState {
        /// Waiting for other nodes of the pool, or for a silent node.
        Waiting = "waiting",
        /// The node was notified.
        Updating = "updating",
        /// The new agent reported.
        Updated = "updated",
        /// The new agent did not report; the old one runs again.
        RolledBack = "rolled_back",
        /// The new agent never ran.
        Failed = "failed",
        /// It was canceled before it started.
        Stopped = "stopped",
    }
}

event! {
    /// An agent update of a node was requested.
    NodeUpdateRequested = "agent_update.requested", staff: PlatformFleetRead {
        id: AgentUpdateId,
        node_id: NodeId,
        version: String,
    }
}
event! {
    /// An agent update of a pool was requested.
    PoolUpdateRequested = "agent_update.pool_requested", staff: PlatformFleetRead {
        pool_id: PoolId,
        version: String,
        nodes: u32,
    }
}
moved_event! {
    /// A node was notified to update its agent.
    AgentUpdateOrdered = "agent_update.ordered", staff: PlatformFleetRead
}
moved_event! {
    /// The new agent of a node reported.
    AgentUpdated = "agent_update.updated", staff: PlatformFleetRead
}
moved_event! {
    /// The new agent of a node did not report; the old one runs again.
    AgentRolledBack = "agent_update.rolled_back", staff: PlatformFleetRead
}
moved_event! {
    /// A node could not update its agent.
    AgentUpdateFailed = "agent_update.failed", staff: PlatformFleetRead
}
moved_event! {
    /// The agent update of a node was canceled before it started.
    AgentUpdateStopped = "agent_update.stopped", staff: PlatformFleetRead
}
