//! Why a host or gateway was not answered as it wished. Every kind is counted by its code.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use protocol::{Problem, codes, gateway::refusals};

use super::requests::Body;
use crate::nodes::Implausibility;
use platform::http::AWAY_RETRY;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    NoCertificate,
    NotANode,
    NotAGateway,
    Revoked,
    Expired,
    UnknownNode,
    BadCsr(String),
    ForeignName,
    WrongToken,
    ReplayedToken,
    RevokedToken,
    ExpiredToken,
    NameTaken(String),
    WrongPool(String),
    Lying(Implausibility),
    Malformed(String),
    WrongProtocol(u16),
    TooLarge,
    TooSlow,
    TooOften(Duration),
    NoSuchAgent,
    /// A gateway's token is unknown, used, expired or taken back.
    JoinToken,
    /// A ticket is unknown, used or expired: nobody learns which.
    Ticket,
    /// A key opens nothing here. The gateway is told why, to count it when nobody
    /// gets in after all; who holds the key is not.
    SshKey(&'static str),
    /// Whom or what it is for no longer allows it.
    Access(String),
    /// What it leads to is not there any more.
    Gone(String),
    /// Somebody who may come in names a host that the allocation does not have.
    NoRank(String),
    TooManySessions(u64),
    Recording(String),
    RecordingWaits,
    NotFound,
    Unavailable,
    Internal,
}

/// What is the same for every refusal of a kind.
struct Kind {
    status: u16,
    code: &'static str,
    title: &'static str,
    advice: &'static str,
}

const fn kind(status: u16, code: &'static str, title: &'static str, advice: &'static str) -> Kind {
    Kind { status, code, title, advice }
}

const NEW_TOKEN: &str = "make a new token with `gpuaas enrollment-tokens create` and enroll with that";
const ENROLL_AGAIN: &str = "make a token with `gpuaas enrollment-tokens create` and run `gpuaas-node enroll` again";
const TRY_LATER: &str = "try again later";
const UPDATE: &str = "install an agent of the release that the control plane runs, or of the one before";

impl Refusal {
    fn kind(&self) -> Kind {
        match self {
            Self::NoCertificate => kind(401, "no_certificate", "a client certificate is needed", ENROLL_AGAIN),
            Self::NotANode => kind(403, "not_a_node", "the certificate names no node", ENROLL_AGAIN),
            Self::Revoked => kind(403, codes::CERTIFICATE_REVOKED, "the certificate was revoked", ENROLL_AGAIN),
            Self::Expired => kind(
                403,
                codes::CERTIFICATE_EXPIRED,
                "the certificate has expired",
                "renew it; when `nodes.renew_window_hours` are over too, enroll again",
            ),
            Self::UnknownNode => kind(403, codes::UNKNOWN_NODE, "no such node is known", ENROLL_AGAIN),
            Self::BadCsr(_) => {
                kind(400, "bad_csr", "the signing request is not accepted", "make a new key and request")
            }
            Self::ForeignName => kind(
                403,
                "foreign_name",
                "the signing request asks for a name that is not its own",
                "send a request without names: the control plane says who a node is",
            ),
            Self::WrongToken => kind(401, "wrong_token", "the enrollment token is not known", NEW_TOKEN),
            Self::ReplayedToken => kind(409, "replayed_token", "the enrollment token was used before", NEW_TOKEN),
            Self::RevokedToken => kind(403, "revoked_token", "the enrollment token was revoked", NEW_TOKEN),
            Self::ExpiredToken => kind(403, "expired_token", "the enrollment token has expired", NEW_TOKEN),
            Self::NameTaken(_) => kind(
                409,
                "name_taken",
                "the pool has a node of that name",
                "retire that node with `gpuaas nodes retire`, or give this host another name",
            ),
            Self::WrongPool(_) => {
                kind(409, "wrong_pool", "the pool takes other hosts", "make a token for a pool of the right provider")
            }
            Self::Lying(_) => kind(
                409,
                "impossible_inventory",
                "the inventory cannot be true",
                "retire the node that has these GPUs, or put it into maintenance with `gpuaas nodes drain`",
            ),
            Self::Malformed(_) => kind(400, "malformed", "the request cannot be read", UPDATE),
            Self::WrongProtocol(_) => kind(400, "wrong_protocol", "that version is not spoken here", UPDATE),
            Self::TooLarge => kind(413, "too_large", "the request is too large", "send less at once"),
            Self::TooSlow => kind(408, "too_slow", "the request did not arrive in time", "send it again"),
            Self::TooOften(_) => kind(429, "too_often", "too many requests", TRY_LATER),
            Self::NoSuchAgent => kind(
                404,
                "no_such_agent",
                "there is no agent of that version for that platform",
                "put it into `node.agents_dir` as version/target/gpuaas-node",
            ),
            Self::NotAGateway => kind(
                403,
                "not_a_gateway",
                "the certificate names no gateway",
                "join with a token of `gpuaas gateways create`",
            ),
            Self::JoinToken => kind(
                401,
                "wrong_join_token",
                "the token makes no gateway",
                "add a gateway with `gpuaas gateways create`, and join with its secret once and soon",
            ),
            Self::Ticket => {
                kind(401, refusals::TICKET, "the ticket is not accepted", "get a new ticket and come again")
            }
            Self::SshKey(_) => kind(
                401,
                refusals::SSH_KEY,
                "the key opens nothing here",
                "use `gpuaas ssh` or `gpuaas ssh-config --write`; registered keys alone need the policy \
                 `access.ssh_certificates_only` to be off",
            ),
            Self::Access(_) => kind(403, refusals::ACCESS, "it is not allowed", "ask for a way in that policy allows"),
            Self::Gone(_) => kind(404, refusals::GONE, "it is not there any more", "look at the allocation's state"),
            Self::NoRank(_) => kind(
                404,
                refusals::NO_RANK,
                "the allocation has no such host",
                "name one of these with `--rank` of `gpuaas ssh`, or after the `+` of the login",
            ),
            Self::TooManySessions(_) => kind(
                429,
                refusals::TOO_MANY,
                "the allocation has too many sessions",
                "end one; the policy `access.sessions_per_allocation` says how many there may be",
            ),
            Self::Recording(_) => {
                kind(409, refusals::RECORDING, "the piece is not accepted", "drop it: the recording goes on without it")
            }
            Self::RecordingWaits => {
                kind(503, refusals::RECORDING_WAITS, "the store of recordings does not take it now", TRY_LATER)
            }
            Self::NotFound => kind(404, "not_found", "nothing is served here", UPDATE),
            Self::Unavailable => kind(503, "unavailable", "the control plane cannot answer now", TRY_LATER),
            Self::Internal => kind(500, "internal", "the control plane failed", TRY_LATER),
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::BadCsr(why) | Self::Malformed(why) | Self::WrongPool(why) => why.clone(),
            Self::Access(why) | Self::Gone(why) | Self::NoRank(why) | Self::Recording(why) => why.clone(),
            Self::SshKey(why) => (*why).to_owned(),
            Self::TooManySessions(most) => format!("it has {most}, its limit"),
            Self::NameTaken(name) => format!("a node named {name} is there and its certificate works"),
            Self::Lying(lie) => lie.to_string(),
            Self::WrongProtocol(version) => {
                format!("version {version} came, {:?} are understood", protocol::SUPPORTED)
            }
            Self::TooOften(wait) => format!("the next one may come in {} ms", wait.as_millis()),
            _ => self.kind().title.to_owned(),
        }
    }

