//! What hosts report as done counts only as evidence of what they were asked for.

use std::fmt;

use protocol::Done;
use serde::{Deserialize, Serialize};

/// What there must be evidence of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Nothing runs on the GPUs.
    Idle,
    /// That, and no user and no files are left.
    Gone,
}

/// Why a report is no evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoEvidence {
    /// It is a report of something else.
    NotConfirmed,
    UserLeft,
    FilesLeft,
    /// So many processes still use the GPUs.
    ProcessesLeft {
        count: u32,
    },
}

impl NoEvidence {
    /// Whether asking again may help.
    pub fn is_retryable(self) -> bool {
        match self {
            NoEvidence::NotConfirmed => false,
            NoEvidence::UserLeft | NoEvidence::FilesLeft | NoEvidence::ProcessesLeft { .. } => true,
        }
    }
}

impl fmt::Display for NoEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoEvidence::NotConfirmed => f.write_str("the host did not confirm that it was sanitized"),
            NoEvidence::UserLeft => f.write_str("the user still exists on the host"),
            NoEvidence::FilesLeft => f.write_str("the files still exist on the host"),
            NoEvidence::ProcessesLeft { count } => write!(f, "{count} processes still use the GPUs"),
        }
    }
}

impl Evidence {
    pub fn in_report(self, done: &Done) -> Result<(), NoEvidence> {
        let Done::Evidence { gpu_processes_left, user_removed, home_removed, .. } = done else {
            return Err(NoEvidence::NotConfirmed);
        };
        match (*gpu_processes_left, self, user_removed, home_removed) {
            (0, Evidence::Idle, ..) | (0, Evidence::Gone, true, true) => Ok(()),
            (0, Evidence::Gone, false, _) => Err(NoEvidence::UserLeft),
            (0, Evidence::Gone, true, false) => Err(NoEvidence::FilesLeft),
            (count, ..) => Err(NoEvidence::ProcessesLeft { count }),
        }
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
            assert!(Evidence::Gone.in_report(&left).is_err_and(NoEvidence::is_retryable), "{left:?}");
        }
        let other = Done::Keys { count: 0 };
        for wanted in [Evidence::Idle, Evidence::Gone] {
            assert!(wanted.in_report(&other).is_err_and(|it| !it.is_retryable()));
        }
    }
}
