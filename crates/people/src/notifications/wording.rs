//! What each kind of notification says. Pure; plain text, escaped where it is
//! put into HTML.

use contract::{Timestamp, Word, notification_kinds::NotificationKind, refunds::RefundState};

use super::store::Facts;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationText {
    pub title: String,
    /// Paragraphs, separated by empty lines.
    pub body: String,
}

pub fn say(kind: NotificationKind, facts: &Facts) -> NotificationText {
    use NotificationKind as K;
    let what = &facts.what;
    let place = facts.place();
    let reason = facts.reason.as_deref().map(|it| format!("Reason: {it}.")).unwrap_or_default();
    let resource = facts.resource.as_deref().unwrap_or_default();
    let why = format!("For details, run `gpuaas why {resource}`.");
    let (title, paragraphs) = match kind {
        K::AccessBreakGlass => (
            format!("An operator accessed {what}"),
            vec![
                format!("A platform operator who is not a member of your organization opened a terminal on {what} {place} through emergency (break-glass) access."),
                reason,
                "To see the session, run `gpuaas access-sessions list`. If your organization records sessions, this one was recorded too."
                    .into(),
            ],
        ),
        K::AddressChange => (
            "Confirm your new email address".into(),
            vec![
                "Someone asked to use this email address for their account. If that was you, sign in and confirm the change.".into(),
                "If it was not you, ignore this email. The change does not take effect without it.".into(),
            ],
        ),
        K::AddressChanged => (
            "Your email address was changed".into(),
            vec![
                "The email address of your account was changed and the new address was confirmed. All sessions were signed out.".into(),
                "If you did not make this change, contact the platform's operators immediately.".into(),
            ],
        ),
        K::AllocationFailed => (
            format!("Allocation {what} failed"),
            vec![format!("{what} {place} could not be provisioned."), reason, why],
        ),
        K::AllocationLeaseEnding => (
            format!("The lease of {what} ends {}", moment(facts.at)),
            vec![
                format!(
                    "The lease of {what} {place} ends {}. The allocation is then released and the data on its disks is erased.",
                    moment(facts.at)
                ),
                "Save your data before then.".into(),
            ],
        ),
        K::AllocationNeedsAttention => (
            format!("Allocation {what} could not be sanitized"),
            vec![
                format!(
                    "A host of {what} {place} could not be sanitized. Its GPUs stay out of service until an operator has checked them."
                ),
                reason,
                why,
            ],
        ),
        K::AllocationNodeLost => (
            format!("Allocation {what} ended: its host is lost"),
            vec![
                format!("{what} {place} ended because one of its hosts no longer responds."),
                facts
                    .amount
                    .as_deref()
                    .map(|it| format!("Charges of {it} after the host was last seen are refunded automatically."))
                    .unwrap_or_default(),
                reason,
                why,
            ],
        ),
        K::AllocationOutOfFunds => (
            format!("Allocation {what} ended: the balance is used up"),
            vec![format!("{what} {place} was released because the balance of {} is used up.", facts.organization())],
        ),
        K::AllocationProjectEnded => (
            format!("Allocation {what} ended with its project"),
            vec![format!(
                "{what} {place} was released because its project was deleted or its organization was closed."
            )],
        ),
        K::AllocationStopEnding => (
            format!("The stopped allocation {what} ends {}", moment(facts.at)),
            vec![
                format!(
                    "{what} {place} has been stopped for a long time. It will be released {}, and the data on its disks will be erased.",
                    moment(facts.at)
                ),
                format!("To keep it, start it before then: `gpuaas allocations start {resource}`."),
            ],
        ),
        K::AllocationTakenBack => (
            format!("Allocation {what} was released by an operator"),
            vec![format!("{what} {place} was released by a platform operator."), reason, why],
        ),
        K::BudgetThreshold => (
            format!("{} has used {what} of its budget", facts.project.as_deref().unwrap_or("A project")),
            vec![
                facts
                    .balance
                    .as_deref()
                    .map(|it| format!("{} has used {it}.", facts.project_of()))
                    .unwrap_or_default(),
                facts.until.map(|at| format!("The budget resets at {}.", moment(Some(at)))).unwrap_or_default(),
                why,
            ],
        ),
        K::InvitationReceived => (
            format!("You are invited to {}", facts.organization()),
            vec![
                format!(
                    "{} invited you to join as {}. The invitation expires {}.",
                    facts.organization(),
                    facts.role.as_deref().unwrap_or("member"),
                    moment(facts.until)
                ),
                "If you already have an account, run `gpuaas invitations accept` and enter the token that the person who invited you can see."
                    .into(),
            ],
        ),
        K::InvoiceIssued => issued(facts),
        K::MaintenancePlanned => (
            format!("Maintenance scheduled from {}", moment(facts.at)),
            vec![
                format!(
                    "Hosts used by {} will be out of service from {} to {}. Allocations on them end when the maintenance starts.",
                    facts.project_of(),
                    moment(facts.at),
                    moment(facts.until)
                ),
                reason,
            ],
        ),
        K::MfaChanged => second_factors(facts),
        K::PasswordReset if facts.is_issuers => (
            "Your account has no password".into(),
            vec![
                "Someone requested a password reset for the account with this email address. The account has no password: sign in through your organization's identity provider, with `gpuaas login --oidc` or single sign-on in the console."
                    .into(),
                "If it was not you, ignore this email. If the identity provider is no longer available, contact the platform's operators.".into(),
            ],
        ),
        K::PasswordReset => (
            "Reset your password".into(),
            vec![
                "Someone requested a password reset for the account with this email address. Use this email to set a new password. It works once and expires soon."
                    .into(),
                "If it was not you, ignore this email. Your password stays the same.".into(),
            ],
        ),
        K::OrganizationSuspended => (
            format!("{} is suspended", facts.organization()),
            vec![
                format!(
                    "The platform's operators suspended {}. Its running allocations are being stopped, and no allocation can be placed or started.",
                    facts.organization()
                ),
                "Members can still view, stop and release allocations. Files are retained. When the organization is resumed, start the allocations that you need."
                    .into(),
            ],
        ),
        K::PaymentDisputed => disputed(facts),
        K::PaymentFailed => (
            format!("A payment of {} failed", amount(facts)),
            vec![
                format!(
                    "The payment of {} for {} failed. You were not charged.",
                    amount(facts),
                    facts.organization()
                ),
                reason,
                "To try again, run `gpuaas payments create`.".into(),
            ],
        ),
        K::PaymentSucceeded => (
            format!("A payment of {} was received", amount(facts)),
            vec![
                format!("{} was added to the balance of {}.", amount(facts), facts.organization()),
                "To see your balance, run `gpuaas ledger balance`.".into(),
            ],
        ),
        K::RefundSettled => refunded(facts, reason),
        K::SignUpConfirmation => (
            "Confirm your email address".into(),
            vec![
                "Someone requested an account with this email address. If that was you, confirm the address and choose a name and a password to create the account."
                    .into(),
                "If it was not you, ignore this email. No account is created.".into(),
            ],
        ),
        K::WalletDepleted => (
            format!("The balance of {} is used up", facts.organization()),
            vec![
                format!(
                    "The balance of {} is used up and the grace period is over. Allocations are being released, newest first.",
                    facts.organization()
                ),
                balance(facts),
                "Add funds to keep the remaining allocations. To see your balance, run `gpuaas ledger balance`.".into(),
            ],
        ),
        K::WalletFunded => (
            format!("{} has funds again", facts.organization()),
            vec![format!(
                "The balance of {} is sufficient again. No more allocations are released for lack of funds.",
                facts.organization()
            )],
        ),
        K::WalletGrace => (
            format!("The balance of {} is used up: allocations will end", facts.organization()),
            vec![
                format!(
                    "The balance of {} no longer covers its running allocations. Unless funds are added, allocations are released when the grace period ends.",
                    facts.organization()
                ),
                grace(facts),
                "To see your balance, run `gpuaas ledger balance`.".into(),
            ],
        ),
        K::WalletLow => (
            format!("The balance of {} is low", facts.organization()),
            vec![forecast(facts), "To see your balance, run `gpuaas ledger balance`.".into()],
        ),
        K::WebhookDisabled => (
            format!("A webhook of {} was disabled", facts.organization()),
            vec![
                format!("Events are no longer sent to {what} because too many deliveries in a row failed."),
                reason,
                format!("When the receiver works again, run `gpuaas webhooks enable {resource}`."),
            ],
        ),
    };
    let paragraphs: Vec<String> = paragraphs.into_iter().filter(|it| !it.is_empty()).collect();
    NotificationText { title, body: paragraphs.join("\n\n") }
}

