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

const NEW_TOKEN: &str = "create a new token with `gpuaas enrollment-tokens create` and enroll with it";
const ENROLL_AGAIN: &str = "create a token with `gpuaas enrollment-tokens create` and run `gpuaas-node enroll` again";
const TRY_LATER: &str = "try again later";
const UPDATE: &str = "install an agent of the same release as the control plane, or of the previous one";

impl Refusal {
    fn kind(&self) -> Kind {
        match self {
            Self::NoCertificate => kind(401, "no_certificate", "a client certificate is required", ENROLL_AGAIN),
            Self::NotANode => kind(403, "not_a_node", "the certificate does not belong to a node", ENROLL_AGAIN),
            Self::Revoked => kind(403, codes::CERTIFICATE_REVOKED, "the certificate was revoked", ENROLL_AGAIN),
            Self::Expired => kind(
                403,
                codes::CERTIFICATE_EXPIRED,
                "the certificate has expired",
                "renew it; after `nodes.renew_window_hours`, enroll again",
            ),
            Self::UnknownNode => kind(403, codes::UNKNOWN_NODE, "the node is unknown", ENROLL_AGAIN),
            Self::BadCsr(_) => {
                kind(400, "bad_csr", "the signing request is not accepted", "create a new key and request")
            }
            Self::ForeignName => kind(
                403,
                "foreign_name",
                "the signing request contains a name that does not belong to its sender",
                "send a request without names: the control plane assigns the name of a node",
            ),
            Self::WrongToken => kind(401, "wrong_token", "the enrollment token is unknown", NEW_TOKEN),
            Self::ReplayedToken => kind(409, "replayed_token", "the enrollment token was already used", NEW_TOKEN),
            Self::RevokedToken => kind(403, "revoked_token", "the enrollment token was revoked", NEW_TOKEN),
            Self::ExpiredToken => kind(403, "expired_token", "the enrollment token has expired", NEW_TOKEN),
            Self::NameTaken(_) => kind(
                409,
                "name_taken",
                "the pool already has a node with that name",
                "retire that node with `gpuaas nodes retire`, or give this host another name",
            ),
            Self::WrongPool(_) => kind(
                409,
                "wrong_pool",
                "the pool accepts hosts of another provider",
                "create a token for a pool of the right provider",
            ),
            Self::Lying(_) => kind(
                409,
                "impossible_inventory",
                "the inventory is implausible",
                "retire the node that has these GPUs, or put it into maintenance with `gpuaas nodes drain`",
            ),
            Self::Malformed(_) => kind(400, "malformed", "the request is malformed", UPDATE),
            Self::WrongProtocol(_) => kind(400, "wrong_protocol", "the protocol version is not supported", UPDATE),
            Self::TooLarge => kind(413, "too_large", "the request is too large", "send a smaller request"),
            Self::TooSlow => kind(408, "too_slow", "the request was not received in time", "send it again"),
            Self::TooOften(_) => kind(429, "too_often", "too many requests", TRY_LATER),
            Self::NoSuchAgent => kind(
                404,
                "no_such_agent",
                "there is no agent with that version for the platform",
                "put it into `node.agents_dir` as version/target/gpuaas-node",
            ),
            Self::NotAGateway => kind(
                403,
                "not_a_gateway",
                "the certificate does not belong to a gateway",
                "join with a token of `gpuaas gateways create`",
            ),
            Self::JoinToken => kind(
                401,
                "wrong_join_token",
                "the token is not valid for joining a gateway",
                "add a gateway with `gpuaas gateways create`, and join with its secret, which works once and expires soon",
            ),
            Self::Ticket => {
                kind(401, refusals::TICKET, "the ticket is not valid", "get a new ticket and connect again")
            }
            Self::SshKey(_) => kind(
                401,
                refusals::SSH_KEY,
                "the SSH key does not authorize access to the allocation",
                "use `gpuaas ssh` or `gpuaas ssh-config --write`; registered keys alone need the policy \
                 `access.ssh_certificates_only` to be off",
            ),
            Self::Access(_) => {
                kind(403, refusals::ACCESS, "access is not allowed", "use an access method that the policies allow")
            }
            Self::Gone(_) => kind(
                404,
                refusals::GONE,
                "the allocation or session no longer exists",
                "check the state of the allocation",
            ),
            Self::NoRank(_) => kind(
                404,
                refusals::NO_RANK,
                "the allocation has no such host",
                "select one with `--rank` of `gpuaas ssh`, or after the `+` in the login",
            ),
            Self::TooManySessions(_) => kind(
                429,
                refusals::TOO_MANY,
                "the allocation has too many sessions",
                "end one; the limit is the policy `access.sessions_per_allocation`",
            ),
            Self::Recording(_) => kind(
                409,
                refusals::RECORDING,
                "the recording chunk is not accepted",
                "drop it; the recording continues without it",
            ),
            Self::RecordingWaits => {
                kind(503, refusals::RECORDING_WAITS, "the recording store is unavailable", TRY_LATER)
            }
            Self::NotFound => kind(404, "not_found", "nothing is served at this path", UPDATE),
            Self::Unavailable => kind(503, "unavailable", "the control plane is unavailable", TRY_LATER),
            Self::Internal => kind(500, "internal", "the control plane failed", TRY_LATER),
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::BadCsr(why) | Self::Malformed(why) | Self::WrongPool(why) => why.clone(),
            Self::Access(why) | Self::Gone(why) | Self::NoRank(why) | Self::Recording(why) => why.clone(),
            Self::SshKey(why) => (*why).to_owned(),
            Self::TooManySessions(most) => format!("the limit is {most}"),
            Self::NameTaken(name) => format!("a node named {name} exists and its certificate is valid"),
            Self::Lying(lie) => lie.to_string(),
            Self::WrongProtocol(version) => {
                format!("received version {version}; supported versions are {:?}", protocol::SUPPORTED)
            }
            Self::TooOften(wait) => format!("retry in {} ms", wait.as_millis()),
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
            tracing::warn!(%error, "the database is unavailable; hosts are asked to retry");
            return Self::Unavailable;
        }
        tracing::error!(%error, "a statement failed");
        Self::Internal
    }
}

impl From<kernel::lifecycle::TransitionError> for Refusal {
    fn from(error: kernel::lifecycle::TransitionError) -> Self {
        match error {
            kernel::lifecycle::TransitionError::Database(error) => error.into(),
            // Somebody else moved the node a moment ago; the host's next word finds it so.
            other => {
                tracing::warn!(error = %other, "the state of a node changed during its request");
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
