//! Listing, changing and removing members.

use contract::{
    Code, Nothing, Page, Role,
    id::{OrganizationId, UserId},
    members::{ChangeMember, ListMembers, Member, MemberChanged, RemoveMember},
};
use kernel::Actor;

use super::store;
use crate::{PeopleArea, invitations};
use platform::{
    events::emit,
    http::{Call, Failure, Handle, Request},
};

impl Handle<ListMembers> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ListMembers>) -> Result<Page<Member>, Failure> {
        let organization = call.organization();
        let rows = store::list(&mut call.tx, organization, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.user_id.uuid()))
    }
}

impl Handle<ChangeMember> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ChangeMember>) -> Result<Member, Failure> {
        let (organization, user, role) = (call.organization(), request.path.user_id, request.body.role);
        let mut member = managed(call, organization, user).await?;
        call.caller.check_gives(organization, role)?;
        if role != Role::Owner {
            keeps_an_owner(call, organization, &member).await?;
        }
        store::change(&mut call.tx, organization, user, role).await?;
        let maker = Actor::principal("user", user);
        invitations::revoke_beyond(&mut call.tx, organization, maker.as_str(), Some(role)).await?;
        call.note("role", role.to_string());
        emit(&mut call.tx, Some(organization), user, &MemberChanged { user_id: user, role: role.into() });
        member.role = role.into();
        Ok(member)
    }
}

impl Handle<RemoveMember> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<RemoveMember>) -> Result<Nothing, Failure> {
        let (organization, user) = (call.organization(), request.path.user_id);
        let member = managed(call, organization, user).await?;
        keeps_an_owner(call, organization, &member).await?;
        store::remove(&mut call.tx, organization, user).await?;
        super::gone(&mut call.tx, organization, user).await?;
        Ok(Nothing {})
    }
}

/// The member, if the caller's role may manage theirs; people may manage themselves.
async fn managed(call: &mut Call, organization: OrganizationId, user: UserId) -> Result<Member, Failure> {
    let member = store::lock(&mut call.tx, organization, user).await?.ok_or_else(|| Failure::not_found("member"))?;
    let theirs: Role = platform::rows::known(member.role.as_str())?;
    let own = call.caller.role_in(organization);
    if call.caller.user() != Some(user) && !own.is_some_and(|it| it.may_manage(theirs)) {
        return Err(Failure::new(Code::ScopeExceeded, format!("your role cannot manage an `{theirs}`")));
    }
    Ok(member)
}

pub async fn keeps_an_owner(call: &mut Call, organization: OrganizationId, member: &Member) -> Result<(), Failure> {
    if member.role == Role::Owner && store::owners(&mut call.tx, organization).await? == 1 {
        return Err(Failure::new(Code::LastOwner, "this is the organization's only owner"));
    }
    Ok(())
}
