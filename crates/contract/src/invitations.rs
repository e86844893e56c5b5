//! Invitations: how people join an organization.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Email, Open, Page, Role, SecretText, ShownSecret, Timestamp, endpoint, event,
    id::{InvitationId, OrganizationId},
    list_query, moved_event,
    organizations::{Organization, OrganizationPath},
    words,
};

endpoint! {
    /// Invite somebody by email address.
    ///
    /// A person without an account gets a mail with a token that creates one and lets them join. The token in
    /// this response is shown once and lets an existing account join; it does not create one.
    CreateInvitation = POST "/v1/organizations/{organization_id}/invitations" {
        path: OrganizationPath,
        body: InvitationSpec,
        returns: 201 NewInvitation,
        auth: Organization(MembersWrite),
        lane: Default,
        idempotency: KeyRequiredSealed,
        audit: Action("invitation.create"),
        problems: [ScopeExceeded, LimitReached, Suspended],
    }
}

endpoint! {
    /// List invitations.
    ListInvitations = GET "/v1/organizations/{organization_id}/invitations" {
        path: OrganizationPath,
        query: InvitationFilter,
        returns: 200 Page<Invitation>,
        auth: Organization(MembersRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Revoke an invitation.
    RevokeInvitation = DELETE "/v1/organizations/{organization_id}/invitations/{invitation_id}" {
        path: InvitationPath,
        returns: 200 Invitation,
        auth: Organization(MembersWrite),
        lane: Default,
        idempotency: Natural,
        audit: Action("invitation.revoke"),
        problems: [NotFound, Conflict, Suspended],
    }
}

endpoint! {
    /// Accept an invitation for the caller's email address.
    ///
    /// The address must be verified. Accepts the inviter's token and the mailed one. An invitation ends when
    /// its creator may no longer grant the role.
    AcceptInvitation = POST "/v1/invitations/accept" {
        body: InvitationToken,
        returns: 200 Organization,
        auth: Person,
        lane: Login,
        idempotency: KeyRequired,
        audit: Action("invitation.accept"),
        problems: [NotFound, Conflict],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct InvitationPath {
    pub organization_id: OrganizationId,
    pub invitation_id: InvitationId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InvitationSpec {
    pub email: Email,
    pub role: Role,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InvitationToken {
    pub token: SecretText,
}

list_query! {
    InvitationFilter {
        /// Only invitations in this state.
        state: InvitationState,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Invitation {
    pub id: InvitationId,
    pub email: Email,
    pub role: Open<Role>,
    pub state: Open<InvitationState>,
    pub version: i64,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NewInvitation {
    pub invitation: Invitation,
    pub token: ShownSecret,
}

words! { InvitationState { Pending = "pending", Accepted = "accepted", Revoked = "revoked", Expired = "expired" } }

event! {
    /// Somebody was invited.
    InvitationCreated = "invitation.created", staff: PlatformOrganizationsRead { id: InvitationId, role: Open<Role> }
}
moved_event! {
    /// An invitation was accepted.
    InvitationAccepted = "invitation.accepted", staff: PlatformOrganizationsRead
}
moved_event! {
    /// An invitation was revoked.
    InvitationRevoked = "invitation.revoked", staff: PlatformOrganizationsRead
}
moved_event! {
    /// An invitation expired.
    InvitationExpired = "invitation.expired", staff: PlatformOrganizationsRead
}
