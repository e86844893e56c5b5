//! Projects: what an organization groups its work under.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Name, Open, Page, Timestamp, endpoint, event,
    id::{OrganizationId, ProjectId},
    list_query, moved_event,
    organizations::OrganizationPath,
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
    /// Give a project another name.
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
    /// Delete a project.
    ///
    /// The project is `deleting` until everything in it is gone, then `deleted`.
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

list_query! {
    ProjectFilter {
        /// Only projects in this state; all but deleted ones when not said.
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
    ProjectCreated = "project.created" { id: ProjectId, name: Name }
}
event! {
    /// A project has another name.
    ProjectRenamed = "project.renamed" { id: ProjectId, name: Name }
}
moved_event! {
    /// Somebody asked for a project to be deleted.
    ProjectDeleteRequested = "project.delete_requested"
}
moved_event! {
    /// A project and everything in it is gone.
    ProjectDeleted = "project.deleted"
}
