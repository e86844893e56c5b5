//! Organizations: the tenants. Everything that is owned is owned by one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Name, Open, Page, Reason, Role, Timestamp, endpoint, event, id::OrganizationId, list_query, moved_event,
    projects::EndingPreview, words,
};

endpoint! {
    /// Create an organization and become its owner.
    CreateOrganization = POST "/v1/organizations" {
        body: OrganizationSpec,
        returns: 201 Organization,
        auth: Person,
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("organization.create"),
        problems: [SelfServiceOff, LimitReached],
    }
}

endpoint! {
    /// List the organizations that the caller belongs to.
    ListOrganizations = GET "/v1/organizations" {
        query: OrganizationFilter,
        returns: 200 Page<Organization>,
        auth: SignedIn,
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Read one organization.
    GetOrganization = GET "/v1/organizations/{organization_id}" {
        path: OrganizationPath,
        returns: 200 Organization,
        auth: Organization(OrganizationRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Rename an organization.
    RenameOrganization = PATCH "/v1/organizations/{organization_id}" {
        path: OrganizationPath,
        body: OrganizationSpec,
        returns: 200 Organization,
        auth: Organization(OrganizationWrite),
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("organization.rename"),
        problems: [NotFound, Conflict, Suspended],
    }
}

endpoint! {
    /// Preview what closing an organization would end.
    PreviewOrganizationClosing = GET "/v1/organizations/{organization_id}/closing-preview" {
        path: OrganizationPath,
        returns: 200 EndingPreview,
        auth: Organization(OrganizationRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Close an organization permanently; its projects and everything in them are deleted.
    CloseOrganization = DELETE "/v1/organizations/{organization_id}" {
        path: OrganizationPath,
        returns: 202 Organization,
        auth: Organization(OrganizationClose),
        organization_states: Any,
        lane: Default,
        idempotency: Natural,
        audit: Action("organization.close"),
        problems: [NotFound, Conflict],
    }
}

endpoint! {
    /// List every organization of the platform.
    ListAllOrganizations = GET "/v1/platform/organizations" {
        query: OrganizationFilter,
        returns: 200 Page<Organization>,
        auth: Platform(PlatformOrganizationsRead),
        lane: Admin,
        idempotency: Natural,
        audit: AuditedRead("platform.organizations.list"),
        problems: [],
    }
}

endpoint! {
    /// Suspend an organization and stop its allocations.
    ///
    /// Nothing is placed or started for it. Members can read, stop and release.
    SuspendOrganization = POST "/v1/platform/organizations/{organization_id}/suspend" {
        path: OrganizationPath,
        body: Because,
        returns: 200 Organization,
        auth: Platform(PlatformOrganizationsWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("organization.suspend"),
        problems: [NotFound, Conflict],
    }
}

endpoint! {
    /// Lift an organization's suspension.
    ResumeOrganization = POST "/v1/platform/organizations/{organization_id}/resume" {
        path: OrganizationPath,
        body: Because,
        returns: 200 Organization,
        auth: Platform(PlatformOrganizationsWrite),
        lane: Admin,
        idempotency: KeyRequired,
        audit: Action("organization.resume"),
        problems: [NotFound, Conflict],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OrganizationPath {
    pub organization_id: OrganizationId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrganizationSpec {
    pub name: Name,
}

/// The operator's reason.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Because {
    pub reason: Reason,
}

list_query! {
    OrganizationFilter {
        /// Only organizations in this state. Default: all except closed ones.
        state: OrganizationState,
        /// Only organizations with this name.
        name: Name,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Organization {
    pub id: OrganizationId,
    pub name: Name,
    pub state: Open<OrganizationState>,
    /// The caller's role in it; absent for platform staff.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub role: Option<Open<Role>>,
    pub version: i64,
    pub created_at: Timestamp,
}

words! { OrganizationState { Active = "active", Suspended = "suspended", Closed = "closed" } }

event! {
    /// An organization was created.
    OrganizationCreated = "organization.created", staff: PlatformOrganizationsRead { id: OrganizationId, name: Name }
}
event! {
    /// An organization was renamed.
    OrganizationRenamed = "organization.renamed", staff: PlatformOrganizationsRead { id: OrganizationId, name: Name }
}
moved_event! {
    /// Platform staff suspended an organization.
    OrganizationSuspended = "organization.suspended", staff: PlatformOrganizationsRead
}
moved_event! {
    /// An organization's suspension was lifted.
    OrganizationResumed = "organization.resumed", staff: PlatformOrganizationsRead
}
moved_event! {
    /// An organization was closed.
    OrganizationClosed = "organization.closed", staff: PlatformOrganizationsRead
}
