//! Members: people in an organization, each with one role.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Email, Nothing, Open, Page, PersonName, Role, Timestamp, endpoint, event,
    id::{OrganizationId, UserId},
    list_query,
    organizations::OrganizationPath,
};

endpoint! {
    /// List the members of an organization.
    ListMembers = GET "/v1/organizations/{organization_id}/members" {
        path: OrganizationPath,
        query: MemberFilter,
        returns: 200 Page<Member>,
        auth: Organization(MembersRead),
        lane: Default,
        idempotency: Natural,
        audit: ReadOnly,
        problems: [],
    }
}

endpoint! {
    /// Change a member's role.
    ChangeMember = PUT "/v1/organizations/{organization_id}/members/{user_id}" {
        path: MemberPath,
        body: MemberSpec,
        returns: 200 Member,
        auth: Organization(MembersWrite),
        lane: Default,
        idempotency: Natural,
        audit: Action("member.change"),
        problems: [NotFound, ScopeExceeded, LastOwner, Suspended],
    }
}

endpoint! {
    /// Remove a member; their access to the organization ends within a second.
    RemoveMember = DELETE "/v1/organizations/{organization_id}/members/{user_id}" {
        path: MemberPath,
        returns: 200 Nothing,
        auth: Organization(MembersWrite),
        lane: Default,
        idempotency: Natural,
        audit: Action("member.remove"),
        problems: [NotFound, ScopeExceeded, LastOwner, Suspended],
    }
}

endpoint! {
    /// Leave an organization. No approval is needed; the last owner cannot leave.
    LeaveOrganization = DELETE "/v1/me/memberships/{organization_id}" {
        path: OrganizationPath,
        returns: 200 Nothing,
        auth: Person,
        lane: Default,
        idempotency: Natural,
        audit: Action("member.leave"),
        problems: [NotFound, LastOwner],
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MemberPath {
    pub organization_id: OrganizationId,
    pub user_id: UserId,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberSpec {
    pub role: Role,
}

list_query! {
    MemberFilter {
        /// Only members with this role.
        role: Role,
        /// Only the member with this address.
        email: Email,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    pub user_id: UserId,
    pub email: Email,
    pub name: PersonName,
    pub role: Open<Role>,
    pub joined_at: Timestamp,
}

event! {
    /// A member joined.
    MemberJoined = "member.joined", staff: PlatformOrganizationsRead { user_id: UserId, role: Open<Role> }
}
event! {
    /// A member's role changed.
    MemberChanged = "member.changed", staff: PlatformOrganizationsRead { user_id: UserId, role: Open<Role> }
}
event! {
    /// A member left or was removed.
    MemberRemoved = "member.removed", staff: PlatformOrganizationsRead { user_id: UserId }
}
