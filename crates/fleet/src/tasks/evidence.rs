//! What hosts report as done counts only as evidence of what they were asked for.

use protocol::Done;

/// What there must be evidence of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Nothing runs on the GPUs.
    Idle,
    /// That, and no user and no files are left.
    Gone,
}

/// Why a report is no evidence.
#[derive(Debug, PartialEq, Eq)]
pub struct NoEvidence {
    pub reason: String,
    /// Whether asking again may help.
    pub retryable: bool,
}

impl Evidence {
    pub fn in_report(self, done: &Done) -> Result<(), NoEvidence> {
        let Done::Evidence { gpu_processes_left, user_removed, home_removed, .. } = done else {
            return Err(NoEvidence { reason: "the host did not confirm that it was sanitized".into(), retryable: false });
        };
        let left = match (gpu_processes_left, self, user_removed, home_removed) {
            (0, Evidence::Idle, ..) | (0, Evidence::Gone, true, true) => return Ok(()),
            (0, Evidence::Gone, false, _) => "the user still exists on the host".into(),
            (0, Evidence::Gone, true, false) => "the files still exist on the host".into(),
            (count, ..) => format!("{count} processes still use the GPUs"),
        };
        Err(NoEvidence { reason: left, retryable: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(gpu_processes_left: u32, user_removed: bool, home_removed: bool) -> Done {
        Done::Evidence { stages: Vec::new(), processes_killed: 0, home_removed, user_removed, gpu_processes_left }
    }

    #[test]
    fn evidence_is_of_the_right_kind_and_leaves_nothing_behind() {
        assert_eq!(Evidence::Idle.in_report(&evidence(0, false, false)), Ok(()), "what is stopped keeps its files");
        assert_eq!(Evidence::Gone.in_report(&evidence(0, true, true)), Ok(()));
        for left in [evidence(1, true, true), evidence(0, false, true), evidence(0, true, false)] {
            assert!(Evidence::Gone.in_report(&left).is_err_and(|it| it.retryable), "{left:?}");
        }
        let other = Done::Keys { count: 0 };
        for wanted in [Evidence::Idle, Evidence::Gone] {
            assert!(wanted.in_report(&other).is_err_and(|it| !it.retryable));
        }
    }
}
