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
    /// Request GPUs.
    ///
    /// The response is immediate. The allocation is `active` once its hosts have proved the GPUs. A request
    /// that does not fit waits in a fair queue.
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
    /// Explain why an allocation is in its state, and what would change it.
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
    /// Also works while the organization is suspended or closed.
    ReleaseAllocation = POST "/v1/projects/{project_id}/allocations/{allocation_id}/release" {
        path: AllocationPath,
        returns: 202 Allocation,
        auth: Project(AllocationsWrite),
        organization_states: Any,
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("allocation.release"),
        problems: [NotFound, Conflict],
    }
}

endpoint! {
    /// Stop an allocation.
    ///
    /// Logins and processes end; files stay. The GPUs stay reserved for `allocations.stopped_hours` at most;
    /// release the allocation to free them. Also works while the organization is suspended.
    StopAllocation = POST "/v1/projects/{project_id}/allocations/{allocation_id}/stop" {
        path: AllocationPath,
        returns: 202 Allocation,
        auth: Project(AllocationsWrite),
        organization_states: Any,
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("allocation.stop"),
        problems: [NotFound, Conflict],
    }
}

endpoint! {
    /// Start a stopped allocation again.
    ///
    /// The allocation is `active` once its hosts have proved the GPUs again. If the start fails, it is
    /// `stopped` again, with a reason.
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
    /// Replace the public keys that an allocation accepts.
    ///
    /// A stopped allocation accepts them once it is started.
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
    /// Force the release of an allocation.
    ///
    /// An allocation whose cleanup failed too often, or whose host is lost, ends with its slots quarantined.
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
    /// The number of nodes. All of them are placed together, or none.
    #[serde(default = "one")]
    pub nodes: Within<1, 256>,
    /// The region's name. Default: any region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Label>,
    /// Only nodes that share one fast network.
    #[serde(default)]
    pub same_fabric: bool,
    /// Anti-affinity: never shares a node with other allocations of this project that have the same word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_group: Option<Label>,
    /// Released automatically after this many minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_minutes: Option<Within<1, 525_600>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    /// By name; a name is a label.
    #[schemars(extend("maxProperties" = 32))]
    pub tags: BTreeMap<String, TagValue>,
    /// The caller's public keys to accept. Default: all of the caller's keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub ssh_keys: Option<Vec<SshKeyId>>,
}

fn one() -> Within<1, 256> {
    Within::new(1).expect("within the bounds")
}

