//! Whom the policy `identity.mfa_required` requires a second factor of. Pure.

use contract::Role;

use crate::policies::{Levels, resolve, settings};

/// The words of the policy, from the loosest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Requirement {
    Nobody,
    /// People with a role on the platform, and those of an organization who
    /// run it or pay for it.
    Staff,
    Everyone,
}

impl Requirement {
    pub fn parse(word: &str) -> Self {
        match word {
            "everyone" => Requirement::Everyone,
            "staff" => Requirement::Staff,
            _ => Requirement::Nobody,
        }
    }

    /// What applies in an organization that may have set its own value.
    pub fn within(platform: &str, organization: Option<&str>) -> Self {
        let own = |it: &str| Some(it.to_owned());
        let levels = Levels { platform: own(platform), organization: organization.and_then(own), project: None };
        Self::parse(&resolve(settings::MFA_REQUIRED.0, &levels).value)
    }

    pub fn concerns_member(self, role: Role) -> bool {
        match self {
            Requirement::Nobody => false,
            Requirement::Staff => matches!(role, Role::Owner | Role::Admin | Role::Billing),
            Requirement::Everyone => true,
        }
    }

    pub fn concerns_person(self, has_platform_role: bool) -> bool {
        match self {
            Requirement::Nobody => false,
            Requirement::Staff => has_platform_role,
            Requirement::Everyone => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirement_of_an_organization_only_tightens_that_of_the_platform() {
        use Requirement::{Everyone, Nobody, Staff};
        let table = [
            ("none", None, Nobody),
            ("none", Some("staff"), Staff),
            ("none", Some("everyone"), Everyone),
            ("staff", Some("none"), Staff),
            ("everyone", Some("staff"), Everyone),
        ];
        for (platform, organization, expected) in table {
            assert_eq!(Requirement::within(platform, organization), expected, "{platform} {organization:?}");
        }
        assert!(Staff.concerns_member(Role::Billing) && !Staff.concerns_member(Role::Member));
        assert!(Staff.concerns_person(true) && !Staff.concerns_person(false) && Everyone.concerns_person(false));
    }
}
