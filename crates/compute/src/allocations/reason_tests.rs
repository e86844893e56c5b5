use contract::{Word, allocations::AllocationReason};
use fleet::{nodes::LossCause, tasks::NoEvidence};
use planner::{Denial, Invalid};
use protocol::Refusal;
use serde_json::{Value, json};

use super::*;

fn failures() -> Vec<TaskFailure> {
    let mut all = vec![
        TaskFailure::NoResponse,
        TaskFailure::Failed { step: "user".into(), code: "disk_full".into(), detail: "no space is left".into() },
        TaskFailure::NoProof,
        TaskFailure::OtherGpus { requested: 8 },
        TaskFailure::SelfTest { detail: "GPU 3 is slow".into() },
    ];
    all.extend(Refusal::ALL.iter().map(|refusal| TaskFailure::Rejected { refusal: *refusal }));
    let missing =
        [NoEvidence::NotConfirmed, NoEvidence::UserLeft, NoEvidence::FilesLeft, NoEvidence::ProcessesLeft { count: 3 }];
    all.extend(missing.map(|missing| TaskFailure::NoEvidence { missing }));
    all
}

fn causes() -> [LossCause; 5] {
    [
        LossCause::Silent,
        LossCause::Retired { said: "it burned down".into() },
        LossCause::NotSanitized { detail: "the host was not sanitized in time".into() },
        LossCause::MachineReturned { detail: "it is a stray".into() },
        LossCause::MachineFailed { detail: "Failed deployment".into() },
    ]
}

/// Each variant at least once, with each kind of parameter.
fn all() -> Vec<Reason> {
    let rules = [
        Invalid::NothingNeeded,
        Invalid::MixedSlots,
        Invalid::TooManyGpus,
        Invalid::NoNodes,
        Invalid::TooManyNodes,
        Invalid::ListTooLong,
    ];
    let shortages = [
        Denial::NoRoom,
        Denial::Gang { fitting: 1, wanted: 2 },
        Denial::SameFabric { fitting: 1, wanted: 2 },
        Denial::Invalid(Invalid::NoNodes),
    ];
    let mut all = vec![
        Reason::Suspended,
        Reason::NotItsTurn,
        Reason::OlderRequests { others: 3 },
        Reason::SanitizedAgain,
        Reason::LeaseEnded,
        Reason::StoppedTooLong { hours: 8 },
        Reason::StoppedByProject,
        Reason::ReleasedByProject,
        Reason::ProjectDeleted,
        Reason::OutOfFunds,
        Reason::ForceReleased { said: "the host burns".into() },
        Reason::NodeDrained,
        Reason::Unknown,
    ];
    for (could_run, kept) in [(false, 0), (true, 0), (true, 1), (true, 2)] {
        all.extend(shortages.map(|shortage| Reason::NoRoom { shortage, could_run, kept }));
    }
    all.extend(rules.map(|rule| Reason::NeverFits { rule }));
    all.extend(causes().map(|cause| Reason::NodeLost { cause }));
    for failure in failures() {
        all.push(Reason::TaskFailed { failure: failure.clone() });
        all.push(Reason::StartFailed { failure: failure.clone() });
        all.push(Reason::KeysNotWritten { failure });
    }
    all
}

#[test]
fn reasons_are_read_from_json_as_they_were_written() {
    for reason in all() {
        let text = serde_json::to_string(&reason).unwrap();
        assert_eq!(serde_json::from_str::<Reason>(&text).unwrap(), reason, "{text}");
    }
}

#[test]
fn reason_codes_of_the_api_are_those_in_the_database() {
    for reason in all() {
        let stored = serde_json::to_value(&reason).unwrap();
        assert_eq!(stored["code"], reason.code().as_str(), "{reason:?}");
    }
    for code in AllocationReason::ALL {
        assert!(all().iter().any(|it| it.code() == *code), "no reason has the code {code}");
    }
}

#[test]
fn reason_sentences_say_something_and_end_without_a_period() {
    for reason in all() {
        let sentence = reason.sentence();
        assert!(!sentence.trim().is_empty() && !sentence.ends_with('.'), "{reason:?}: {sentence:?}");
    }
}

#[test]
fn reason_parameters_are_values_that_a_program_can_read() {
    let shortage = Denial::Gang { fitting: 1, wanted: 2 };
    let found = serde_json::to_value(Reason::NoRoom { shortage, could_run: true, kept: 1 }).unwrap();
    let wanted = json!({ "code": "no_room", "shortage": { "gang": { "fitting": 1, "wanted": 2 } }, "could_run": true, "kept": 1 });
    assert_eq!(found, wanted);
    let failure = TaskFailure::Rejected { refusal: Refusal::Expired };
    let found: Value = serde_json::to_value(Reason::StartFailed { failure }).unwrap();
    assert_eq!(found, json!({ "code": "start_failed", "failure": { "kind": "rejected", "refusal": "expired" } }));
}

#[test]
fn reason_of_a_newer_release_is_unknown_and_no_error() {
    let newer = json!({ "code": "of_next_year", "moon": "full" });
    assert_eq!(serde_json::from_value::<Reason>(newer).unwrap(), Reason::Unknown);
    let newer = json!({ "code": "node_lost", "cause": { "kind": "stolen" } });
    assert_eq!(Reason::stored(newer), Reason::Unknown);
    let known = json!({ "code": "node_lost", "cause": { "kind": "silent" } });
    assert_eq!(Reason::stored(known), Reason::NodeLost { cause: LossCause::Silent });
}

#[test]
fn reason_sentences_are_cut_where_a_host_writes_a_novel() {
    let failure = TaskFailure::SelfTest { detail: "é".repeat(4000) };
    assert_eq!(Reason::TaskFailed { failure }.sentence().chars().count(), 500);
}
