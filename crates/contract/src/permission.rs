//! Who may do what: permissions, roles, and the one table that joins them.
//! `docs/generated/roles.md` prints it.

use crate::{Word, words};

words! {
    /// What an endpoint asks of its caller.
    Permission {
        OrganizationRead = "organization:read",
        OrganizationWrite = "organization:write",
        OrganizationClose = "organization:close",
        MembersRead = "members:read",
        MembersWrite = "members:write",
        ProjectsRead = "projects:read",
        ProjectsWrite = "projects:write",
        ServiceAccountsRead = "service_accounts:read",
        ServiceAccountsWrite = "service_accounts:write",
        PoliciesRead = "policies:read",
        PoliciesWrite = "policies:write",
        AuditRead = "audit:read",
        EventsRead = "events:read",
        AllocationsRead = "allocations:read",
        AllocationsWrite = "allocations:write",
        AccessRead = "access:read",
        AccessWrite = "access:write",
        RecordingsRead = "recordings:read",
        QuotasRead = "quotas:read",
        LedgerRead = "ledger:read",
        BudgetsWrite = "budgets:write",
        BillingProfileWrite = "billing_profile:write",
        PaymentsRead = "payments:read",
        PaymentsWrite = "payments:write",
        WebhooksRead = "webhooks:read",
        WebhooksWrite = "webhooks:write",
        PlatformOrganizationsRead = "platform.organizations:read",
        PlatformOrganizationsWrite = "platform.organizations:write",
        PlatformUsersRead = "platform.users:read",
        PlatformUsersWrite = "platform.users:write",
        PlatformPoliciesRead = "platform.policies:read",
        PlatformPoliciesWrite = "platform.policies:write",
        PlatformAuditRead = "platform.audit:read",
        PlatformDeadLettersRead = "platform.dead_letters:read",
        PlatformDeadLettersWrite = "platform.dead_letters:write",
        PlatformWorkRead = "platform.work:read",
        PlatformWorkWrite = "platform.work:write",
        PlatformFleetRead = "platform.fleet:read",
        PlatformFleetWrite = "platform.fleet:write",
        PlatformAllocationsRead = "platform.allocations:read",
        PlatformAllocationsWrite = "platform.allocations:write",
        PlatformAccessRead = "platform.access:read",
        PlatformAccessWrite = "platform.access:write",
        PlatformRecordingsRead = "platform.recordings:read",
        PlatformQuotasWrite = "platform.quotas:write",
        PlatformLedgerRead = "platform.ledger:read",
        PlatformLedgerWrite = "platform.ledger:write",
        PlatformEventsRead = "platform.events:read",
    }
}

words! {
    /// What a member is in one organization.
    Role {
        Owner = "owner",
        Admin = "admin",
        Billing = "billing",
        Member = "member",
        Viewer = "viewer",
    }
}

words! {
    /// What a person is to the platform as a whole.
    PlatformRole {
        Operator = "operator",
        Support = "support",
        Auditor = "auditor",
    }
}

impl Permission {
    pub fn is_platform(self) -> bool {
        self.as_str().starts_with("platform.")
    }

    /// Whether changing something with it needs a recent second factor. What
    /// moves money is in the financial lane, which needs one whatever the permission.
    pub const fn needs_step_up(self) -> bool {
        use Permission as P;
        match self {
            P::PaymentsWrite | P::PlatformLedgerWrite => true,
            // What gives others, or programs, a way in, and what takes a guard away.
            P::MembersWrite | P::ServiceAccountsWrite | P::PoliciesWrite => true,
            P::PlatformAccessWrite | P::PlatformPoliciesWrite | P::PlatformUsersWrite => true,
            P::OrganizationRead
            | P::OrganizationWrite
            | P::OrganizationClose
            | P::MembersRead
            | P::ProjectsRead
            | P::ProjectsWrite
            | P::ServiceAccountsRead
            | P::PoliciesRead
            | P::AuditRead
            | P::EventsRead
            | P::AllocationsRead
            | P::AllocationsWrite
            | P::AccessRead
            | P::AccessWrite
            | P::RecordingsRead
            | P::QuotasRead
            | P::LedgerRead
            | P::BudgetsWrite
            | P::BillingProfileWrite
            | P::PaymentsRead
            | P::WebhooksRead
            | P::WebhooksWrite
            | P::PlatformOrganizationsRead
            | P::PlatformOrganizationsWrite
            | P::PlatformUsersRead
            | P::PlatformPoliciesRead
            | P::PlatformAuditRead
            | P::PlatformDeadLettersRead
            | P::PlatformDeadLettersWrite
            | P::PlatformWorkRead
            | P::PlatformWorkWrite
            | P::PlatformFleetRead
            | P::PlatformFleetWrite
            | P::PlatformAllocationsRead
            | P::PlatformAllocationsWrite
            | P::PlatformAccessRead
            | P::PlatformRecordingsRead
            | P::PlatformQuotasWrite
            | P::PlatformLedgerRead
            | P::PlatformEventsRead => false,
        }
    }
}

