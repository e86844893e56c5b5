//! The kinds of notification: what each tells, of which events, to whom, and
//! whether it can be switched off. `docs/generated/notifications.md` prints it.

use crate::words;

words! {
    /// What a notification tells of.
    NotificationKind {
        AccessBreakGlass = "access_break_glass",
        AddressChange = "address_change",
        AddressChanged = "address_changed",
        AllocationFailed = "allocation_failed",
        AllocationLeaseEnding = "allocation_lease_ending",
        AllocationNeedsAttention = "allocation_needs_attention",
        AllocationNodeLost = "allocation_node_lost",
        AllocationOutOfFunds = "allocation_out_of_funds",
        AllocationProjectEnded = "allocation_project_ended",
        AllocationStopEnding = "allocation_stop_ending",
        AllocationTakenBack = "allocation_taken_back",
        BudgetThreshold = "budget_threshold",
        InvitationReceived = "invitation_received",
        InvoiceIssued = "invoice_issued",
        MaintenancePlanned = "maintenance_planned",
        MfaChanged = "mfa_changed",
        OrganizationSuspended = "organization_suspended",
        PasswordReset = "password_reset",
        PaymentDisputed = "payment_disputed",
        PaymentFailed = "payment_failed",
        PaymentSucceeded = "payment_succeeded",
        RefundSettled = "refund_settled",
        SignUpConfirmation = "sign_up_confirmation",
        WalletDepleted = "wallet_depleted",
        WalletFunded = "wallet_funded",
        WalletGrace = "wallet_grace",
        WalletLow = "wallet_low",
        WebhookDisabled = "webhook_disabled",
    }
}

/// Who is notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The requester of the allocation; the stewards, if that was a program or somebody who left.
    Requester,
    /// As the requester, and platform operators: one of them has to look.
    RequesterAndOperators,
    /// Who has allocations in the project, and the stewards.
    Project,
    /// Owners and administrators.
    Stewards,
    /// Owners, administrators and billing.
    Payers,
    /// The person whose account it is.
    AccountOwner,
    /// The invited person, with or without an account.
    Invited,
    /// The address that it is about, by mail alone.
    Address,
}

#[derive(Debug, Clone, Copy)]
pub struct KindInfo {
    pub about: &'static str,
    /// The events that cause it.
    pub subjects: &'static [&'static str],
    pub audience: Audience,
    /// Sent in the console and by mail, whatever people prefer.
    pub is_mandatory: bool,
    /// Whether it guards an account; its mail does not wait behind other mail.
    pub is_security: bool,
    /// Whether it is sent by mail unless the person says otherwise.
    pub by_mail: bool,
}

