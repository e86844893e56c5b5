//! Who is calling, and what that allows. Pure.

use contract::{
    Code, Permission, Role, Timestamp, Word,
    id::{KeyId, OrganizationId, ServiceAccountId, SessionId, UserId},
    organizations::OrganizationState,
    permission::PlatformRole,
};
use kernel::{Actor, Scope};

use crate::http::Trouble;

#[derive(Debug, Clone, PartialEq)]
pub struct Caller {
    pub who: Who,
    /// What the credential allows at most; `None` when only roles limit it.
    pub scopes: Option<Vec<Permission>>,
    pub platform_role: Option<PlatformRole>,
    pub memberships: Vec<Membership>,
    /// When the credential stops working.
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Who {
    Anyone,
    Person { user: UserId, session: Option<SessionId>, key: Option<KeyId> },
    ServiceAccount { id: ServiceAccountId, organization: OrganizationId, key: KeyId },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    pub organization: OrganizationId,
    pub role: Role,
    pub state: OrganizationState,
}

impl Caller {
    pub fn anyone() -> Self {
        Self {
            who: Who::Anyone,
            scopes: None,
            platform_role: None,
            memberships: Vec::new(),
            expires_at: Timestamp::MAX,
        }
    }

    pub fn actor(&self) -> Actor {
        match &self.who {
            Who::Anyone => Actor::public(),
            Who::Person { user, .. } => Actor::principal("user", user),
            Who::ServiceAccount { id, .. } => Actor::principal("service_account", id),
        }
    }

    pub fn user(&self) -> Option<UserId> {
        match self.who {
            Who::Person { user, .. } => Some(user),
            Who::Anyone | Who::ServiceAccount { .. } => None,
        }
    }

    /// The scope for what a caller does about itself.
    pub fn own_scope(&self) -> Scope {
        match &self.who {
            Who::Anyone => Scope::Public,
            Who::Person { user, .. } => Scope::Person(user.uuid()),
            Who::ServiceAccount { organization, .. } => Scope::Organization(organization.uuid()),
        }
    }

    pub fn membership(&self, organization: OrganizationId) -> Option<&Membership> {
        self.memberships.iter().find(|it| it.organization == organization)
    }

    pub fn role_in(&self, organization: OrganizationId) -> Option<Role> {
        self.membership(organization).map(|it| it.role)
    }

    /// Whether the caller may do that in the organization. A stranger gets the
    /// same answer as for an organization that does not exist.
    pub fn check_organization(
        &self,
        organization: OrganizationId,
        permission: Permission,
        writes: bool,
    ) -> Result<(), Trouble> {
        let Some(membership) = self.membership(organization) else {
            return Err(Trouble::new(Code::NotFound, "no such organization, project or part of one"));
        };
        if !membership.role.grants(permission) || !self.in_scope(permission) {
            return Err(lacks(permission));
        }
        // Closing is how an organization ends; a suspended one may still end.
        let ends = permission == Permission::OrganizationClose;
        match membership.state {
            OrganizationState::Active => Ok(()),
            OrganizationState::Suspended | OrganizationState::Closed if !writes => Ok(()),
            OrganizationState::Suspended if ends => Ok(()),
            state @ (OrganizationState::Suspended | OrganizationState::Closed) => {
                Err(Trouble::new(Code::Suspended, format!("the organization is {}", state.as_str())))
            }
        }
    }

    pub fn check_platform(&self, permission: Permission) -> Result<(), Trouble> {
        let granted = self.platform_role.is_some_and(|it| it.grants(permission));
        if granted && self.in_scope(permission) {
            return Ok(());
        }
        Err(Trouble::new(Code::Forbidden, format!("`{permission}` is not granted; it is for staff of the platform")))
    }

    fn in_scope(&self, permission: Permission) -> bool {
        self.scopes.as_ref().is_none_or(|it| it.contains(&permission))
    }
}

fn lacks(permission: Permission) -> Trouble {
    Trouble::new(Code::Forbidden, format!("`{permission}` is not granted"))
}
