//! Why an allocation is in its state, as a code with parameters. Programs decide on the
//! code; the sentence is worded where a person reads it, and is stored nowhere.

use std::fmt;

use contract::allocations::AllocationReason as Code;
use fleet::{nodes::LossCause, tasks::NoEvidence};
use planner::{Denial, Invalid};
use protocol::Refusal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Reason {
    /// Its organization is suspended: it is stopped, or not placed.
    Suspended,
    /// Other organizations hold less and wait for the same.
    NotItsTurn,
    /// How many older requests of its organization wait for the same.
    OlderRequests {
        others: u32,
    },
    NoRoom {
        #[serde(with = "DenialCode")]
        shortage: Denial,
        /// Whether an empty fleet would have room.
        could_run: bool,
        /// How many nodes are reserved for it.
        kept: usize,
    },
    /// No fleet could ever hold it.
    NeverFits {
        #[serde(with = "InvalidCode")]
        rule: Invalid,
    },
    /// A host did not do what it was asked for.
    TaskFailed {
        failure: TaskFailure,
    },
    /// A host could not start it again.
    StartFailed {
        failure: TaskFailure,
    },
    /// A host could not write its SSH keys: someone may get in who should not.
    KeysNotWritten {
        failure: TaskFailure,
    },
    /// A host that could not sanitize it is back, and tries again.
    SanitizedAgain,
    LeaseEnded,
    StoppedTooLong {
        hours: u64,
    },
    StoppedByProject,
    ReleasedByProject,
    ProjectDeleted,
    OutOfFunds,
    /// An operator released it; in the words of that person.
    ForceReleased {
        said: String,
    },
    /// The deadline of the drain of one of its nodes has passed.
    NodeDrained,
    NodeLost {
        cause: LossCause,
    },
    /// What a newer release wrote, while both run.
    #[serde(other)]
    Unknown,
}

/// What a host did not do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TaskFailure {
    NoResponse,
    /// It says itself that a step failed.
    Failed {
        step: String,
        code: String,
        detail: String,
    },
    Rejected {
        refusal: Refusal,
    },
    /// Its report is not a proof.
    NoProof,
    /// Its proof lists other GPUs than those requested.
    OtherGpus {
        requested: usize,
    },
    SelfTest {
        detail: String,
    },
    NoEvidence {
        missing: NoEvidence,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Denial", rename_all = "snake_case")]
enum DenialCode {
    Invalid(#[serde(with = "InvalidCode")] Invalid),
    NoRoom,
    Gang { fitting: u32, wanted: u32 },
    SameFabric { fitting: u32, wanted: u32 },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Invalid", rename_all = "snake_case")]
enum InvalidCode {
    NothingNeeded,
    MixedSlots,
    TooManyGpus,
    NoNodes,
    TooManyNodes,
    ListTooLong,
}

impl Reason {
    /// As the database has it. What a newer release wrote with other parameters is unknown, and no error.
    pub fn stored(value: Value) -> Self {
        serde_json::from_value(value).unwrap_or(Reason::Unknown)
    }

    /// What programs tell reasons apart by.
    pub fn code(&self) -> Code {
        match self {
            Reason::Suspended => Code::Suspended,
            Reason::NotItsTurn => Code::NotItsTurn,
            Reason::OlderRequests { .. } => Code::OlderRequests,
            Reason::NoRoom { .. } => Code::NoRoom,
            Reason::NeverFits { .. } => Code::NeverFits,
            Reason::TaskFailed { .. } => Code::TaskFailed,
            Reason::StartFailed { .. } => Code::StartFailed,
            Reason::KeysNotWritten { .. } => Code::KeysNotWritten,
            Reason::SanitizedAgain => Code::SanitizedAgain,
            Reason::LeaseEnded => Code::LeaseEnded,
            Reason::StoppedTooLong { .. } => Code::StoppedTooLong,
            Reason::StoppedByProject => Code::StoppedByProject,
            Reason::ReleasedByProject => Code::ReleasedByProject,
            Reason::ProjectDeleted => Code::ProjectDeleted,
            Reason::OutOfFunds => Code::OutOfFunds,
            Reason::ForceReleased { .. } => Code::ForceReleased,
            Reason::NodeDrained => Code::NodeDrained,
            Reason::NodeLost { .. } => Code::NodeLost,
            Reason::Unknown => Code::Unknown,
        }
    }

    /// For people, of a length that a table and an email can show: hosts report at length.
    pub fn sentence(&self) -> String {
        // bound: hosts describe a failure in a line or two
        const MOST: usize = 500;
        self.to_string().chars().take(MOST).collect()
    }
}

/// What a request that found no room does to others.
pub fn effect_on_others(could_run: bool, kept: usize) -> Option<String> {
    match (could_run, kept) {
        (false, _) => Some(
            "it would not fit on the nodes in service even if they were empty, so it does not block later requests"
                .into(),
        ),
        (true, 0) => None,
        (true, 1) => Some("it has waited longest, so 1 node is reserved for it until it fits".into()),
        (true, nodes) => Some(format!("it has waited longest, so {nodes} nodes are reserved for it until it fits")),
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Suspended => f.write_str("the organization is suspended"),
            Reason::NotItsTurn => f.write_str("organizations that hold less come first"),
            Reason::OlderRequests { others: 1 } => {
                f.write_str("an older request of the organization waits for the same capacity")
            }
            Reason::OlderRequests { others } => {
                write!(f, "{others} older requests of the organization wait for the same capacity")
            }
            Reason::NoRoom { shortage, could_run, kept } => match effect_on_others(*could_run, *kept) {
                Some(effect) => write!(f, "{shortage}; {effect}"),
                None => shortage.fmt(f),
            },
            Reason::NeverFits { rule } => rule.fmt(f),
            Reason::TaskFailed { failure } => failure.fmt(f),
            Reason::StartFailed { failure } => write!(f, "it could not be started: {failure}"),
            Reason::KeysNotWritten { failure } => write!(f, "its hosts could not write its SSH keys: {failure}"),
            Reason::SanitizedAgain => f.write_str("its host is back online and sanitizes it again"),
            Reason::LeaseEnded => f.write_str("its lease ended"),
            Reason::StoppedTooLong { hours } => write!(f, "it was stopped for longer than {hours} hours"),
            Reason::StoppedByProject => f.write_str("stopped by its project"),
            Reason::ReleasedByProject => f.write_str("released by its project"),
            Reason::ProjectDeleted => f.write_str("its project was deleted"),
            Reason::OutOfFunds => f.write_str("the organization's money ran out"),
            Reason::ForceReleased { said } => f.write_str(said),
            Reason::NodeDrained => f.write_str("the deadline of the node drain has passed"),
            Reason::NodeLost { cause } => cause.fmt(f),
            Reason::Unknown => f.write_str("a newer version of the platform recorded the reason"),
        }
    }
}

impl fmt::Display for TaskFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskFailure::NoResponse => f.write_str("the host did not respond in time"),
            TaskFailure::Failed { step, code, detail } => write!(f, "{step}: {detail} ({code})"),
            TaskFailure::Rejected { refusal } => write!(f, "the host rejected the task: {}", refusal.name()),
            TaskFailure::NoProof => f.write_str("the host sent a report that is not a proof"),
            TaskFailure::OtherGpus { requested } => {
                write!(f, "its proof lists other GPUs than the {requested} requested")
            }
            TaskFailure::SelfTest { detail } => write!(f, "the self-test failed: {detail}"),
            TaskFailure::NoEvidence { missing } => missing.fmt(f),
        }
    }
}

#[cfg(test)]
#[path = "reason_tests.rs"]
mod tests;
