//! Creating, reading, renaming, closing and suspending organizations.

use contract::{
    Code, Page, Role,
    id::OrganizationId,
    organizations::{
        CloseOrganization, CreateOrganization, GetOrganization, ListAllOrganizations, ListOrganizations, Organization,
        OrganizationCreated, OrganizationRenamed, OrganizationState, RenameOrganization, ResumeOrganization,
        SuspendOrganization,
    },
};
use kernel::{Scope, lifecycle::transition};

use super::{
    lifecycle::{Event, OrganizationLifecycle},
    store,
};
use crate::{PeopleArea, members, users};
use platform::{
    events::emit,
    http::{Call, Failure, Handle, Request},
    policies::settings,
};

impl Handle<CreateOrganization> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateOrganization>) -> Result<Organization, Failure> {
        let user = call
            .caller
            .user()
            .ok_or_else(|| Failure::new(Code::SelfServiceOff, "only people can create organizations"))?;
        if !self.policies.flag(settings::SELF_SERVICE) && call.caller.platform_role.is_none() {
            return Err(Failure::new(Code::SelfServiceOff, "only the platform's operators can create organizations"));
        }
        let most = self.policies.number(settings::ORGANIZATIONS_MAX);
        users::lock(&mut call.tx, user).await?;
        if store::owned_by(&mut call.tx, user).await? as u64 >= most {
            return Err(Failure::new(
                Code::LimitReached,
                format!("you have reached the limit of {most} organizations"),
            ));
        }
        let id = OrganizationId::generate();
        store::insert(&mut call.tx, id, &request.body.name).await?;
        // From here on the organization exists, and its owner acts in it.
        call.tx.enter(Scope::Organization(id.uuid())).await?;
        members::join(&mut call.tx, id, user, Role::Owner).await?;
        call.about(id);
        call.about_organization(id);
        emit(&mut call.tx, Some(id), id, &OrganizationCreated { id, name: request.body.name });
        let mut organization = read(call, id).await?;
        organization.role = Some(Role::Owner.into());
        Ok(organization)
    }
}

impl Handle<ListOrganizations> for PeopleArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ListOrganizations>,
    ) -> Result<Page<Organization>, Failure> {
        let mut rows = store::list(&mut call.tx, &request.query).await?;
        for row in &mut rows {
            row.role = call.caller.role_in(row.id).map(Into::into);
        }
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<GetOrganization> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<GetOrganization>) -> Result<Organization, Failure> {
        read(call, request.path.organization_id).await
    }
}

impl Handle<RenameOrganization> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<RenameOrganization>) -> Result<Organization, Failure> {
        let id = request.path.organization_id;
        let renamed = store::rename(&mut call.tx, id, &request.body.name).await?;
        let mut organization = renamed.ok_or_else(|| Failure::not_found("organization"))?;
        organization.role = call.caller.role_in(id).map(Into::into);
        emit(&mut call.tx, Some(id), id, &OrganizationRenamed { id, name: request.body.name });
        Ok(organization)
    }
}

impl Handle<CloseOrganization> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<CloseOrganization>) -> Result<Organization, Failure> {
        let id = request.path.organization_id;
        let organization = read(call, id).await?;
        if organization.state == OrganizationState::Closed {
            return Ok(organization);
        }
        step(call, organization, Event::Closed, "").await
    }
}

impl Handle<ListAllOrganizations> for PeopleArea {
    async fn handle(
        &self,
        call: &mut Call,
        request: Request<ListAllOrganizations>,
    ) -> Result<Page<Organization>, Failure> {
        let rows = store::list(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<SuspendOrganization> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<SuspendOrganization>) -> Result<Organization, Failure> {
        let id = request.path.organization_id;
        call.about_organization(id);
        let organization = read(call, id).await?;
        step(call, organization, Event::Suspended, request.body.reason.as_str()).await
    }
}

impl Handle<ResumeOrganization> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ResumeOrganization>) -> Result<Organization, Failure> {
        let id = request.path.organization_id;
        call.about_organization(id);
        let organization = read(call, id).await?;
        step(call, organization, Event::Resumed, request.body.reason.as_str()).await
    }
}

async fn read(call: &mut Call, id: OrganizationId) -> Result<Organization, Failure> {
    let found = store::get(&mut call.tx, id).await?;
    let mut organization = found.ok_or_else(|| Failure::not_found("organization"))?;
    organization.role = call.caller.role_in(id).map(Into::into);
    Ok(organization)
}

async fn step(
    call: &mut Call,
    mut organization: Organization,
    event: Event,
    reason: &str,
) -> Result<Organization, Failure> {
    let row = store::versioned(&organization)?;
    let moved = transition::<OrganizationLifecycle>(&mut call.tx, row, event, reason).await?;
    (organization.state, organization.version) = (moved.state.into(), moved.version);
    Ok(organization)
}
