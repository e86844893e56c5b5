//! Projects: what an organization groups its work under.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Name, Open, Page, Timestamp, endpoint, event,
    id::{OrganizationId, ProjectId},
    list_query, moved_event,
    organizations::OrganizationPath,
    prices::CurrencyCode,
    words,
};

endpoint! {
    /// Create a project.
    CreateProject = POST "/v1/organizations/{organization_id}/projects" {
        path: OrganizationPath,
        body: ProjectSpec,
        returns: 201 Project,
        auth: Organization(ProjectsWrite),
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("project.create"),
        problems: [NameTaken, LimitReached, Suspended],
    }
}

endpoint! {
    /// List the projects of an organization.
    ListProjects = GET "/v1/organizations/{organization_id}/projects" {
        path: OrganizationPath,
        query: ProjectFilter,
        returns: 200 Page<Project>,
        auth: Organization(ProjectsRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Read one project.
    GetProject = GET "/v1/projects/{project_id}" {
        path: ProjectPath,
        returns: 200 Project,
        auth: Project(ProjectsRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Rename a project.
    RenameProject = PATCH "/v1/projects/{project_id}" {
        path: ProjectPath,
        body: ProjectSpec,
        returns: 200 Project,
        auth: Project(ProjectsWrite),
        lane: Default,
        idempotency: KeyRequired,
        audit: Action("project.rename"),
        problems: [NotFound, NameTaken, Conflict, Suspended],
    }
}

endpoint! {
    /// Preview what deleting a project would end.
    PreviewProjectDeletion = GET "/v1/projects/{project_id}/deletion-preview" {
        path: ProjectPath,
        returns: 200 EndingPreview,
        auth: Project(ProjectsRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [NotFound],
    }
}

endpoint! {
    /// Delete a project and end everything in it.
    ///
    /// Allocations are released and waiting requests are canceled, as listed by `deletion-preview`. The
    /// project is `deleting` until that is done, then `deleted`.
    DeleteProject = DELETE "/v1/projects/{project_id}" {
        path: ProjectPath,
        returns: 202 Project,
        auth: Project(ProjectsWrite),
        lane: Default,
        idempotency: Natural,
        audit: Action("project.delete"),
        problems: [NotFound, Conflict, Suspended],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProjectPath {
    pub project_id: ProjectId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectSpec {
    pub name: Name,
}

/// What the end of a project or an organization ends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EndingPreview {
    /// What ends, newest first; the first hundred.
    pub ends: Vec<Ending>,
    /// How many end in all.
    pub count: i64,
    /// How many GPUs they use or request.
    pub gpus: i64,
    /// Their current cost, in each currency.
    pub burn: Vec<Burn>,
}

/// Something that ends with its project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ending {
    /// Its kind, as in `allocation`.
    pub kind: String,
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    pub project_id: ProjectId,
    pub state: String,
    /// How many GPUs it uses or requests.
    pub gpus: i64,
}

/// A cost per hour.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Burn {
    pub currency: CurrencyCode,
    pub micros_per_hour: i64,
}

list_query! {
    ProjectFilter {
        /// Only projects in this state. Default: all except deleted ones.
        state: ProjectState,
        /// Only the project with this name.
        name: Name,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Project {
    pub id: ProjectId,
    pub organization_id: OrganizationId,
    pub name: Name,
    pub state: Open<ProjectState>,
    pub version: i64,
    pub created_at: Timestamp,
}

words! { ProjectState { Active = "active", Deleting = "deleting", Deleted = "deleted" } }

event! {
    /// A project was created.
    ProjectCreated = "project.created", staff: PlatformOrganizationsRead { id: ProjectId, name: Name }
}
event! {
    /// A project was renamed.
    ProjectRenamed = "project.renamed", staff: PlatformOrganizationsRead { id: ProjectId, name: Name }
}
moved_event! {
    /// The deletion of a project was requested.
    ProjectDeleteRequested = "project.delete_requested", staff: PlatformOrganizationsRead
}
moved_event! {
    /// A project was deleted.
    ProjectDeleted = "project.deleted", staff: PlatformOrganizationsRead
}