    /// The name under which it is counted.
    pub fn code(&self) -> &'static str {
        self.kind().code
    }

    /// Counts it and writes it as a problem.
    pub fn answer(self) -> Response<Body> {
        let Kind { status, code, title, advice } = self.kind();
        count(code);
        let problem = Problem { code: code.into(), title: title.into(), detail: self.detail(), advice: advice.into() };
        let bytes = Bytes::from(serde_json::to_vec(&problem).unwrap_or_default());
        let mut response = Response::new(Full::new(bytes).map_err(|never| match never {}).boxed_unsync());
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(contract::PROBLEM_JSON));
        let wait = match self {
            Self::TooOften(wait) => Some(wait.as_secs() + 1),
            Self::Unavailable | Self::RecordingWaits => Some(AWAY_RETRY.as_secs()),
            _ => None,
        };
        if let Some(seconds) = wait {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Counts a refusal; also those that have no answer, because the connection ends.
pub fn count(code: &'static str) {
    metrics::counter!("gpuaas_node_refusals_total", "kind" => code).increment(1);
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        if kernel::tx::is_unavailable(&error) {
            tracing::warn!(%error, "the database is away; hosts are asked to come again");
            return Self::Unavailable;
        }
        tracing::error!(%error, "a statement failed");
        Self::Internal
    }
}

impl From<kernel::machine::TransitionError> for Refusal {
    fn from(error: kernel::machine::TransitionError) -> Self {
        match error {
            kernel::machine::TransitionError::Database(error) => error.into(),
            // Somebody else moved the node a moment ago; the host's next word finds it so.
            other => {
                tracing::warn!(error = %other, "a node moved while it spoke");
                Self::Unavailable
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_that_passes_says_when_to_come_back() {
        let wait =
            |it: Refusal| it.answer().headers().get(header::RETRY_AFTER).map(|it| it.to_str().unwrap().to_owned());
        for refusal in [Refusal::Unavailable, Refusal::RecordingWaits] {
            assert_eq!(wait(refusal.clone()).as_deref(), Some("2"), "{refusal:?}");
        }
        assert_eq!(wait(Refusal::TooOften(Duration::from_millis(2_500))).as_deref(), Some("3"));
        assert_eq!(wait(Refusal::NotANode), None);
        assert_eq!(Refusal::TooSlow.answer().status(), StatusCode::REQUEST_TIMEOUT);
    }
}
