//! What is taken back when a step fails, as a table: written from the
//! lifecycle, the orders and the task catalog, so that it cannot drift.

use contract::{
    Word,
    allocations::AllocationState::{self, Releasing},
};
use kernel::lifecycle::Lifecycle;
use protocol::Verb;

use super::{
    lifecycle::{AllocationLifecycle, Event},
    orders,
};

/// Events that end an allocation before its time or because something failed.
const BREAKS: &[Event] = &[
    Event::Rejected,
    Event::ProvisionFailed,
    Event::StartFailed,
    Event::NodeLost,
    Event::ReleaseRequested,
    Event::LeaseEnded,
    Event::StopExpired,
    Event::ProjectEnded,
    Event::ForceReleased,
    Event::FundsExhausted,
    Event::Canceled,
    Event::CleaningFailed,
    Event::Abandoned,
];

pub fn table() -> String {
    let mut out = String::from(
        "# Compensation\n\nWritten from `crates/compute/src/allocations/` and the task catalog; do not edit.\n\n\
         What happens to an allocation when a step fails or is canceled. Its slots are dirty from the moment they are\n\
         reserved, and become clean only by a report of the host; slots that cannot be sanitized are quarantined.\n\
         A failed start returns to `stopped`: the data of the project is not lost. An allocation that hosts cannot\n\
         stop stays `stopping` and needs attention: `stop` retries, `release` ends it.\n\n\
         | state | task of the hosts | event | next state | compensated by | final state |\n|---|---|---|---|---|---|\n",
    );
    for state in AllocationLifecycle::STATES {
        for event in BREAKS {
            if let Some(to) = AllocationLifecycle::next(*state, *event) {
                out += &row(*state, *event, to);
            }
        }
    }
    out += "\n## Failures of hosts\n\nEach is reported with its step; a retryable one is retried `allocations.provision_attempts` or `allocations.cleaning_attempts` times.\n\n\
            | verb | code | meaning | compensation |\n|---|---|---|---|\n";
    for state in AllocationLifecycle::STATES {
        let Some(verb) = orders::verb_name(*state) else { continue };
        let Some(entry) = Verb::CATALOG.iter().find(|it| it.name == verb) else { continue };
        let event = failure(*state);
        let stays = if *state == AllocationState::Stopping { "stays, and needs attention" } else { "stays" };
        let to = event.and_then(|it| AllocationLifecycle::next(*state, it)).map_or(stays, |it| it.as_str());
        for (code, meaning) in entry.failures {
            out += &format!("| `{verb}` while {} | `{code}` | {meaning} | {to} |\n", state.as_str());
        }
    }
    out
}

fn row(state: AllocationState, event: Event, to: AllocationState) -> String {
    let asked = orders::verb_name(state).map_or_else(|| "nothing".to_owned(), |it| format!("`{it}`"));
    let back = orders::verb_name(to).map_or_else(|| "nothing".to_owned(), |it| format!("`{it}`"));
    let ends = match (to, event) {
        (Releasing, Event::ProvisionFailed | Event::NodeLost) => "`failed`, or `release_failed` with quarantined slots",
        (AllocationState::Stopping, _) => "`stopped` with its slots reserved, or `stopping` and needs attention",
        (Releasing, _) => "`released`, or `release_failed` with quarantined slots",
        (AllocationState::ReleaseFailed, _) => {
            "with `release` again, or `force-release`, which leaves the slots quarantined"
        }
        _ => "here",
    };
    format!(
        "| `{}` | {asked} | `{}` | `{}` | {back} | {ends} |\n",
        state.as_str(),
        AllocationLifecycle::event_name(event),
        to.as_str()
    )
}

/// The event that a failure of hosts leads to.
fn failure(state: AllocationState) -> Option<Event> {
    let failures = [Event::ProvisionFailed, Event::StartFailed, Event::CleaningFailed];
    failures.into_iter().find(|it| AllocationLifecycle::next(state, *it).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_in_which_hosts_work_can_be_broken_off_and_is_cleaned_up() {
        for state in AllocationLifecycle::STATES {
            if orders::verb_name(*state).is_none() || *state == Releasing {
                continue;
            }
            for event in [Event::NodeLost, Event::ForceReleased, Event::ReleaseRequested] {
                assert_eq!(AllocationLifecycle::next(*state, event), Some(Releasing), "{state:?} {event:?}");
            }
        }
        assert_eq!(orders::verb_name(Releasing), Some("ensure_gone"));
    }
}
