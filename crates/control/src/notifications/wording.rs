//! What each kind of notification says. Pure; plain text, escaped where it is
//! put into HTML.

use contract::{Timestamp, notification_kinds::NotificationKind};

use super::store::Facts;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub title: String,
    /// Paragraphs, parted by empty lines.
    pub body: String,
}

pub fn say(kind: NotificationKind, facts: &Facts) -> Said {
    use NotificationKind as K;
    let what = &facts.what;
    let place = facts.place();
    let reason = facts.reason.as_deref().map(|it| format!("The reason: {it}.")).unwrap_or_default();
    let resource = facts.resource.as_deref().unwrap_or_default();
    let why = format!("`gpuaas why {resource}` says more.");
    let (title, paragraphs) = match kind {
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
            vec![format!("{what} {place} ended, because a host that it was on no longer answers."), reason, why],
        ),
        K::AllocationOutOfFunds => (
            format!("Allocation {what} ended: the money ran out"),
            vec![format!("{what} {place} was released, because the balance of {} is used up.", facts.organization())],
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
                "Whoever invited you has the token that it takes: `gpuaas invitations accept` asks for it.".into(),
            ],
        ),
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
    Said { title, body: paragraphs.join("\n\n") }
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
    use contract::Word;

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
