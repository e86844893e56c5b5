//! Machines: bare hosts of a MAAS server on their way to being nodes and back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Page, Reason, Timestamp, endpoint, event,
    id::{MachineId, NodeId, PoolId, ProviderId},
    list_query, moved_event,
    organizations::Because,
    words,
};

endpoint! {
    /// List the machines that MAAS servers supply.
    ListMachines = GET "/v1/platform/machines" {
        query: MachineFilter,
        returns: 200 Page<Machine>,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Read one machine.
    GetMachine = GET "/v1/platform/machines/{machine_id}" {
        path: MachinePath,
        returns: 200 Machine,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Retry a failed machine from the start, or bring a retired one back.
    ///
    /// If it is allocated in MAAS, it is erased and released first.
    RetryMachine = POST "/v1/platform/machines/{machine_id}/retry" {
        path: MachinePath,
        body: Because,
        returns: 202 Machine,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("machine.retry"),
        problems: [NotFound, Conflict],
    }
}

endpoint! {
    /// Erase a machine and return it to MAAS permanently.
    ///
    /// Its node must be empty.
    RetireMachine = POST "/v1/platform/machines/{machine_id}/retire" {
        path: MachinePath,
        body: Because,
        returns: 202 Machine,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("machine.retire"),
        problems: [NotFound, Conflict],
    }
}

endpoint! {
    /// Remove a failed machine here without contacting MAAS, for example when the hardware is gone.
    AbandonMachine = POST "/v1/platform/machines/{machine_id}/abandon" {
        path: MachinePath,
        body: Because,
        returns: 200 Machine,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("machine.abandon"),
        problems: [NotFound, Conflict],
    }
}

endpoint! {
    /// Turn a machine on or off, or query its power controller.
    ///
    /// The response is immediate; `power_wanted` is cleared once MAAS has done it or refused. Turning a
    /// machine off is refused while its node is in use, unless it is forced.
    PowerMachine = POST "/v1/platform/machines/{machine_id}/power" {
        path: MachinePath,
        body: MachinePowerSpec,
        returns: 202 Machine,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("machine.power"),
        problems: [NotFound, Conflict],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachinePowerSpec {
    pub action: MachinePowerAction,
    /// Turn it off even if its node is in use or accepts allocations.
    #[serde(default)]
    pub force: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MachinePath {
    pub machine_id: MachineId,
}

list_query! {
    MachineFilter {
        /// Only machines in this state. Default: all except retired ones.
        state: MachineState,
        /// Only machines of this provider.
        provider_id: ProviderId,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    pub id: MachineId,
    pub provider_id: ProviderId,
    pub pool_id: PoolId,
    /// Its id in MAAS.
    pub system_id: String,
    pub hostname: String,
    pub state: Open<MachineState>,
    pub version: i64,
    pub state_since: Timestamp,
    /// Its requested use.
    pub desired: Open<MachineDesired>,
    /// Its last status in MAAS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_at: Option<Timestamp>,
    /// Its last observed power state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<Open<MachinePower>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_at: Option<Timestamp>,
    /// The power change that an operator requested and that MAAS has not received yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_wanted: Option<Open<MachinePowerAction>>,
    /// The last power error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_error: Option<String>,
    /// How many installs were started since it last served.
    pub attempts: i32,
    /// Why the last install was aborted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The node that its agent enrolled as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    pub created_at: Timestamp,
}

words! {
    MachineState {
        /// Listed by MAAS and suitable; not allocated.
        Discovered = "discovered",
        /// It is being allocated in MAAS.
        Acquiring = "acquiring",
        /// MAAS deploys it.
        Deploying = "deploying",
        /// Deployed; its agent has not enrolled yet.
        Enrolling = "enrolling",
        /// Its agent enrolled as a node.
        InService = "in_service",
        /// It is being erased and released.
        Releasing = "releasing",
        /// It is erased and free in MAAS.
        Erased = "erased",
        /// It needs attention from a person.
        Failed = "failed",
        /// It is not used.
        Retired = "retired",
    }
}

words! {
    /// The requested use of a machine.
    MachineDesired { Serve = "serve", Retire = "retire" }
}

words! {
    /// The power state of a machine.
    MachinePower { On = "on", Off = "off", Unknown = "unknown" }
}

words! {
    /// A power action.
    MachinePowerAction {
        On = "on",
        Off = "off",
        /// Only query the state.
        Query = "query",
    }
}

event! {
    /// MAAS listed a suitable machine.
    MachineDiscovered = "machine.discovered", staff: PlatformFleetRead {
        id: MachineId,
        provider_id: ProviderId,
        system_id: String,
    }
}
moved_event! {
    /// A machine was selected for use.
    MachineAcquireRequested = "machine.acquire_requested", staff: PlatformFleetRead
}
moved_event! {
    /// A machine was allocated in MAAS.
    MachineAcquired = "machine.acquired", staff: PlatformFleetRead
}
moved_event! {
    /// The machine is allocated to somebody else or no longer suitable.
    MachineAcquireLost = "machine.acquire_lost", staff: PlatformFleetRead
}
moved_event! {
    /// MAAS deployed a machine.
    MachineDeployed = "machine.deployed", staff: PlatformFleetRead
}
moved_event! {
    /// MAAS could not deploy a machine; it is being released.
    MachineDeployFailed = "machine.deploy_failed", staff: PlatformFleetRead
}
moved_event! {
    /// The agent of a machine enrolled; the machine is that node.
    MachineEnrolled = "machine.enrolled", staff: PlatformFleetRead
}
moved_event! {
    /// The agent of a machine did not enroll in time; the machine is being released.
    MachineEnrollTimedOut = "machine.enroll_timed_out", staff: PlatformFleetRead
}
moved_event! {
    /// A machine is being erased and released.
    MachineReleaseRequested = "machine.release_requested", staff: PlatformFleetRead
}
moved_event! {
    /// A machine that should be free is allocated in MAAS; it is being released.
    MachineStrayFound = "machine.stray_found", staff: PlatformFleetRead
}
moved_event! {
    /// A machine was erased and is free.
    MachineErased = "machine.erased", staff: PlatformFleetRead
}
moved_event! {
    /// A machine was erased and released after its install failed too often.
    MachineCompensated = "machine.compensated", staff: PlatformFleetRead
}
moved_event! {
    /// MAAS could not erase or release a machine; it is still allocated.
    MachineReleaseFailed = "machine.release_failed", staff: PlatformFleetRead
}
moved_event! {
    /// Somebody released or reallocated a machine in MAAS.
    MachineLost = "machine.lost", staff: PlatformFleetRead
}
moved_event! {
    /// An operator requested a retry of a machine.
    MachineRetryRequested = "machine.retry_requested", staff: PlatformFleetRead
}
moved_event! {
    /// A machine was retired.
    MachineRetired = "machine.retired", staff: PlatformFleetRead
}
