//! Allocations: GPUs that a project holds for a while.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Label, Name, Open, Page, Timestamp, Within, endpoint, event,
    id::{AllocationId, NodeId, OrganizationId, ProjectId, SkuId, SshKeyId},
    list_query, moved_event,
    organizations::Because,
    projects::ProjectPath,
    words,
};

endpoint! {
    /// Ask for GPUs.
    ///
    /// The answer is at once; the allocation is `active` when the hosts proved
    /// that the GPUs are there. What does not fit waits in a fair order.
    CreateAllocation = POST "/v1/projects/{project_id}/allocations" {
        path: ProjectPath,
        body: AllocationSpec,
        returns: 201 Allocation,
        auth: Project(AllocationsWrite),
        lane: Launch,
        idempotency: KeyRequired,
        audit: Action("allocation.create"),
        problems: [InsufficientFunds, InvalidValue, LimitReached, NotPriced, Conflict, Suspended],
    }
}

endpoint! {
    /// List the allocations of a project.
    ListAllocations = GET "/v1/projects/{project_id}/allocations" {
        path: ProjectPath,
        query: AllocationFilter,
        returns: 200 Page<Allocation>,
        auth: Project(AllocationsRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Read one allocation.
    GetAllocation = GET "/v1/projects/{project_id}/allocations/{allocation_id}" {
        path: AllocationPath,
        returns: 200 Allocation,
        auth: Project(AllocationsRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Explain why an allocation is in the state that it is in, and what would change it.
    ExplainAllocation = GET "/v1/projects/{project_id}/allocations/{allocation_id}/why" {
        path: AllocationPath,
        returns: 200 Explanation,
        auth: Project(AllocationsRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Release an allocation.
    ///
    /// Also accepted while its organization is suspended or closed.
    ReleaseAllocation = POST "/v1/projects/{project_id}/allocations/{allocation_id}/release" {
        path: AllocationPath,
        returns: 202 Allocation,
        auth: Project(AllocationsWrite),
        standing: Any,
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("allocation.release"),
        problems: [NotFound, Conflict],
    }
}

endpoint! {
    /// Stop what runs on an allocation.
    ///
    /// Nobody can sign in and what ran is ended; files stay. Its GPUs stay held
    /// for it, for `allocations.stopped_hours` at most: to let others have them,
    /// release it. Also accepted while its organization is suspended.
    StopAllocation = POST "/v1/projects/{project_id}/allocations/{allocation_id}/stop" {
        path: AllocationPath,
        returns: 202 Allocation,
        auth: Project(AllocationsWrite),
        standing: Any,
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("allocation.stop"),
        problems: [NotFound, Conflict],
    }
}

endpoint! {
    /// Start a stopped allocation again.
    ///
    /// It is `active` when the hosts proved its GPUs anew. A start that fails
    /// ends `stopped` again, and says why.
    StartAllocation = POST "/v1/projects/{project_id}/allocations/{allocation_id}/start" {
        path: AllocationPath,
        returns: 202 Allocation,
        auth: Project(AllocationsWrite),
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("allocation.start"),
        problems: [InsufficientFunds, InvalidValue, LimitReached, NotFound, NotPriced, Conflict, Suspended],
    }
}

endpoint! {
    /// Choose anew which public keys an allocation lets in.
    ///
    /// A stopped one lets them in when it is started.
    SetAllocationSshKeys = PUT "/v1/projects/{project_id}/allocations/{allocation_id}/ssh-keys" {
        path: AllocationPath,
        body: AllocationSshKeys,
        returns: 202 Allocation,
        auth: Project(AllocationsWrite),
        lane: Default,
        idempotency: Natural,
        audit: Action("allocation.set_ssh_keys"),
        problems: [NotFound, Conflict, InvalidValue, Suspended],
    }
}

endpoint! {
    /// List the allocations of every organization.
    ListAllAllocations = GET "/v1/platform/allocations" {
        query: AllAllocationsFilter,
        returns: 200 Page<Allocation>,
        auth: Platform(PlatformAllocationsRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.allocations.list"),
        problems: [],
    }
}

endpoint! {
    /// Take an allocation back, whatever its project wants.
    ///
    /// One that failed to be cleaned too often, or whose host is lost, ends here,
    /// with its slots quarantined.
    ForceReleaseAllocation = POST "/v1/platform/allocations/{allocation_id}/force-release" {
        path: AnyAllocationPath,
        body: Because,
        returns: 202 Allocation,
        auth: Platform(PlatformAllocationsWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("allocation.force_release"),
        problems: [NotFound, Conflict],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AllocationPath {
    pub project_id: ProjectId,
    pub allocation_id: AllocationId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AnyAllocationPath {
    pub allocation_id: AllocationId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocationSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// The SKU's name.
    pub sku: Label,
    /// GPUs per node; one of the counts that the SKU allows.
    pub gpus: Within<1, 64>,
    /// How many nodes, all or none.
    #[serde(default = "one")]
    pub nodes: Within<1, 256>,
    /// The region's name; any region when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Label>,
    /// Only nodes that share one fast network.
    #[serde(default)]
    pub same_fabric: bool,
    /// Keeps away from nodes that serve other allocations of this project with the same word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<Label>,
    /// Ends by itself after so many minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_minutes: Option<Within<1, 525_600>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    /// By name; a name is a label.
    #[schemars(extend("maxProperties" = 32))]
    pub tags: BTreeMap<String, TagValue>,
    /// The caller's public keys to let in; all of the caller's when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub ssh_keys: Option<Vec<SshKeyId>>,
}

fn one() -> Within<1, 256> {
    Within::new(1).expect("within the bounds")
}

text! {
    /// What a tag says.
    TagValue {
        schema: { "type": "string", "maxLength": 128, "pattern": r"^[^\x00-\x1f\x7f]*$" },
        rule: |text| text.chars().count() <= 128 && !text.chars().any(|it| it.is_ascii_control()),
        otherwise: "a tag's value has at most 128 characters on one line",
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocationSshKeys {
    /// Some of the caller's own keys.
    #[schemars(length(max = 32))]
    pub ssh_keys: Vec<SshKeyId>,
}

list_query! {
    AllocationFilter {
        /// Only allocations in this state; those that hold or want something when not said.
        state: AllocationState,
        /// Only those of this SKU.
        sku: Label,
        /// Only the one with this name.
        name: Name,
    }
}

list_query! {
    AllAllocationsFilter {
        /// Only allocations in this state; those that hold or want something when not said.
        state: AllocationState,
        /// Only those of this organization.
        organization_id: OrganizationId,
        /// Only those on this node.
        node_id: NodeId,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Allocation {
    pub id: AllocationId,
    pub organization_id: OrganizationId,
    pub project_id: ProjectId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    pub sku_id: SkuId,
    pub sku: Label,
    pub gpus: u16,
    pub nodes: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Label>,
    pub state: Open<AllocationState>,
    pub version: i64,
    pub state_since: Timestamp,
    /// What it waits for, or why it failed, ended or was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether a person has to look.
    pub needs_attention: bool,
    pub parts: Vec<AllocationPart>,
    /// The user to sign in as.
    pub login: String,
    #[schemars(with = "BTreeMap<String, TagValue>")]
    pub tags: BTreeMap<Label, TagValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ends_at: Option<Timestamp>,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// What an allocation has on one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllocationPart {
    pub node_id: NodeId,
    /// The name of the host to log in to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    pub gpus: Vec<String>,
    /// The last stage that the host finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    pub allocation_id: AllocationId,
    pub state: Open<AllocationState>,
    /// The rule that decides now, in a sentence.
    pub rule: String,
    /// The smallest change that would let it go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// How many others of the same organization wait before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_behind: Option<u32>,
    /// How many nodes were rejected for each reason.
    pub rejected: Vec<Rejection>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rejection {
    pub reason: String,
    pub nodes: u32,
}

words! {
    AllocationState {
        Requested = "requested",
        Provisioning = "provisioning",
        Active = "active",
        Stopping = "stopping",
        Stopped = "stopped",
        Starting = "starting",
        Releasing = "releasing",
        Released = "released",
        Failed = "failed",
        ReleaseFailed = "release_failed",
    }
}

event! {
    /// Somebody asked for GPUs.
    AllocationCreated = "allocation.created" { id: AllocationId, project_id: ProjectId, sku_id: SkuId, gpus: u16, nodes: u16 }
}
event! {
    /// An allocation lets in other public keys.
    AllocationKeysChanged = "allocation.ssh_keys_changed" { id: AllocationId, count: u32 }
}
event! {
    /// A node that it is on is being emptied; at the deadline it is released.
    AllocationDrainAnnounced = "allocation.drain_announced" {
        id: AllocationId, project_id: ProjectId, node_id: NodeId, deadline_at: Timestamp
    }
}
event! {
    /// A node that it is on is no longer being emptied; it stays.
    AllocationDrainCalledOff = "allocation.drain_called_off" { id: AllocationId, project_id: ProjectId, node_id: NodeId }
}
moved_event! {
    /// GPUs are reserved and are being prepared.
    AllocationPlaced = "allocation.placed"
}
moved_event! {
    /// Every host proved what it was asked for; it costs money from here on.
    AllocationProven = "allocation.proven"
}
moved_event! {
    /// A host could not prepare what it was asked for; what was done is taken back.
    AllocationProvisionFailed = "allocation.provision_failed"
}
moved_event! {
    /// It can never be placed.
    AllocationRejected = "allocation.rejected"
}
moved_event! {
    /// Its project gave it back.
    AllocationReleaseRequested = "allocation.release_requested"
}
moved_event! {
    /// Its project no longer waits for it.
    AllocationCanceled = "allocation.canceled"
}
moved_event! {
    /// Its lease ended.
    AllocationLeaseEnded = "allocation.lease_ended"
}
event! {
    /// Its lease ends soon.
    AllocationLeaseEnding = "allocation.lease_ending" { id: AllocationId, project_id: ProjectId, lease_ends_at: Timestamp }
}
moved_event! {
    /// Its project was deleted, or its organization was closed.
    AllocationProjectEnded = "allocation.project_ended"
}
event! {
    /// It has been stopped for long, and soon gives up its GPUs.
    AllocationStopEnding = "allocation.stop_ending" { id: AllocationId, project_id: ProjectId, ends_at: Timestamp }
}
moved_event! {
    /// It was stopped for longer than a policy allows.
    AllocationStopExpired = "allocation.stop_expired"
}
moved_event! {
    /// An operator took it back.
    AllocationForceReleased = "allocation.force_released"
}
moved_event! {
    /// The money for it ran out, and the grace is over.
    AllocationFundsExhausted = "allocation.funds_exhausted"
}
moved_event! {
    /// A node that it was on is lost.
    AllocationNodeLost = "allocation.node_lost"
}
moved_event! {
    /// Its slots are clean and free again.
    AllocationCleaned = "allocation.cleaned"
}
moved_event! {
    /// What a failed one had prepared is cleaned away.
    AllocationCompensated = "allocation.compensated"
}
moved_event! {
    /// A host could not clean it; its slots are quarantined.
    AllocationCleaningFailed = "allocation.cleaning_failed"
}
moved_event! {
    /// It is over, with slots that stay quarantined.
    AllocationAbandoned = "allocation.abandoned"
}
moved_event! {
    /// Somebody asked for it to be stopped.
    AllocationStopRequested = "allocation.stop_requested"
}
moved_event! {
    /// It is stopped and keeps its slots.
    AllocationStopped = "allocation.stopped"
}
moved_event! {
    /// Somebody asked for it to be started again.
    AllocationStartRequested = "allocation.start_requested"
}
moved_event! {
    /// A host could not start it; it is stopped again and keeps its slots.
    AllocationStartFailed = "allocation.start_failed"
}