impl NotificationKind {
    pub const fn info(self) -> KindInfo {
        use Audience::*;
        match self {
            Self::AccessBreakGlass => mandatory(
                "An operator of the platform opened a way into an allocation.",
                &["access_ticket.break_glass"],
                Stewards,
            ),
            Self::AddressChange => security(
                "An account is to have this address, which is proven with a token.",
                &["user.address_change_requested"],
                Address,
            ),
            Self::AddressChanged => {
                security("An account that had this address has another.", &["user.address_changed"], Address)
            }
            Self::AllocationFailed => optional(
                "An allocation could not be placed or prepared.",
                &["allocation.rejected", "allocation.provision_failed"],
                Requester,
            ),
            Self::AllocationLeaseEnding => {
                optional("The lease of an allocation ends soon.", &["allocation.lease_ending"], Requester)
            }
            Self::AllocationNeedsAttention => optional(
                "An allocation could not be sanitized and needs attention.",
                &["allocation.cleaning_failed"],
                RequesterAndOperators,
            ),
            Self::AllocationNodeLost => {
                mandatory("An allocation ended because its host is lost.", &["allocation.node_lost"], Requester)
            }
            Self::AllocationOutOfFunds => mandatory(
                "An allocation ended because the balance ran out.",
                &["allocation.funds_exhausted"],
                Requester,
            ),
            Self::AllocationProjectEnded => mandatory(
                "An allocation ended with its project or organization.",
                &["allocation.project_ended"],
                Requester,
            ),
            Self::AllocationStopEnding => {
                optional("A stopped allocation soon gives up its GPUs.", &["allocation.stop_ending"], Requester)
            }
            Self::AllocationTakenBack => {
                mandatory("An operator ended an allocation.", &["allocation.force_released"], Requester)
            }
            Self::BudgetThreshold => {
                optional("A project used a share of its budget.", &["budget.threshold_reached"], Payers)
            }
            Self::InvitationReceived => {
                optional("A person is invited to an organization.", &["invitation.created"], Invited)
            }
            Self::InvoiceIssued => optional("An invoice or a credit note was issued.", &["invoice.issued"], Payers),
            Self::MaintenancePlanned => optional(
                "Hosts that a project uses will be out of service.",
                &["maintenance_window.announced"],
                Project,
            ),
            Self::MfaChanged => security(
                "The second factors of an account changed, or a recovery code was used.",
                &[
                    "mfa_factor.added",
                    "mfa_factor.removed",
                    "mfa_factor.reset",
                    "recovery_code.replaced",
                    "recovery_code.used",
                ],
                AccountOwner,
            ),
            Self::PasswordReset => {
                security("A password reset was requested.", &["user.password_reset_requested"], Address)
            }
            Self::OrganizationSuspended => mandatory(
                "An organization was suspended, and what it runs is stopped.",
                &["organization.suspended"],
                Stewards,
            ),
            Self::PaymentDisputed => mandatory(
                "A payment was disputed, or its dispute was decided.",
                &["payment.dispute_opened", "payment.dispute_won", "payment.dispute_lost"],
                Payers,
            ),
            Self::PaymentFailed => optional("A payment was refused.", &["payment.failed"], Payers),
            Self::PaymentSucceeded => optional("A payment arrived.", &["payment.succeeded"], Payers),
            Self::RefundSettled => {
                optional("A refund was paid, or could not be.", &["refund.succeeded", "refund.failed"], Payers)
            }
            Self::SignUpConfirmation => security(
                "An account was created with this address, which needs to be verified.",
                &["user.sign_up_requested"],
                Address,
            ),
            Self::WalletDepleted => {
                mandatory("The balance ran out, and allocations end.", &["wallet.depleted"], Payers)
            }
            Self::WalletFunded => {
                KindInfo { by_mail: false, ..optional("The balance is sufficient again.", &["wallet.funded"], Payers) }
            }
            Self::WalletGrace => mandatory(
                "The balance is used up; allocations end after the grace period.",
                &["wallet.grace_started"],
                Payers,
            ),
            Self::WalletLow => optional("The balance will run out soon.", &["wallet.balance_low"], Payers),
            Self::WebhookDisabled => {
                optional("A webhook was disabled because nothing arrived.", &["webhook.disabled"], Stewards)
            }
        }
    }

    /// The kind that an event causes, if it causes one.
    pub fn caused_by(subject: &str) -> Option<NotificationKind> {
        <Self as crate::Word>::ALL.iter().copied().find(|it| it.info().subjects.contains(&subject))
    }
}

const fn optional(about: &'static str, subjects: &'static [&'static str], audience: Audience) -> KindInfo {
    KindInfo { about, subjects, audience, is_mandatory: false, is_security: false, by_mail: true }
}

const fn mandatory(about: &'static str, subjects: &'static [&'static str], audience: Audience) -> KindInfo {
    KindInfo { is_mandatory: true, ..optional(about, subjects, audience) }
}

/// What people wait for to get into their account, or that warns them of others.
const fn security(about: &'static str, subjects: &'static [&'static str], audience: Audience) -> KindInfo {
    KindInfo { is_security: true, ..mandatory(about, subjects, audience) }
}

impl Audience {
    /// In a sentence's end, for the table.
    pub const fn wording(self) -> &'static str {
        match self {
            Audience::Requester => {
                "the person who requested it; owners and administrators, if that was a program or has left"
            }
            Audience::RequesterAndOperators => "as above, and platform operators",
            Audience::Project => "people who have allocations in the project, owners and administrators",
            Audience::Stewards => "owners and administrators",
            Audience::Payers => "owners, administrators and billing",
            Audience::AccountOwner => "the person whose account it is",
            Audience::Invited => "the invited person; by mail alone without an account",
            Audience::Address => "the address that it is about, by mail alone",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Word;

    #[test]
    fn an_event_causes_one_kind_and_every_kind_has_a_cause() {
        for kind in NotificationKind::ALL {
            let info = kind.info();
            assert!(!info.subjects.is_empty() && info.about.ends_with('.'), "{kind}");
            for subject in info.subjects {
                assert_eq!(NotificationKind::caused_by(subject), Some(*kind), "{subject}");
            }
        }
        assert_eq!(NotificationKind::caused_by("project.created"), None);
    }

    #[test]
    fn mandatory_notifications_are_sent_by_mail_too() {
        for info in NotificationKind::ALL.iter().map(|it| it.info()) {
            assert!(!info.is_mandatory || info.by_mail, "{}", info.about);
        }
    }

    #[test]
    fn a_cause_is_an_event_of_the_contract() {
        let known: Vec<&str> = crate::every_event().iter().map(|it| it.subject).collect();
        for subject in NotificationKind::ALL.iter().flat_map(|it| it.info().subjects) {
            assert!(known.contains(subject), "{subject}");
        }
    }
}
