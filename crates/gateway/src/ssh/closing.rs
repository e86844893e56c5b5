//! What a person is told when something is not opened or ends early: one line that
//! says what to do next.

use crate::control::ControlError;
use crate::sessions::OpenError;
use protocol::Problem;
use protocol::stream::Closing;
use russh::ChannelOpenFailure;

const PROHIBITED: u32 = 1;
const CONNECT_FAILED: u32 = 2;

pub fn words(closing: Closing) -> &'static str {
    match closing {
        Closing::TakenOver => "somebody joined this session from elsewhere; connect again for one of your own",
        Closing::TimeLimit => "the session reached its time limit; connect again to go on",
        Closing::Idle => "nothing was typed or shown for too long; connect again to go on",
        Closing::AllocationEnded => {
            "the allocation was stopped or released, or its lease ended; see `gpuaas allocations list`, and start it \
             or take another"
        }
        Closing::Ended => {
            "the session was ended by you or by an operator, or what let you in was taken back; connect again, and \
             ask the organization's owner if you are refused"
        }
        Closing::BadFrame => "the session broke; connect again",
        Closing::GoingAway => "this gateway is being stopped; connect again to reach another one",
        Closing::HostGone => "the host cannot be reached any more; connect again in a moment",
        Closing::Unrecorded => {
            "the session could not be recorded, and policy lets nobody work unrecorded; connect again in a moment, \
             and tell an operator if it stays so"
        }
    }
}

/// Why a stream was not opened.
pub fn of_open(error: &OpenError) -> String {
    match error {
        OpenError::Host(problem) | OpenError::Control(ControlError::Refused { problem, .. }) => of_problem(problem),
        OpenError::Control(_) => "the control plane does not answer; try again in a moment".into(),
    }
}

/// As a client shows it that wanted a connection forwarded.
pub fn as_failure(error: &OpenError) -> ChannelOpenFailure {
    let code = match error {
        OpenError::Control(error) if error.is_refusal() => PROHIBITED,
        OpenError::Control(_) | OpenError::Host(_) => CONNECT_FAILED,
    };
    ChannelOpenFailure::Other { code, reason: of_open(error) }
}

pub fn prohibited(why: impl Into<String>) -> ChannelOpenFailure {
    ChannelOpenFailure::Other { code: PROHIBITED, reason: why.into() }
}

/// Why a kind is not among those that the session may open.
pub fn not_allowed(kind: &str) -> String {
    let what = match kind {
        "file" => "files cannot be copied here",
        "tcp" => "ports cannot be forwarded here",
        _ => "this cannot be opened here",
    };
    format!("{what}: the policy `access.recording` is `required`, and only terminals and commands are recorded")
}

/// What is wrong, and what to do next.
pub fn of_problem(problem: &Problem) -> String {
    let Problem { detail, advice, .. } = problem;
    match (detail.is_empty(), advice.is_empty()) {
        (false, false) => format!("{detail}; {advice}"),
        (false, true) => detail.clone(),
        (true, _) => "it was refused without a reason".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_says_what_to_do() {
        let all = [
            Closing::TakenOver,
            Closing::TimeLimit,
            Closing::Idle,
            Closing::AllocationEnded,
            Closing::Ended,
            Closing::BadFrame,
            Closing::GoingAway,
            Closing::HostGone,
            Closing::Unrecorded,
        ];
        for closing in all {
            let (what, next) = words(closing).split_once("; ").expect("it has two halves");
            assert!(
                !what.is_empty() && (next.starts_with("connect again") || next.starts_with("see `gpuaas")),
                "{next}"
            );
            // OpenSSH shows no more of the words with which a server parts.
            assert!(words(closing).len() + "gpuaas: ".len() < 400);
        }
        let said: std::collections::BTreeSet<_> = all.into_iter().map(words).collect();
        assert_eq!(said.len(), all.len(), "each is told from the others");
    }
}
