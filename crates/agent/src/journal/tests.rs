use super::*;
use jiff::SignedDuration;
use protocol::{Done, Outcome};
use uuid::Uuid;

fn report(resource: &str) -> Report {
    Report {
        task: Uuid::now_v7(),
        resource: resource.into(),
        epoch: 1,
        version: 1,
        generation: 1,
        outcome: Outcome::Done { result: Done::Keys { count: 1 } },
    }
}

fn noon() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

#[test]
fn journal_is_complete_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let (first, second) = (report("a"), report("b"));
    let mut journal = Journal::open(&path, Bounds::HOST).unwrap();
    journal.accept("a", (1, 5)).unwrap();
    journal.record(noon(), first.clone()).unwrap();
    journal.record(noon(), second.clone()).unwrap();
    journal.acknowledge(vec![first.task]).unwrap();
    drop(journal);
    for _ in 0..2 {
        let journal = Journal::open(&path, Bounds::HOST).unwrap();
        assert_eq!(journal.highest("a"), Some((1, 5)));
        assert_eq!(journal.report(first.task), Some(&first));
        assert_eq!(journal.unacknowledged(), std::slice::from_ref(&second));
    }
}

#[test]
fn a_half_written_line_is_forgotten_and_a_damaged_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut journal = Journal::open(&path, Bounds::HOST).unwrap();
    journal.accept("a", (1, 5)).unwrap();
    drop(journal);
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"entry\":\"acce");
    std::fs::write(&path, &text).unwrap();
    let mut journal = Journal::open(&path, Bounds::HOST).unwrap();
    journal.accept("b", (1, 6)).unwrap();
    drop(journal);
    let journal = Journal::open(&path, Bounds::HOST).unwrap();
    assert_eq!((journal.highest("a"), journal.highest("b")), (Some((1, 5)), Some((1, 6))));
    drop(journal);
    std::fs::write(&path, format!("nonsense\n{text}\n")).unwrap();
    let damaged = Journal::open(&path, Bounds::HOST).err().unwrap();
    assert!(matches!(damaged, JournalError::Damaged { line: 1, .. }), "{damaged}");
}

#[test]
fn a_fence_only_rises() {
    let mut journal = Journal::in_memory(Bounds::SIM);
    journal.accept("a", (1, 5)).unwrap();
    journal.accept("a", (1, 4)).unwrap();
    assert_eq!(journal.highest("a"), Some((1, 5)));
    journal.accept("a", (2, 1)).unwrap();
    assert_eq!(journal.highest("a"), Some((2, 1)));
}

#[test]
fn journal_is_bounded_in_number_and_age() {
    let bounds = Bounds { reports: 3, report_age: SignedDuration::from_hours(1), resources: 2 };
    let mut journal = Journal::in_memory(bounds);
    let reports: Vec<Report> = (0..4).map(|at| report(&at.to_string())).collect();
    for report in &reports {
        journal.accept(&report.resource, (1, 1)).unwrap();
        journal.record(noon(), report.clone()).unwrap();
    }
    assert_eq!(journal.report(reports[0].task), None);
    assert_eq!(journal.report(reports[1].task), Some(&reports[1]));
    assert_eq!((journal.highest("1"), journal.highest("3")), (None, Some((1, 1))));
    journal.record(noon() + SignedDuration::from_hours(2), report("late")).unwrap();
    assert_eq!(journal.report(reports[3].task), None);
    assert_eq!(journal.unacknowledged().len(), 1);
}

#[test]
fn a_long_file_is_rewritten_short() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut journal = Journal::open(&path, Bounds::HOST).unwrap();
    for version in 0..1200 {
        journal.write(Entry::Accepted { resource: "a".into(), epoch: 1, version }, false).unwrap();
    }
    drop(journal);
    let lines = std::fs::read_to_string(&path).unwrap().lines().count();
    assert!(lines < 300, "{lines}");
    assert_eq!(Journal::open(&path, Bounds::HOST).unwrap().highest("a"), Some((1, 1199)));
}