fn issued(facts: &Facts) -> (String, Vec<String>) {
    let period = facts.period.as_deref().map(|it| format!(" for {it}")).unwrap_or_default();
    let what = &facts.what;
    let comes_to = match (facts.is_credit, facts.due.as_deref()) {
        (true, _) => format!("{} was returned to the prepaid balance.", amount(facts)),
        (false, None) => format!("The total is {}, paid from the prepaid balance.", amount(facts)),
        (false, Some(due)) => {
            format!(
                "The total is {}. The balance did not cover {due} of it; make a payment for the rest.",
                amount(facts)
            )
        }
    };
    let resource = facts.resource.as_deref().unwrap_or_default();
    (
        format!("{what}{period}"),
        vec![
            format!("{what} of {}{period} was issued. {comes_to}", facts.organization()),
            format!("To download it, run `gpuaas invoices download {resource}`."),
        ],
    )
}

fn second_factors(facts: &Facts) -> (String, Vec<String>) {
    let named = facts.reason.as_deref().unwrap_or("a device");
    let (title, happened) = match facts.what.as_str() {
        "mfa_factor.added" => {
            ("A second factor was added to your account", format!("`{named}` can now be used to confirm your identity."))
        }
        "mfa_factor.removed" => {
            ("A second factor was removed from your account", format!("`{named}` can no longer be used to confirm your identity."))
        }
        "recovery_code.replaced" => {
            ("Your recovery codes were replaced", "Your previous recovery codes no longer work.".into())
        }
        "recovery_code.used" => (
            "One of your recovery codes was used",
            format!("A recovery code was used instead of your second factor. Codes left: {named}."),
        ),
        _ => (
            "The second factors of your account were reset",
            "A platform operator removed your second factors and ended your sessions. To add a new one, run `gpuaas me mfa enroll`."
                .into(),
        ),
    };
    let advice = "If this was not you, change your password, run `gpuaas sessions revoke-all` and contact the \
        platform's operators.";
    (title.into(), vec![happened, advice.into()])
}

