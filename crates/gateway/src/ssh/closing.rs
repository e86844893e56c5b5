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
        Closing::TakenOver => "the session was continued from another connection; connect again to start a new one",
        Closing::TimeLimit => "the session reached its time limit; connect again to continue",
        Closing::Idle => "the session was idle for too long; connect again to continue",
        Closing::AllocationEnded => {
            "the allocation was stopped or released, or its lease ended; check `gpuaas allocations list`, then start it or request another one"
        }
        Closing::Ended => {
            "the session was ended by you or by an operator, or your credential was revoked; connect again, and ask an owner of the organization if access is refused"
        }
        Closing::BadFrame => "the session ended because of a protocol error; connect again",
        Closing::GoingAway => "this gateway is shutting down; connect again to reach another one",
        Closing::HostGone => "the host is no longer reachable; connect again in a moment",
        Closing::Unrecorded => {
            "the session could not be recorded, and a policy requires recording; connect again in a moment, and contact an operator if the error persists"
        }
    }
}

/// Why a stream was not opened.
pub fn of_open(error: &OpenError) -> String {
    match error {
        OpenError::Host(problem) | OpenError::Control(ControlError::Refused { problem, .. }) => of_problem(problem),
        OpenError::Control(_) => "the control plane does not respond; try again in a moment".into(),
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
        "file" => "copying files is not allowed",
        "tcp" => "port forwarding is not allowed",
        _ => "this kind of stream is not allowed",
    };
    format!("{what}: the policy `access.recording` is `required`, and only terminals and commands are recorded")
}

/// What is wrong, and what to do next.
pub fn of_problem(problem: &Problem) -> String {
    let Problem { detail, advice, .. } = problem;
    match (detail.is_empty(), advice.is_empty()) {
        (false, false) => format!("{detail}; {advice}"),
        (false, true) => detail.clone(),
        (true, _) => "refused without a reason".into(),
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
                !what.is_empty()
                    && (["connect again", "see `gpuaas", "check `gpuaas"].iter().any(|it| next.starts_with(it))),
                "{next}"
            );
            // OpenSSH shows no more of the words with which a server parts.
            assert!(words(closing).len() + "gpuaas: ".len() < 400);
        }
        let said: std::collections::BTreeSet<_> = all.into_iter().map(words).collect();
        assert_eq!(said.len(), all.len(), "each is told from the others");
    }
}
