//! Leaving an organization. A person acts on themselves, and goes on inside the
//! organization that the path names, once they are found to be a member of it.

use contract::{Nothing, members::LeaveOrganization};
use kernel::Scope;

use super::{routes::keeps_an_owner, store};
use crate::PeopleArea;
use platform::http::{Call, Failure, Handle, Request};

impl Handle<LeaveOrganization> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<LeaveOrganization>) -> Result<Nothing, Failure> {
        let organization = request.path.organization_id;
        let user = call.caller.user().expect("the gates let only people through");
        call.tx.enter(Scope::Organization(organization.uuid())).await?;
        let member = store::lock(&mut call.tx, organization, user).await?;
        let member = member.ok_or_else(|| Failure::not_found("organization, or you are not a member of it"))?;
        keeps_an_owner(call, organization, &member).await?;
        store::remove(&mut call.tx, organization, user).await?;
        super::gone(&mut call.tx, organization, user).await?;
        call.about(user);
        call.about_organization(organization);
        Ok(Nothing {})
    }
}
