//! The one error shape that leaves the server, and the catalog of its codes.
//! `docs/generated/errors.md` prints the catalog.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mfa::MfaChallenge;

/// The media type of problems.
pub const PROBLEM_JSON: &str = "application/problem+json";
/// The header of an answer that was given before, to the same idempotency key.
pub const IDEMPOTENT_REPLAY: &str = "idempotent-replay";

/// An `application/problem+json` body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Stable address of the code's description, relative to the server.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    /// Stable and meant for programs.
    pub code: String,
    /// What is wrong this time.
    pub detail: String,
    /// What to do next.
    pub advice: String,
    /// Name it when asking for help; logs carry it.
    pub correlation_id: String,
    /// Which part of the request is wrong, when one is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub field: Option<String>,
    /// Whether it answered an earlier request with the same idempotency key;
    /// a header says so, not the body.
    #[serde(skip)]
    #[schemars(skip)]
    pub is_replay: bool,
    /// What to answer with a second factor, with the code `mfa_required`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub challenge: Option<MfaChallenge>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeInfo {
    pub name: &'static str,
    pub status: u16,
    pub title: &'static str,
    pub advice: &'static str,
}

macro_rules! catalog {
    ($($(#[doc = $doc:literal])* $code:ident = $status:literal $name:literal $title:literal => $advice:literal;)+) => {
        /// Every problem that the API can answer.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[doc = $doc])* $code),+ }

        impl Code {
            pub const ALL: &'static [Code] = &[$(Code::$code),+];

            pub const fn info(self) -> CodeInfo {
                match self { $(Code::$code => CodeInfo { name: $name, status: $status, title: $title, advice: $advice }),+ }
            }
        }
    };
}

catalog! {
    InvalidPath = 400 "invalid_path" "A part of the address is malformed" => "Use ids exactly as the API printed them.";
    InvalidQuery = 400 "invalid_query" "A query parameter is malformed or unknown" => "Compare the parameters with the API document.";
    InvalidHeader = 400 "invalid_header" "A header is missing or malformed" => "Send the header as the detail says.";
    InvalidBody = 400 "invalid_body" "The body does not fit the schema" => "Compare the body with the API document; unknown fields are refused.";
    Unauthenticated = 401 "unauthenticated" "Credentials are missing, wrong, expired or revoked" => "Sign in again, or send a valid key as `Authorization: Bearer …`.";
    Forbidden = 403 "forbidden" "The caller lacks the permission" => "Ask an owner or administrator for a role that grants it; the role table lists them.";
    SignInNeeded = 403 "sign_in_needed" "A key cannot do this" => "Sign in as yourself and use the session's token: `gpuaas login`.";
    MfaRequired = 403 "mfa_required" "The account needs its second factor too" => "Answer `challenge` with a code, a passkey or a recovery code: `POST /v1/sessions/mfa`.";
    MfaEnrollmentRequired = 403 "mfa_enrollment_required" "Policy requires a second factor, and the account has none" => "Add one, then go on: `gpuaas me mfa enroll`, or your account's page of the console.";
    StepUpRequired = 403 "step_up_required" "This needs the second factor again" => "Confirm it and repeat the request: `gpuaas me mfa verify`, or the dialog of the console.";
    SignInAgain = 403 "sign_in_again" "This needs a recent sign-in" => "Sign in again and repeat the request: `gpuaas login`, or sign out of the console and in again.";
    ScopeExceeded = 403 "scope_exceeded" "The request grants more than the caller has" => "Ask for no more than you hold yourself.";
    Suspended = 403 "organization_suspended" "The organization is suspended" => "Reading, stopping and releasing still work; ask the platform's operators why and what would lift it.";
    AccessRefused = 403 "access_refused" "Policy does not let this way in" => "Use a way that policy allows: the detail names the policy, and `policies explain` shows who set it.";
    SelfServiceOff = 403 "self_service_off" "This platform does not offer it without an invitation" => "Ask an operator or an administrator of your organization for an invitation.";
    NotFound = 404 "not_found" "There is no such thing, or not for you" => "Check the id, and that you act in the right organization.";
    MethodNotAllowed = 405 "method_not_allowed" "The address does not take this method" => "Compare the method with the API document.";
    RequestTimeout = 408 "request_timeout" "The body did not arrive in time" => "Send the request again, over a connection that carries it in time.";
    Conflict = 409 "conflict" "The thing changed, or is not in a state that allows this" => "Read it again and decide anew.";
    NameTaken = 409 "name_taken" "The name is already used" => "Choose another name.";
    LastOwner = 409 "last_owner" "An organization keeps at least one owner" => "Make somebody else an owner first.";
    PaymentsOff = 409 "payments_off" "This installation takes no payments" => "Ask its operators for credit, or to set up a payment provider as `docs/guides/payments.md` says.";
    MailOff = 409 "mail_off" "This installation sends no mail" => "Ask its operators, who can do it with `gpuaasd admin`, or to set up mail as `docs/guides/notifications.md` says.";
    NotPriced = 409 "not_priced" "It has no price in the currency that is charged" => "Ask for another SKU, or ask an operator to set a price in that currency: `gpuaas prices set`; 0 makes it free.";
    ApprovalRequired = 409 "approval_required" "Another person has to approve it" => "It is proposed and nothing else happened: ask another member of staff to run the command in the detail.";
    InProgress = 409 "request_in_progress" "The same request is still running" => "Repeat it with the same key after the time in `Retry-After`.";
    PayloadTooLarge = 413 "payload_too_large" "The body is larger than this endpoint takes" => "Send less; the detail names the limit.";
    UnsupportedMediaType = 415 "unsupported_media_type" "The body is not JSON" => "Send `Content-Type: application/json`.";
    KeyReused = 422 "idempotency_key_reused" "The idempotency key was used for another request" => "Use a new key for a new request.";
    InvalidValue = 422 "invalid_value" "A value is well-formed but not acceptable" => "Change the value as the detail says.";
    InsufficientFunds = 402 "insufficient_funds" "There is not enough money for it" => "Top up, ask for less or for a shorter lease; `ledger balance` shows what is available and what is held.";
    LimitReached = 422 "limit_reached" "A limit set by policy is reached" => "Remove what is not needed, or ask for a higher limit; `policies explain` shows where it is set.";
    TooManyRequests = 429 "too_many_requests" "Too many requests" => "Wait for the time in `Retry-After`, then go on more slowly.";
    HeadersTooLarge = 431 "headers_too_large" "The headers or the address are too large" => "Send fewer or shorter headers.";
    Internal = 500 "internal" "The server failed" => "Repeat the request with the same idempotency key; if it persists, report the correlation id.";
    Unavailable = 503 "unavailable" "A part that the server needs is away" => "Repeat after the time in `Retry-After`; `/readyz` names the missing part.";
}

impl Code {
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.info().name == name)
    }

    pub fn problem(self, detail: impl fmt::Display, correlation_id: &str) -> Problem {
        let info = self.info();
        Problem {
            kind: format!("/v1/problems/{}", info.name),
            title: info.title.into(),
            status: info.status,
            code: info.name.into(),
            detail: detail.to_string(),
            advice: info.advice.into(),
            correlation_id: correlation_id.into(),
            field: None,
            is_replay: false,
            challenge: None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.detail, self.code)
    }
}

impl std::error::Error for Problem {}