text! {
    /// The value of a tag.
    TagValue {
        schema: { "type": "string", "maxLength": 128, "pattern": r"^[^\x00-\x1f\x7f]*$" },
        rule: |text| text.chars().count() <= 128 && !text.chars().any(|it| it.is_ascii_control()),
        otherwise: "a tag's value has at most 128 characters on one line",
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocationSshKeys {
    /// Keys of the caller.
    #[schemars(length(max = 32))]
    pub ssh_keys: Vec<SshKeyId>,
}

list_query! {
    AllocationFilter {
        /// Only allocations in this state. Default: all that have or request capacity.
        state: AllocationState,
        /// Only those of this SKU.
        sku: Label,
        /// Only the one with this name.
        name: Name,
    }
}

list_query! {
    AllAllocationsFilter {
        /// Only allocations in this state. Default: all that have or request capacity.
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
    /// What it waits for, or why it failed, ended or stopped. A sentence for people, whose wording may change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<Open<AllocationReason>>,
    /// Whether it needs attention from a person.
    pub needs_attention: bool,
    pub parts: Vec<AllocationPart>,
    /// The user name for logins.
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

/// The part of an allocation on one node.
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
    /// The rule that applies now, as a sentence.
    pub rule: String,
    /// The smallest change that would let it proceed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// How many requests of the same organization are ahead in the queue.
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

words! {
    /// Why an allocation is in its state.
    AllocationReason {
        Suspended = "suspended",
        /// Other organizations hold less and wait for the same.
        NotItsTurn = "not_its_turn",
        /// Older requests of its organization wait for the same.
        OlderRequests = "older_requests",
        NoRoom = "no_room",
        /// No fleet could ever hold it.
        NeverFits = "never_fits",
        /// A host could not complete its task.
        TaskFailed = "task_failed",
        StartFailed = "start_failed",
        KeysNotWritten = "keys_not_written",
        /// A host that could not sanitize it is back online and tries again.
        SanitizedAgain = "sanitized_again",
        LeaseEnded = "lease_ended",
        StoppedTooLong = "stopped_too_long",
        StoppedByProject = "stopped_by_project",
        ReleasedByProject = "released_by_project",
        ProjectDeleted = "project_deleted",
        OutOfFunds = "out_of_funds",
        ForceReleased = "force_released",
        NodeDrained = "node_drained",
        NodeLost = "node_lost",
        Unknown = "unknown",
    }
}

event! {
    /// GPUs were requested.
    AllocationCreated = "allocation.created", staff: PlatformAllocationsRead {
        id: AllocationId,
        project_id: ProjectId,
        sku_id: SkuId,
        gpus: u16,
        nodes: u16,
    }
}
event! {
    /// The public keys of an allocation changed.
    AllocationKeysChanged = "allocation.ssh_keys_changed", staff: PlatformAllocationsRead {
        id: AllocationId,
        count: u32,
    }
}
event! {
    /// One of its nodes is being drained; at the deadline the allocation is released.
    AllocationDrainAnnounced = "allocation.drain_announced", staff: PlatformAllocationsRead {
        id: AllocationId, project_id: ProjectId, node_id: NodeId, deadline_at: Timestamp
    }
}
event! {
    /// The drain of one of its nodes was canceled; the allocation stays.
    AllocationDrainCalledOff = "allocation.drain_called_off", staff: PlatformAllocationsRead {
        id: AllocationId,
        project_id: ProjectId,
        node_id: NodeId,
    }
}
moved_event! {
    /// GPUs are reserved and are being prepared.
    AllocationPlaced = "allocation.placed", staff: PlatformAllocationsRead
}
moved_event! {
    /// Every host proved its part; charging starts.
    AllocationProven = "allocation.proven", staff: PlatformAllocationsRead
}
moved_event! {
    /// A host could not prepare it; completed steps are rolled back.
    AllocationProvisionFailed = "allocation.provision_failed", staff: PlatformAllocationsRead
}
moved_event! {
    /// It can never be placed.
    AllocationRejected = "allocation.rejected", staff: PlatformAllocationsRead
}
moved_event! {
    /// Its project requested the release.
    AllocationReleaseRequested = "allocation.release_requested", staff: PlatformAllocationsRead
}
moved_event! {
    /// Its project canceled the request.
    AllocationCanceled = "allocation.canceled", staff: PlatformAllocationsRead
}
moved_event! {
    /// Its lease ended.
    AllocationLeaseEnded = "allocation.lease_ended", staff: PlatformAllocationsRead
}
event! {
    /// Its lease ends soon.
    AllocationLeaseEnding = "allocation.lease_ending", staff: PlatformAllocationsRead {
        id: AllocationId,
        project_id: ProjectId,
        lease_ends_at: Timestamp,
    }
}
moved_event! {
    /// Its project was deleted, or its organization was closed.
    AllocationProjectEnded = "allocation.project_ended", staff: PlatformAllocationsRead
}
event! {
    /// It has been stopped for a long time and will be released soon.
    AllocationStopEnding = "allocation.stop_ending", staff: PlatformAllocationsRead {
        id: AllocationId,
        project_id: ProjectId,
        ends_at: Timestamp,
    }
}
moved_event! {
    /// It was stopped for longer than a policy allows.
    AllocationStopExpired = "allocation.stop_expired", staff: PlatformAllocationsRead
}
moved_event! {
    /// An operator forced the release.
    AllocationForceReleased = "allocation.force_released", staff: PlatformAllocationsRead
}
moved_event! {
    /// The wallet is empty and the grace period is over.
    AllocationFundsExhausted = "allocation.funds_exhausted", staff: PlatformAllocationsRead
}
moved_event! {
    /// One of its nodes is lost.
    AllocationNodeLost = "allocation.node_lost", staff: PlatformAllocationsRead
}
moved_event! {
    /// Its slots are clean and free again.
    AllocationCleaned = "allocation.cleaned", staff: PlatformAllocationsRead
}
moved_event! {
    /// Cleanup after a failed allocation is complete.
    AllocationCompensated = "allocation.compensated", staff: PlatformAllocationsRead
}
moved_event! {
    /// A host could not clean up; the slots are quarantined.
    AllocationCleaningFailed = "allocation.cleaning_failed", staff: PlatformAllocationsRead
}
moved_event! {
    /// It ended, and its slots stay quarantined.
    AllocationAbandoned = "allocation.abandoned", staff: PlatformAllocationsRead
}
moved_event! {
    /// A stop was requested.
    AllocationStopRequested = "allocation.stop_requested", staff: PlatformAllocationsRead
}
moved_event! {
    /// It is stopped and keeps its slots.
    AllocationStopped = "allocation.stopped", staff: PlatformAllocationsRead
}
moved_event! {
    /// A start was requested.
    AllocationStartRequested = "allocation.start_requested", staff: PlatformAllocationsRead
}
moved_event! {
    /// A host could not start it; it is stopped again and keeps its slots.
    AllocationStartFailed = "allocation.start_failed", staff: PlatformAllocationsRead
}
