//! What the end of a project or an organization does to everything that belongs
//! to it. Resources with a lifecycle say it there, in `Machine::PARENT_END`,
//! without which they do not compile; other tables say it here. A test compares
//! both with the columns of the database, so that no table can be forgotten.

use kernel::machine::{Machine, ParentEnd};

/// Tables with an organization or a project and without a lifecycle.
pub const TABLES: &[(&str, ParentEnd)] = &[
    ("access_tickets", ParentEnd::EndsToo("`access_sessions/judge.rs`: none is good for an allocation that ended")),
    ("accounts", BOOKS),
    (
        "allocation_keys",
        ParentEnd::EndsToo("`allocations/host_keys.rs`: hosts are sent no keys of one that is not active"),
    ),
    ("allocation_parts", ParentEnd::EndsToo("with its allocation, whose record it stays")),
    ("audit", ParentEnd::Stays("evidence, for as long as `audit.keep_days` says")),
    ("billing_profiles", ParentEnd::Stays("the last invoice needs it")),
    ("books", BOOKS),
    ("budget_notices", BUDGETS),
    ("budgets", BUDGETS),
    ("checkpoints", BOOKS),
    ("disputes", BOOKS),
    ("entries", BOOKS),
    ("holds", ParentEnd::EndsToo("the trigger `move_hold`, when its allocation ends")),
    ("invoices", BOOKS),
    ("invoicing", BOOKS),
    ("journals", BOOKS),
    ("keys", MEMBERS),
    ("maintenance_notices", ParentEnd::Stays("who was told of a maintenance window")),
    ("memberships", MEMBERS),
    ("notifications", ParentEnd::Stays("what people were told, for as long as `notifications.keep_days` says")),
    ("outbox", ParentEnd::Stays("events, for as long as `events.keep_days` says")),
    ("policies", ParentEnd::Stays("settings of what is not used any more")),
    ("quotas", ParentEnd::Stays("settings of what is not used any more")),
    ("recording_chunks", ParentEnd::EndsToo("with its recording")),
    ("recording_segments", ParentEnd::EndsToo("with its recording")),
    ("service_accounts", MEMBERS),
    ("usage", BOOKS),
];

const BOOKS: ParentEnd = ParentEnd::Stays("the record of money");
const BUDGETS: ParentEnd = ParentEnd::Stays("a project that is deleted spends nothing");
const MEMBERS: ParentEnd = ParentEnd::Stays("members of what ended can read, stop and release, and nothing else");

/// Every declaration, by table.
pub fn declared() -> Vec<(&'static str, ParentEnd)> {
    macro_rules! of_machines {
        ($($machine:path),* $(,)?) => {
            vec![$((<$machine as Machine>::TABLE, <$machine as Machine>::PARENT_END)),*]
        };
    }
    let mut all: Vec<(&str, ParentEnd)> = crate::for_each_machine!(of_machines);
    all.extend_from_slice(TABLES);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projects::Resident;

    #[test]
    fn what_ends_first_is_what_projects_wait_for() {
        let first = declared().into_iter().filter(|(_, end)| *end == ParentEnd::EndsFirst).map(|(table, _)| table);
        let waited = Resident::ALL.iter().map(|it| it.table());
        assert_eq!(first.collect::<Vec<_>>(), waited.collect::<Vec<_>>());
    }

    #[test]
    fn a_table_is_declared_once() {
        let mut tables: Vec<&str> = declared().into_iter().map(|(table, _)| table).collect();
        let all = tables.len();
        tables.sort_unstable();
        tables.dedup();
        assert_eq!(tables.len(), all);
    }
}