fn disputed(facts: &Facts) -> (String, Vec<String>) {
    let (amount, organization) = (amount(facts), facts.organization());
    match facts.what.as_str() {
        "won" => (
            format!("The dispute about {amount} was won"),
            vec![format!("The bank decided in your favor: {amount} was returned to the balance of {organization}.")],
        ),
        "lost" => (
            format!("The dispute about {amount} was lost"),
            vec![format!("The bank decided in favor of the payer: {amount} is not returned to the balance of {organization}.")],
        ),
        _ => (
            format!("A payment of {amount} is disputed"),
            vec![
                format!("The payer's bank withdrew {amount} from the balance of {organization} until it reaches a decision."),
                "If the remaining balance does not cover your allocations, they may be released. To see your balance, run `gpuaas ledger balance`."
                    .into(),
            ],
        ),
    }
}

fn refunded(facts: &Facts, reason: String) -> (String, Vec<String>) {
    let (amount, organization) = (amount(facts), facts.organization());
    match facts.what == RefundState::Failed.as_str() {
        true => (
            format!("A refund of {amount} failed"),
            vec![format!("The payment provider could not refund {amount} to the payer of {organization}."), reason],
        ),
        false => (
            format!("A refund of {amount} was paid"),
            vec![format!("{amount} was refunded from the balance of {organization} to the payer.")],
        ),
    }
}

