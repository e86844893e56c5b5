//! Inviting people, taking invitations back, accepting them.

use contract::{
    Code, Page, Role, ShownSecret,
    id::{InvitationId, OrganizationId},
    invitations::{
        AcceptInvitation, CreateInvitation, Invitation, InvitationCreated, InvitationState, ListInvitations,
        NewInvitation, RevokeInvitation,
    },
    organizations::{Organization, OrganizationState},
};
use kernel::{
    Scope, clock,
    lifecycle::{Lifecycle, transition},
    secrets::{hash_token, random_token},
    work,
};

use super::{
    lifecycle::{Event, InvitationLifecycle},
    store::{self, New},
};
use crate::{PeopleArea, members, organizations, service_accounts, users};
use platform::{
    events::emit,
    http::{Call, Failure, Handle, Request},
    policies::{self, settings},
};

impl Handle<CreateInvitation> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateInvitation>) -> Result<NewInvitation, Failure> {
        let organization = call.organization();
        let (email, role) = (request.body.email, request.body.role);
        call.caller.check_gives(organization, role)?;
        let place = Some(organization.uuid());
        organizations::lock(&mut call.tx, organization).await?;
        let most = policies::number_in(&mut call.tx, settings::INVITATIONS_MAX, place, None).await?;
        if store::pending(&mut call.tx, organization).await? as u64 >= most {
            return Err(Failure::new(
                Code::LimitReached,
                format!("the limit of {most} pending invitations is reached"),
            ));
        }
        let lifetime =
            settings::hours(policies::number_in(&mut call.tx, settings::INVITATION_HOURS, place, None).await?);
        let expires_at = clock::now(&mut call.tx).await? + lifetime;
        let id = InvitationId::generate();
        let (secret, mailed) = (random_token("gpi"), random_token("gpi"));
        let token = secret.expose_text().expect("tokens are text").to_owned();
        let hash = hash_token(mailed.expose_text().expect("tokens are text"));
        let mailed = (hash, super::MAIL_TOKENS.seal(&self.keyring, id.uuid(), mailed.expose()));
        let made_by = call.caller.actor();
        let made_by = made_by.as_str();
        let new = New { id, organization, email: &email, role, token: hash_token(&token), mailed, made_by, expires_at };
        let invitation = store::insert(&mut call.tx, new).await?.invitation;
        work::wake_at(&mut call.tx, InvitationLifecycle::NAME, invitation.id.uuid(), expires_at);
        call.about(invitation.id);
        call.note("role", role.to_string());
        emit(
            &mut call.tx,
            Some(organization),
            invitation.id,
            &InvitationCreated { id: invitation.id, role: role.into() },
        );
        Ok(NewInvitation { invitation, token: ShownSecret::new(token) })
    }
}

impl Handle<ListInvitations> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<ListInvitations>) -> Result<Page<Invitation>, Failure> {
        let organization = call.organization();
        let rows = store::list(&mut call.tx, organization, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<RevokeInvitation> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<RevokeInvitation>) -> Result<Invitation, Failure> {
        let found = store::get(&mut call.tx, request.path.invitation_id.uuid()).await?;
        let mut found = found.ok_or_else(|| Failure::not_found("invitation"))?;
        if found.invitation.state != InvitationState::Revoked {
            let moved =
                transition::<InvitationLifecycle>(&mut call.tx, store::versioned(&found)?, Event::Revoked, "").await?;
            (found.invitation.state, found.invitation.version) = (moved.state.into(), moved.version);
        }
        Ok(found.invitation)
    }
}

impl Handle<AcceptInvitation> for PeopleArea {
    async fn handle(&self, call: &mut Call, request: Request<AcceptInvitation>) -> Result<Organization, Failure> {
        let unknown = || Failure::not_found("invitation for your email address; it may have expired");
        let user = call.caller.user().ok_or_else(unknown)?;
        let email = users::email(&mut call.tx, user).await?.ok_or_else(unknown)?;
        let is_proven = users::is_proven(&mut call.tx, user).await?;
        // The token names the organization; only then can its rows be entered.
        call.tx.enter(Scope::Identity).await?;
        let token = hash_token(request.body.token.expose());
        let found = store::by_token(&mut call.tx, &token, &email).await?.ok_or_else(unknown)?;
        if !is_proven {
            let detail = "the address of your account is not verified; reset your password by mail to verify it";
            return Err(Failure::new(Code::Conflict, detail));
        }
        let organization = found.organization;
        call.tx.enter(Scope::Organization(organization.uuid())).await?;
        call.about(found.invitation.id);
        call.about_organization(organization);
        let role: Role = platform::rows::known(found.invitation.role.as_str())?;
        if !is_still_given(call, organization, found.made_by.as_deref(), role).await? {
            return Err(unknown());
        }
        transition::<InvitationLifecycle>(&mut call.tx, store::versioned(&found)?, Event::Accepted, "").await?;
        if !members::join(&mut call.tx, organization, user, role).await? {
            return Err(Failure::new(Code::Conflict, "you are already a member"));
        }
        let joined = organizations::get(&mut call.tx, organization).await?;
        let mut joined = joined.ok_or_else(unknown)?;
        if joined.state != OrganizationState::Active {
            return Err(Failure::new(Code::Conflict, format!("the organization is {}", joined.state)));
        }
        joined.role = Some(role.into());
        Ok(joined)
    }
}

/// Whether who made an invitation may still give its role.
async fn is_still_given(
    call: &mut Call,
    organization: OrganizationId,
    made_by: Option<&str>,
    role: Role,
) -> Result<bool, Failure> {
    let own = match made_by.and_then(|it| it.split_once(':')) {
        Some(("user", id)) => match id.parse() {
            Ok(user) => members::role_of(&mut call.tx, organization, user).await?,
            Err(_) => None,
        },
        Some(("service_account", id)) => match id.parse() {
            Ok(id) => service_accounts::find(&mut call.tx, id)
                .await?
                .map(|it| platform::rows::known(it.role.as_str()))
                .transpose()?,
            Err(_) => None,
        },
        _ => None,
    };
    Ok(own.is_some_and(|it: Role| it.may_give(role)))
}
