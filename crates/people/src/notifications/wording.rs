//! What each kind of notification says. Pure; plain text, escaped where it is
//! put into HTML.

use contract::{Timestamp, Word, notification_kinds::NotificationKind, refunds::RefundState};

use super::store::Facts;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationText {
    pub title: String,
    /// Paragraphs, parted by empty lines.
    pub body: String,
}

pub fn say(kind: NotificationKind, facts: &Facts) -> NotificationText {
    use NotificationKind as K;
    let what = &facts.what;
    let place = facts.place();
    let reason = facts.reason.as_deref().map(|it| format!("The reason: {it}.")).unwrap_or_default();
    let resource = facts.resource.as_deref().unwrap_or_default();
    let why = format!("`gpuaas why {resource}` says more.");
    let (title, paragraphs) = match kind {
        K::AccessBreakGlass => (
            format!("An operator opened a way into {what}"),
            vec![
                format!("An operator of the platform got a terminal on {what} {place}, without being a member."),
                reason,
                "`gpuaas access-sessions list` shows the session, and its recording is kept where recordings are."
                    .into(),
            ],
        ),
        K::AddressChange => (
            "Confirm your new address".into(),
            vec![
                "Somebody wants to use this address for their account. If that was you, sign in and confirm it.".into(),
                "If it was not you, do nothing: without this mail the address stays as it is.".into(),
            ],
        ),
        K::AddressChanged => (
            "The address of your account was changed".into(),
            vec![
                "Your account has another address now, which was confirmed there. Every session was signed out.".into(),
                "If that was not you, tell the operators of the platform at once.".into(),
            ],
        ),
        K::AllocationFailed => (
            format!("Allocation {what} failed"),
            vec![format!("{what} {place} could not be placed or prepared."), reason, why],
        ),
        K::AllocationLeaseEnding => (
            format!("The lease of {what} ends {}", moment(facts.at)),
            vec![
                format!(
                    "{what} {place} ends {}, when its lease does. What is on its disks is erased then.",
                    moment(facts.at)
                ),
                "Save what you need before.".into(),
            ],
        ),
        K::AllocationNeedsAttention => (
            format!("Allocation {what} could not be cleaned"),
            vec![
                format!(
                    "A host of {what} {place} could not be cleaned. Its GPUs stay out of use until an operator looked."
                ),
                reason,
                why,
            ],
        ),
        K::AllocationNodeLost => (
            format!("Allocation {what} ended: its host is lost"),
            vec![
                format!("{what} {place} ended. A host that it was on no longer answers."),
                facts
                    .amount
                    .as_deref()
                    .map(|it| format!("{it} that were charged after the host was last heard are refunded."))
                    .unwrap_or_default(),
                reason,
                why,
            ],
        ),
        K::AllocationOutOfFunds => (
            format!("Allocation {what} ended: the money ran out"),
            vec![format!("{what} {place} was released, because the balance of {} is used up.", facts.organization())],
        ),
        K::AllocationProjectEnded => (
            format!("Allocation {what} ended with its project"),
            vec![format!(
                "{what} {place} was released, because its project was deleted or its organization was closed."
            )],
        ),
        K::AllocationStopEnding => (
            format!("The stopped allocation {what} ends {}", moment(facts.at)),
            vec![
                format!(
                    "{what} {place} has been stopped for long. It is released {}, and what is on its disks is erased then.",
                    moment(facts.at)
                ),
                format!("Start it before that to keep it: `gpuaas allocations start {resource}`."),
            ],
        ),
        K::AllocationTakenBack => (
            format!("Allocation {what} was ended by an operator"),
            vec![format!("{what} {place} was ended by an operator of the platform."), reason, why],
        ),
        K::BudgetThreshold => (
            format!("{} used {what} of its budget", facts.project.as_deref().unwrap_or("A project")),
            vec![
                facts
                    .balance
                    .as_deref()
                    .map(|it| format!("{it} are used by {}.", facts.project_of()))
                    .unwrap_or_default(),
                facts.until.map(|at| format!("It begins anew at {}.", moment(Some(at)))).unwrap_or_default(),
                why,
            ],
        ),
        K::InvitationReceived => (
            format!("You are invited to {}", facts.organization()),
            vec![
                format!(
                    "{} invites you, as {}. The invitation can be accepted until {}.",
                    facts.organization(),
                    facts.role.as_deref().unwrap_or("member"),
                    moment(facts.until)
                ),
                "If you have an account, `gpuaas invitations accept` asks for the token that whoever invited you has."
                    .into(),
            ],
        ),
        K::InvoiceIssued => issued(facts),
        K::MaintenancePlanned => (
            format!("Maintenance from {}", moment(facts.at)),
            vec![
                format!(
                    "Hosts that {} uses are out of service from {} to {}. What is on them ends then.",
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
                "Somebody asked for a new password for the account of this address. It has none: sign in through your organization's issuer, with `gpuaas login --oidc` or single sign-on in the console."
                    .into(),
                "If it was not you, do nothing. If the issuer is gone, ask the operators of the platform.".into(),
            ],
        ),
        K::PasswordReset => (
            "Set a new password".into(),
            vec![
                "Somebody asked for a new password for the account of this address. It is set with this mail, once and soon."
                    .into(),
                "If it was not you, do nothing: your password stays as it is.".into(),
            ],
        ),
        K::OrganizationSuspended => (
            format!("{} is suspended", facts.organization()),
            vec![
                format!(
                    "Operators of the platform suspended {}. What it runs is being stopped, and nothing is placed or started.",
                    facts.organization()
                ),
                "Members can still read, stop and release. Files stay; once it is resumed, start what you need again."
                    .into(),
            ],
        ),
        K::PaymentDisputed => disputed(facts),
        K::PaymentFailed => (
            format!("A payment of {} was refused", amount(facts)),
            vec![
                format!(
                    "The payment of {} to {} did not arrive; nothing was paid.",
                    amount(facts),
                    facts.organization()
                ),
                reason,
                "`gpuaas payments create` begins another.".into(),
            ],
        ),
        K::PaymentSucceeded => (
            format!("A payment of {} arrived", amount(facts)),
            vec![
                format!("{} are in the balance of {}.", amount(facts), facts.organization()),
                "`gpuaas ledger balance` shows where you stand.".into(),
            ],
        ),
        K::RefundSettled => refunded(facts, reason),
        K::SignUpConfirmation => (
            "Confirm your address".into(),
            vec![
                "Somebody asked for an account with this address. If that was you, confirm it and choose a name and a password: there is an account from then on."
                    .into(),
                "If it was not you, do nothing: there is no account.".into(),
            ],
        ),
        K::WalletDepleted => (
            format!("The balance of {} is used up", facts.organization()),
            vec![
                format!(
                    "The money of {} ran out, and the grace is over. Allocations are being released, the newest first.",
                    facts.organization()
                ),
                balance(facts),
                "Add funds to keep what is left: `gpuaas ledger balance` shows where you stand.".into(),
            ],
        ),
        K::WalletFunded => (
            format!("{} has funds again", facts.organization()),
            vec![format!(
                "The balance of {} is sufficient again; nothing is released for lack of it.",
                facts.organization()
            )],
        ),
        K::WalletGrace => (
            format!("The money of {} is used up: allocations will end", facts.organization()),
            vec![
                format!(
                    "What {} runs can no longer be paid for. Unless funds are added, allocations end when the grace is over.",
                    facts.organization()
                ),
                grace(facts),
                "`gpuaas ledger balance` shows where you stand.".into(),
            ],
        ),
        K::WalletLow => (
            format!("The balance of {} is low", facts.organization()),
            vec![forecast(facts), "`gpuaas ledger balance` shows where you stand.".into()],
        ),
        K::WebhookDisabled => (
            format!("A webhook of {} was disabled", facts.organization()),
            vec![
                format!("Nothing is sent to {what} any more: too many events in a row did not arrive."),
                reason,
                format!("When the receiver works again: `gpuaas webhooks enable {resource}`."),
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
        (true, _) => format!("{} are back in the prepaid balance.", amount(facts)),
        (false, None) => format!("It comes to {}, paid from the prepaid balance.", amount(facts)),
        (false, Some(due)) => {
            format!("It comes to {}. The balance did not cover {due} of it; a payment does.", amount(facts))
        }
    };
    let resource = facts.resource.as_deref().unwrap_or_default();
    (
        format!("{what}{period}"),
        vec![
            format!("{what} of {}{period} was issued. {comes_to}", facts.organization()),
            format!("`gpuaas invoices download {resource}` saves it."),
        ],
    )
}

fn second_factors(facts: &Facts) -> (String, Vec<String>) {
    let named = facts.reason.as_deref().unwrap_or("a device");
    let (title, happened) = match facts.what.as_str() {
        "mfa_factor.added" => {
            ("A second factor was added to your account", format!("`{named}` now confirms that it is you."))
        }
        "mfa_factor.removed" => {
            ("A second factor was removed from your account", format!("`{named}` no longer confirms that it is you."))
        }
        "recovery_code.replaced" => {
            ("Your recovery codes were replaced", "The recovery codes that you had before no longer work.".into())
        }
        "recovery_code.used" => (
            "A recovery code of yours was used",
            format!("A recovery code was used in place of your second factor; {named} are left."),
        ),
        _ => (
            "The second factors of your account were reset",
            "An operator of the platform removed them and ended your sessions. Add a new one: `gpuaas me mfa enroll`."
                .into(),
        ),
    };
    let advice = "If this was not you, change your password, run `gpuaas sessions revoke-all` and tell the \
        platform's operators.";
    (title.into(), vec![happened, advice.into()])
}

fn disputed(facts: &Facts) -> (String, Vec<String>) {
    let (amount, organization) = (amount(facts), facts.organization());
    match facts.what.as_str() {
        "won" => (
            format!("The dispute about {amount} was won"),
            vec![format!("The bank decided: {amount} are in the balance of {organization} again.")],
        ),
        "lost" => (
            format!("The dispute about {amount} was lost"),
            vec![format!("The bank decided: {amount} stay taken from the balance of {organization}.")],
        ),
        _ => (
            format!("A payment of {amount} is disputed"),
            vec![
                format!("The payer's bank took {amount} back from the balance of {organization}, until it has decided."),
                "Unless the balance is enough without it, allocations may end: `gpuaas ledger balance` shows where you stand."
                    .into(),
            ],
        ),
    }
}

fn refunded(facts: &Facts, reason: String) -> (String, Vec<String>) {
    let (amount, organization) = (amount(facts), facts.organization());
    match facts.what == RefundState::Failed.as_str() {
        true => (
            format!("A refund of {amount} could not be paid"),
            vec![format!("The provider could not give {amount} back to the payer of {organization}."), reason],
        ),
        false => (
            format!("A refund of {amount} was paid"),
            vec![format!("{amount} went from the balance of {organization} back to the payer.")],
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
    let lasts = facts.until.map(|it| format!("At the present use it lasts until {}.", moment(Some(it))));
    joined(balance(facts), lasts)
}

fn grace(facts: &Facts) -> String {
    let ends = facts.until.map(|it| format!("The grace ends {}.", moment(Some(it))));
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
        assert!(low.starts_with("The balance is 1.50 USD. At the present use it lasts until 2026-01-02 03:04 UTC."));
        let grace = say(NotificationKind::WalletGrace, &facts).body;
        assert!(grace.contains("The balance is 1.50 USD. The grace ends 2026-01-02 03:04 UTC."), "{grace}");
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
            paid.body.contains("was issued. It comes to 11.90 USD, paid from the prepaid balance."),
            "{}",
            paid.body
        );
        let due = say(NotificationKind::InvoiceIssued, &Facts { due: Some("1.90 USD".into()), ..facts }).body;
        assert!(due.contains("It comes to 11.90 USD. The balance did not cover 1.90 USD of it"), "{due}");
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
            said.body.starts_with("train-1 (project research of Acme) ends 2026-01-02 03:04 UTC,"),
            "{}",
            said.body
        );
    }
}
