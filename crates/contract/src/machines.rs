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
    /// Try a failed machine again from the start, or take a retired one back.
    ///
    /// What is held of it in MAAS is erased and given back before.
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
    /// Erase a machine and give it back to MAAS for good.
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
    /// Forget a failed machine without asking MAAS anything, such as one that burned down.
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
    /// Switch a machine on or off, or ask its own controller how it stands.
    ///
    /// The answer is at once; `power_wanted` is gone when MAAS did it or refused.
    /// Switching off is refused while somebody is on the machine's node, unless it is forced.
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
    /// Switch off although somebody is on its node, or may come.
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
        /// Only machines in this state; all but retired ones when not said.
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
    /// What MAAS calls it.
    pub system_id: String,
    pub hostname: String,
    pub state: Open<MachineState>,
    pub version: i64,
    pub state_since: Timestamp,
    /// What people want of it.
    pub desired: Open<MachineDesired>,
    /// What MAAS last said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_at: Option<Timestamp>,
    /// How its power was last seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<Open<MachinePower>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_at: Option<Timestamp>,
    /// What an operator wants done with its power and MAAS was not asked for yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_wanted: Option<Open<MachinePowerAction>>,
    /// Why that did not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_trouble: Option<String>,
    /// How often its hand-over was begun since it last served.
    pub attempts: i32,
    /// Why the last hand-over was broken off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The node that its agent enrolled as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    pub created_at: Timestamp,
}

words! {
    MachineState {
        /// MAAS has it and it fits; nothing of it is held.
        Discovered = "discovered",
        /// It is being allocated in MAAS.
        Acquiring = "acquiring",
        /// MAAS installs it.
        Deploying = "deploying",
        /// It is installed; its agent has not shown its token yet.
        Enrolling = "enrolling",
        /// Its agent enrolled as a node.
        InService = "in_service",
        /// It is being erased and given back.
        Releasing = "releasing",
        /// It is erased and free in MAAS.
        Erased = "erased",
        /// A person must look.
        Failed = "failed",
        /// It is not used, whatever MAAS says.
        Retired = "retired",
    }
}

words! {
    /// What people want of a machine.
    MachineDesired { Serve = "serve", Retire = "retire" }
}

words! {
    /// How the power of a machine stands.
    MachinePower { On = "on", Off = "off", Unknown = "unknown" }
}

words! {
    /// What can be done with the power of a machine.
    MachinePowerAction {
        On = "on",
        Off = "off",
        /// Only ask how it stands.
        Query = "query",
    }
}

event! {
    /// MAAS listed a machine that fits.
    MachineDiscovered = "machine.discovered" { id: MachineId, provider_id: ProviderId, system_id: String }
}
moved_event! {
    /// A machine is wanted.
    MachineAcquireRequested = "machine.acquire_requested"
}
moved_event! {
    /// A machine is allocated to us in MAAS.
    MachineAcquired = "machine.acquired"
}
moved_event! {
    /// Somebody else has the machine, or it no longer fits; nothing of it is held.
    MachineAcquireLost = "machine.acquire_lost"
}
moved_event! {
    /// MAAS installed a machine.
    MachineDeployed = "machine.deployed"
}
moved_event! {
    /// MAAS could not install a machine; it is given back.
    MachineDeployFailed = "machine.deploy_failed"
}
moved_event! {
    /// The agent of a machine enrolled; the machine is that node.
    MachineEnrolled = "machine.enrolled"
}
moved_event! {
    /// The agent of a machine did not enroll in time; the machine is given back.
    MachineEnrollTimedOut = "machine.enroll_timed_out"
}
moved_event! {
    /// A machine is to be erased and given back.
    MachineReleaseRequested = "machine.release_requested"
}
moved_event! {
    /// MAAS holds a machine for us that should be free; it is given back.
    MachineStrayFound = "machine.stray_found"
}
moved_event! {
    /// A machine was erased and is free.
    MachineErased = "machine.erased"
}
moved_event! {
    /// A machine was erased and given back after its hand-over failed too often.
    MachineCompensated = "machine.compensated"
}
moved_event! {
    /// MAAS could not erase a machine or give it back; it is still held.
    MachineReleaseFailed = "machine.release_failed"
}
moved_event! {
    /// Somebody took a machine away behind our back.
    MachineLost = "machine.lost"
}
moved_event! {
    /// An operator wants a machine tried again.
    MachineRetryRequested = "machine.retry_requested"
}
moved_event! {
    /// A machine is not used any more.
    MachineRetired = "machine.retired"
}