fn amount(facts: &Facts) -> &str {
    facts.amount.as_deref().unwrap_or("money")
}

fn balance(facts: &Facts) -> String {
    facts.balance.as_deref().map(|it| format!("The balance is {it}.")).unwrap_or_default()
}

fn forecast(facts: &Facts) -> String {
    let lasts = facts.until.map(|it| format!("At the current rate it lasts until {}.", moment(Some(it))));
    joined(balance(facts), lasts)
}

fn grace(facts: &Facts) -> String {
    let ends = facts.until.map(|it| format!("The grace period ends {}.", moment(Some(it))));
    joined(balance(facts), ends)
}

fn joined(first: String, second: Option<String>) -> String {
    [first, second.unwrap_or_default()].join(" ").trim().to_owned()
}

fn moment(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "soon".into(), |it| it.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

impl Facts {
    fn organization(&self) -> &str {
        self.organization.as_deref().unwrap_or("your organization")
    }

    fn project_of(&self) -> String {
        match &self.project {
            Some(project) => format!("project {project} of {}", self.organization()),
            None => self.organization().to_owned(),
        }
    }

    fn place(&self) -> String {
        format!("({})", self.project_of())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_says_something_even_when_little_is_known() {
        for kind in NotificationKind::ALL {
            let said = say(*kind, &Facts { what: "it".into(), ..Facts::default() });
            assert!(!said.title.is_empty() && said.title.len() < 200, "{kind}: {said:?}");
            assert!(!said.body.contains("\n\n\n") && !said.body.contains("  "), "{kind}: {said:?}");
        }
    }

    #[test]
    fn money_that_ends_says_how_much_there_is_and_until_when() {
        let facts = Facts {
            organization: Some("Acme".into()),
            balance: Some("1.50 USD".into()),
            until: Some("2026-01-02T03:04:05Z".parse().unwrap()),
            ..Facts::default()
        };
        let low = say(NotificationKind::WalletLow, &facts).body;
        assert!(low.starts_with("The balance is 1.50 USD. At the current rate it lasts until 2026-01-02 03:04 UTC."));
        let grace = say(NotificationKind::WalletGrace, &facts).body;
        assert!(grace.contains("The balance is 1.50 USD. The grace period ends 2026-01-02 03:04 UTC."), "{grace}");
        let idle = say(NotificationKind::WalletLow, &Facts { until: None, ..facts }).body;
        assert!(idle.starts_with("The balance is 1.50 USD.\n\n"), "{idle}");
    }

    #[test]
    fn an_invoice_says_what_it_comes_to_and_what_is_due() {
        let facts = Facts {
            what: "Invoice 2026-000007".into(),
            organization: Some("Acme".into()),
            resource: Some("invoice-1".into()),
            period: Some("2026-11".into()),
            amount: Some("11.90 USD".into()),
            ..Facts::default()
        };
        let paid = say(NotificationKind::InvoiceIssued, &facts);
        assert_eq!(paid.title, "Invoice 2026-000007 for 2026-11");
        assert!(
            paid.body.contains("was issued. The total is 11.90 USD, paid from the prepaid balance."),
            "{}",
            paid.body
        );
        let due = say(NotificationKind::InvoiceIssued, &Facts { due: Some("1.90 USD".into()), ..facts }).body;
        assert!(due.contains("The total is 11.90 USD. The balance did not cover 1.90 USD of it"), "{due}");
    }

    #[test]
    fn an_ending_lease_names_what_ends_where_and_when() {
        let facts = Facts {
            what: "train-1".into(),
            organization: Some("Acme".into()),
            project: Some("research".into()),
            at: Some("2026-01-02T03:04:05Z".parse().unwrap()),
            ..Facts::default()
        };
        let said = say(NotificationKind::AllocationLeaseEnding, &facts);
        assert_eq!(said.title, "The lease of train-1 ends 2026-01-02 03:04 UTC");
        assert!(
            said.body.starts_with("The lease of train-1 (project research of Acme) ends 2026-01-02 03:04 UTC."),
            "{}",
            said.body
        );
    }
}