impl Role {
    pub fn grants(self, permission: Permission) -> bool {
        use Permission as P;
        let least = match permission {
            P::OrganizationRead
            | P::MembersRead
            | P::ProjectsRead
            | P::PoliciesRead
            | P::EventsRead
            | P::AllocationsRead
            | P::QuotasRead
            | P::LedgerRead
            | P::WebhooksRead => Role::Viewer,
            P::ProjectsWrite | P::AllocationsWrite | P::AccessRead | P::AccessWrite => Role::Member,
            P::OrganizationWrite
            | P::MembersWrite
            | P::ServiceAccountsRead
            | P::ServiceAccountsWrite
            | P::PoliciesWrite
            | P::AuditRead
            | P::RecordingsRead
            | P::WebhooksWrite => Role::Admin,
            P::OrganizationClose => Role::Owner,
            // Those who pay.
            P::BudgetsWrite | P::BillingProfileWrite | P::PaymentsRead | P::PaymentsWrite => {
                return matches!(self, Role::Owner | Role::Admin | Role::Billing);
            }
            P::PlatformOrganizationsRead
            | P::PlatformOrganizationsWrite
            | P::PlatformUsersRead
            | P::PlatformUsersWrite
            | P::PlatformPoliciesRead
            | P::PlatformPoliciesWrite
            | P::PlatformAuditRead
            | P::PlatformDeadLettersRead
            | P::PlatformDeadLettersWrite
            | P::PlatformWorkRead
            | P::PlatformWorkWrite
            | P::PlatformFleetRead
            | P::PlatformFleetWrite
            | P::PlatformAllocationsRead
            | P::PlatformAllocationsWrite
            | P::PlatformAccessRead
            | P::PlatformAccessWrite
            | P::PlatformRecordingsRead
            | P::PlatformQuotasWrite
            | P::PlatformLedgerRead
            | P::PlatformLedgerWrite
            | P::PlatformEventsRead => return false,
        };
        self.rank() >= least.rank()
    }

    /// Whether a holder of this role may give, change or take away `other`.
    pub fn may_manage(self, other: Role) -> bool {
        // Who pays stands beside who works: neither has all that the other has.
        let is_beside = self == Role::Member && other == Role::Billing;
        self == Role::Owner || (self.rank() > other.rank() && !is_beside)
    }

    /// Whether a holder of this role may give it to somebody: what one manages,
    /// and one's own, which gives nobody more than the giver has.
    pub fn may_give(self, other: Role) -> bool {
        self == other || self.may_manage(other)
    }

    fn rank(self) -> u8 {
        match self {
            Role::Owner => 4,
            Role::Admin => 3,
            Role::Member => 2,
            // Billing sees what a viewer sees, pays, and says what may be spent.
            Role::Billing | Role::Viewer => 1,
        }
    }
}

impl PlatformRole {
    pub fn grants(self, permission: Permission) -> bool {
        use Permission as P;
        match (self, permission) {
            (_, it) if !it.is_platform() => false,
            (PlatformRole::Operator, _) => true,
            (PlatformRole::Support, P::PlatformOrganizationsRead | P::PlatformUsersRead) => true,
            (PlatformRole::Support, P::PlatformDeadLettersRead | P::PlatformWorkRead | P::PlatformPoliciesRead) => true,
            (PlatformRole::Support, P::PlatformFleetRead | P::PlatformAllocationsRead | P::PlatformEventsRead) => true,
            (PlatformRole::Support, _) => false,
            (PlatformRole::Auditor, it) => it.as_str().ends_with(":read"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_role_never_lacks_what_a_lower_one_has() {
        for pair in [Role::Owner, Role::Admin, Role::Member, Role::Viewer].windows(2) {
            for permission in Permission::ALL {
                assert!(pair[0].grants(*permission) || !pair[1].grants(*permission), "{permission} {pair:?}");
            }
        }
    }

    #[test]
    fn role_gives_no_more_than_it_has() {
        for (own, given) in Role::ALL.iter().flat_map(|own| Role::ALL.iter().map(move |given| (*own, *given))) {
            let has_it_all = Permission::ALL.iter().all(|it| own.grants(*it) || !given.grants(*it));
            assert!(has_it_all || !own.may_give(given), "{own} gives {given}");
        }
        assert!(Role::ALL.iter().all(|it| it.may_give(*it)), "one's own role can be given");
    }

    #[test]
    fn auditors_and_support_change_nothing() {
        for permission in Permission::ALL.iter().filter(|it| it.as_str().ends_with(":write")) {
            assert!(!PlatformRole::Auditor.grants(*permission) && !PlatformRole::Support.grants(*permission));
        }
    }
}
