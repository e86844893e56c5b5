//! Why a stream is not opened: the code, what the gateway is answered, and how
//! often it happened.

use protocol::Problem;
use protocol::limits::bounded_text;
use protocol::stream::refusals;
use std::collections::BTreeMap;

/// A refusal on its way to the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// One of [`refusals`].
    pub code: &'static str,
    pub detail: String,
    /// What to do next, where the code alone does not say it.
    pub advice: Option<String>,
}

impl Refused {
    pub fn new(code: &'static str, detail: impl Into<String>) -> Self {
        Self { code, detail: bounded_text(detail), advice: None }
    }

    pub fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(bounded_text(advice)), ..self }
    }

    pub fn status(&self) -> u16 {
        described(self.code).0
    }

    pub fn problem(self) -> Problem {
        let (_, title, advice) = described(self.code);
        let advice = self.advice.unwrap_or_else(|| advice.to_owned());
        Problem { code: self.code.to_owned(), title: title.to_owned(), detail: self.detail, advice }
    }
}

const ASK_AGAIN: &str = "request a new grant from the control plane";

/// The status, the title and what to do next.
fn described(code: &str) -> (u16, &'static str, &'static str) {
    match code {
        refusals::MALFORMED => (400, "The grant is malformed", ASK_AGAIN),
        refusals::FORGED => (403, "The grant is not signed by a key that this host trusts", ASK_AGAIN),
        refusals::OTHER_NODE => (403, "The grant is for another node", "use it on the connection of that node"),
        refusals::OTHER_GATEWAY => (403, "The grant is for another gateway", ASK_AGAIN),
        refusals::EXPIRED => (403, "The grant has expired", ASK_AGAIN),
        refusals::USED => (409, "The grant was already used", ASK_AGAIN),
        refusals::OLD_EPOCH => (403, "The grant is older than the restored control plane", ASK_AGAIN),
        refusals::NO_ALLOCATION => {
            (404, "The login does not exist on this host", "check that the allocation is active")
        }
        refusals::NO_SESSION => (404, "The session no longer exists on this host", "open a new session"),
        refusals::TOO_MANY => (429, "The allocation has reached its session limit", "end one of its sessions first"),
        refusals::TOO_MANY_STREAMS => (
            429,
            "The host has reached its stream limit for this gateway",
            "close an unused shell, copy or forwarded connection, or try again in a moment",
        ),
        refusals::UNSUPPORTED => {
            (422, "This host does not support this kind of stream", "check which streams the host's workloads support")
        }
        refusals::NOTHING_LISTENS => {
            (422, "No program is listening on this port", "start the program that should listen on it")
        }
        refusals::FOREIGN_PORT => {
            (403, "The port is used by another user", "use a port that a program of the allocation listens on")
        }
        _ => (422, "The program could not be started", "check the agent's log on the host"),
    }
}

/// How often each code was answered since the agent started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    pub(super) fn count(&mut self, code: &'static str) {
        *self.0.entry(code).or_default() += 1;
    }

    pub fn of(&self, code: &str) -> u64 {
        self.0.get(code).copied().unwrap_or(0)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().map(|(code, count)| (*code, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_answered_with_a_client_error_and_advice() {
        let codes = [
            refusals::MALFORMED,
            refusals::FORGED,
            refusals::OTHER_NODE,
            refusals::OTHER_GATEWAY,
            refusals::EXPIRED,
            refusals::USED,
            refusals::OLD_EPOCH,
            refusals::NO_ALLOCATION,
            refusals::NO_SESSION,
            refusals::TOO_MANY,
            refusals::TOO_MANY_STREAMS,
            refusals::UNSUPPORTED,
            refusals::NOTHING_LISTENS,
            refusals::FOREIGN_PORT,
            refusals::FAILED,
        ];
        let mut counts = Counts::default();
        for code in codes {
            let refused = Refused::new(code, "x");
            assert!((400..500).contains(&refused.status()), "{code}");
            assert!(!refused.problem().advice.is_empty(), "{code}");
            counts.count(code);
            assert_eq!(counts.of(code), 1);
        }
        assert_eq!(counts.iter().count(), codes.len());
    }
}
