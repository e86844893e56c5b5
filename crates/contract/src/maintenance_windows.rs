//! Maintenance windows: times in which nodes are out of service by plan, told
//! beforehand to the projects that have something there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Open, Page, Reason, Timestamp, endpoint, event,
    id::{MaintenanceWindowId, NodeId, PoolId, ProjectId},
    list_query, moved_event,
    organizations::{Because, OrganizationPath},
    words,
};

endpoint! {
    /// Plan a period in which a node, or every node of a pool, is out of service.
    ///
    /// Projects with allocations there are notified. Allocations that still run at the start are released.
    CreateMaintenanceWindow = POST "/v1/platform/maintenance-windows" {
        body: MaintenanceWindowSpec,
        returns: 201 MaintenanceWindow,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("maintenance_window.create"),
        problems: [InvalidValue],
    }
}

endpoint! {
    /// List maintenance windows.
    ListMaintenanceWindows = GET "/v1/platform/maintenance-windows" {
        query: MaintenanceWindowFilter,
        returns: 200 Page<MaintenanceWindow>,
        auth: Platform(PlatformFleetRead),
        lane: Admin,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Cancel a maintenance window; nodes that it drained return to service.
    CancelMaintenanceWindow = POST "/v1/platform/maintenance-windows/{maintenance_window_id}/cancel" {
        path: MaintenanceWindowPath,
        body: Because,
        returns: 202 MaintenanceWindow,
        auth: Platform(PlatformFleetWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("maintenance_window.cancel"),
        problems: [NotFound, Conflict],
    }
}

endpoint! {
    /// List the maintenance windows that affect projects of the organization.
    ListAnnouncedWindows = GET "/v1/organizations/{organization_id}/maintenance-windows" {
        path: OrganizationPath,
        query: AnnouncedWindowFilter,
        returns: 200 Page<AnnouncedWindow>,
        auth: Organization(AllocationsRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MaintenanceWindowPath {
    pub maintenance_window_id: MaintenanceWindowId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaintenanceWindowSpec {
    /// Either a node or a pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_id: Option<PoolId>,
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
    /// Sent to the affected projects.
    pub reason: Reason,
}

list_query! {
    MaintenanceWindowFilter {
        /// Only windows in this state.
        state: MaintenanceWindowState,
    }
}

list_query! {
    AnnouncedWindowFilter {
        /// Only windows in this state.
        state: MaintenanceWindowState,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MaintenanceWindow {
    pub id: MaintenanceWindowId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_id: Option<PoolId>,
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
    pub reason: Reason,
    pub state: Open<MaintenanceWindowState>,
    pub version: i64,
    pub created_at: Timestamp,
}

/// A maintenance window as affected projects see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnnouncedWindow {
    pub id: MaintenanceWindowId,
    /// The projects with current or past allocations there.
    pub project_ids: Vec<ProjectId>,
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
    pub reason: Reason,
    pub state: Open<MaintenanceWindowState>,
}

words! {
    MaintenanceWindowState {
        Planned = "planned",
        Active = "active",
        Over = "over",
        Canceled = "canceled",
    }
}

event! {
    /// An operator planned a maintenance window.
    MaintenanceWindowCreated = "maintenance_window.created", staff: PlatformFleetRead {
        id: MaintenanceWindowId,
        starts_at: Timestamp,
        ends_at: Timestamp,
    }
}
event! {
    /// A project has allocations on nodes that will be out of service.
    MaintenanceWindowAnnounced = "maintenance_window.announced", staff: PlatformFleetRead {
        id: MaintenanceWindowId, project_id: ProjectId, starts_at: Timestamp, ends_at: Timestamp, reason: Reason
    }
}
event! {
    /// A maintenance window of a project started; allocations on its nodes are released.
    MaintenanceWindowStartAnnounced = "maintenance_window.start_announced", staff: PlatformFleetRead {
        id: MaintenanceWindowId, project_id: ProjectId, starts_at: Timestamp, ends_at: Timestamp, reason: Reason
    }
}
event! {
    /// A maintenance window of a project ended.
    MaintenanceWindowEndAnnounced = "maintenance_window.end_announced", staff: PlatformFleetRead {
        id: MaintenanceWindowId, project_id: ProjectId, starts_at: Timestamp, ends_at: Timestamp, reason: Reason
    }
}
event! {
    /// A maintenance window of a project was canceled.
    MaintenanceWindowCancelAnnounced = "maintenance_window.cancel_announced", staff: PlatformFleetRead {
        id: MaintenanceWindowId, project_id: ProjectId, starts_at: Timestamp, ends_at: Timestamp, reason: Reason
    }
}
moved_event! {
    /// A maintenance window started; its nodes are being drained.
    MaintenanceWindowStarted = "maintenance_window.started", staff: PlatformFleetRead
}
moved_event! {
    /// A maintenance window ended; its nodes are back in service.
    MaintenanceWindowEnded = "maintenance_window.ended", staff: PlatformFleetRead
}
moved_event! {
    /// A maintenance window was canceled.
    MaintenanceWindowCanceled = "maintenance_window.canceled", staff: PlatformFleetRead
}
