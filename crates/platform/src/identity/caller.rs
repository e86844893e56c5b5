//! Who is calling, and what that allows. Pure.

use contract::{
    Code, Permission, Role, Timestamp, Word,
    id::{KeyId, OrganizationId, ServiceAccountId, SessionId, UserId},
    organizations::OrganizationState,
    permission::PlatformRole,
};
use kernel::{Actor, Scope};

use crate::http::ProblemBuilder;

#[derive(Debug, Clone, PartialEq)]
pub struct Caller {
    pub who: Principal,
    /// What the credential allows at most; `None` when only roles limit it.
    pub scopes: Option<Vec<Permission>>,
    pub platform_role: Option<PlatformRole>,
    pub memberships: Vec<Membership>,
    pub second_factor: SecondFactorStanding,
    /// When the credential stops working.
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Principal {
    Anyone,
    Person { user: UserId, session: Option<SessionId>, key: Option<KeyId> },
    ServiceAccount { id: ServiceAccountId, organization: OrganizationId, key: KeyId },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    pub organization: OrganizationId,
    pub role: Role,
    pub state: OrganizationState,
    /// What the organization itself set for `identity.mfa_required`.
    pub mfa_required: Option<&'static str>,
}

/// What is known of a person's second factor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SecondFactorStanding {
    /// Whether the account has one.
    pub is_enrolled: bool,
    /// When it was last used in this session, or by who made this key.
    pub at: Option<Timestamp>,
}

impl Caller {
    pub fn anyone() -> Self {
        Self {
            who: Principal::Anyone,
            scopes: None,
            platform_role: None,
            memberships: Vec::new(),
            second_factor: SecondFactorStanding::default(),
            expires_at: Timestamp::MAX,
        }
    }

    pub fn actor(&self) -> Actor {
        match &self.who {
            Principal::Anyone => Actor::public(),
            Principal::Person { user, .. } => Actor::principal("user", user),
            Principal::ServiceAccount { id, .. } => Actor::principal("service_account", id),
        }
    }

    pub fn user(&self) -> Option<UserId> {
        match self.who {
            Principal::Person { user, .. } => Some(user),
            Principal::Anyone | Principal::ServiceAccount { .. } => None,
        }
    }

    /// The session that asks, unless a key does.
    pub fn session(&self) -> Option<SessionId> {
        match self.who {
            Principal::Person { session, .. } => session,
            Principal::Anyone | Principal::ServiceAccount { .. } => None,
        }
    }

    /// The scope for what a caller does about itself.
    pub fn own_scope(&self) -> Scope {
        match &self.who {
            Principal::Anyone => Scope::Public,
            Principal::Person { user, .. } => Scope::Person(user.uuid()),
            Principal::ServiceAccount { organization, .. } => Scope::Organization(organization.uuid()),
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
        needs_active: bool,
    ) -> Result<(), ProblemBuilder> {
        let Some(membership) = self.membership(organization) else {
            return Err(ProblemBuilder::new(Code::NotFound, "no such organization, project or part of one"));
        };
        if !membership.role.grants(permission) || !self.in_scope(permission) {
            return Err(lacks(permission));
        }
        match membership.state {
            OrganizationState::Active => Ok(()),
            OrganizationState::Suspended | OrganizationState::Closed if !needs_active => Ok(()),
            state @ (OrganizationState::Suspended | OrganizationState::Closed) => {
                Err(ProblemBuilder::new(Code::Suspended, format!("the organization is {}", state.as_str())))
            }
        }
    }

    pub fn check_platform(&self, permission: Permission) -> Result<(), ProblemBuilder> {
        let granted = self.platform_role.is_some_and(|it| it.grants(permission));
        if granted && self.in_scope(permission) {
            return Ok(());
        }
        Err(ProblemBuilder::new(
            Code::Forbidden,
            format!("you do not have `{permission}`; it is only for platform staff"),
        ))
    }

    /// Whether the caller may make somebody `role` there: their own role may give it,
    /// and a key holds everything that the role grants. Otherwise a key for members
    /// alone could make an owner, and so be worth everything.
    pub fn check_gives(&self, organization: OrganizationId, role: Role) -> Result<(), ProblemBuilder> {
        if !self.role_in(organization).is_some_and(|it| it.may_give(role)) {
            return Err(ProblemBuilder::new(Code::ScopeExceeded, format!("your role cannot grant `{role}`")));
        }
        let beyond = Permission::ALL.iter().find(|it| role.grants(**it) && !self.in_scope(**it));
        match beyond {
            Some(beyond) => {
                let detail = format!("`{role}` grants `{beyond}`, which your key does not have");
                Err(ProblemBuilder::new(Code::ScopeExceeded, detail))
            }
            None => Ok(()),
        }
    }

    fn in_scope(&self, permission: Permission) -> bool {
        self.scopes.as_ref().is_none_or(|it| it.contains(&permission))
    }
}

fn lacks(permission: Permission) -> ProblemBuilder {
    ProblemBuilder::new(Code::Forbidden, format!("you do not have `{permission}`"))
}
