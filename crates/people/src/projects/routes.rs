//! Creating, reading, renaming and deleting projects, and what ends with one or with all of an organization.

use contract::{
    Code, Page,
    organizations::PreviewOrganizationClosing,
    projects::{
        CreateProject, DeleteProject, EndingPreview, GetProject, ListProjects, PreviewProjectDeletion, Project,
        ProjectCreated, ProjectRenamed, ProjectState, RenameProject,
    },
};
use kernel::lifecycle::transition;

use super::{
    contents,
    lifecycle::{Event, ProjectLifecycle},
    store::{self, InsertOutcome, Renamed},
};
use crate::PeopleArea;
use platform::{
    events::emit,
    http::{Call, Failure, Handle, Request},
    policies::{self, settings},
};

impl Handle<CreateProject> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateProject>) -> Result<Project, Failure> {
        let organization = call.organization();
        let most = policies::number_in(&mut call.tx, settings::PROJECTS_MAX, Some(organization.uuid()), None).await?;
        let project = match store::insert(&mut call.tx, organization, &request.body.name, most).await? {
            InsertOutcome::Project(project) => project,
            InsertOutcome::NameTaken => return Err(Failure::new(Code::NameTaken, "another project has this name")),
            InsertOutcome::NotActive => {
                return Err(Failure::new(Code::Suspended, "the organization is no longer active"));
            }
            InsertOutcome::LimitReached => {
                return Err(Failure::new(
                    Code::LimitReached,
                    format!("the organization has reached its limit of {most} projects"),
                ));
            }
        };
        call.about(project.id);
        let event = ProjectCreated { id: project.id, name: project.name.clone() };
        emit(&mut call.tx, Some(organization), project.id, &event);
        Ok(project)
    }
}

impl Handle<ListProjects> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ListProjects>) -> Result<Page<Project>, Failure> {
        let organization = call.organization();
        let rows = store::list(&mut call.tx, organization, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<GetProject> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<GetProject>) -> Result<Project, Failure> {
        let found = store::get(&mut call.tx, request.path.project_id).await?;
        found.ok_or_else(|| Failure::not_found("project"))
    }
}

impl Handle<RenameProject> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<RenameProject>) -> Result<Project, Failure> {
        let id = request.path.project_id;
        let project = match store::rename(&mut call.tx, id, &request.body.name).await? {
            Renamed::Project(project) => project,
            Renamed::NameTaken => return Err(Failure::new(Code::NameTaken, "another project has this name")),
            Renamed::NotActive => {
                return Err(Failure::new(Code::Conflict, "the project is being deleted or no longer exists"));
            }
        };
        let event = ProjectRenamed { id, name: project.name.clone() };
        emit(&mut call.tx, Some(project.organization_id), id, &event);
        Ok(project)
    }
}

impl Handle<PreviewOrganizationClosing> for PeopleArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<PreviewOrganizationClosing>,
    ) -> Result<EndingPreview, Failure> {
        Ok(contents::preview(&mut call.tx, request.path.organization_id, None).await?)
    }
}

impl Handle<PreviewProjectDeletion> for PeopleArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<PreviewProjectDeletion>,
    ) -> Result<EndingPreview, Failure> {
        let (organization, id) = (call.organization(), request.path.project_id);
        store::get(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("project"))?;
        Ok(contents::preview(&mut call.tx, organization, Some(id)).await?)
    }
}

impl Handle<DeleteProject> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<DeleteProject>) -> Result<Project, Failure> {
        let id = request.path.project_id;
        // Who asks at the same time waits, and then finds it done.
        let mut project =
            store::get_for_update(&mut call.tx, id).await?.ok_or_else(|| Failure::not_found("project"))?;
        // Asking again for what is under way or done changes nothing.
        if project.state == ProjectState::Active {
            let row = store::versioned(&project)?;
            let moved = transition::<ProjectLifecycle>(&mut call.tx, row, Event::DeleteRequested, "").await?;
            (project.state, project.version) = (moved.state.into(), moved.version);
        }
        Ok(project)
    }
}
