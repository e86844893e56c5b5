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
    /// What is wrong in this request.
    pub detail: String,
    /// What to do next.
    pub advice: String,
    /// Mention it when you ask for help; it is in the logs.
    pub correlation_id: String,
    /// The part of the request that is wrong, if known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub field: Option<String>,
    /// Whether it answered an earlier request with the same idempotency key;
    /// a header says so, not the body.
    #[serde(skip)]
    #[schemars(skip)]
    pub is_replay: bool,
    /// The challenge to answer with a second factor, for the code `mfa_required`.
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
    InvalidPath = 400 "invalid_path" "The URL path is malformed" => "Use ids exactly as the API returned them.";
    InvalidQuery = 400 "invalid_query" "A query parameter is malformed or unknown" => "Check the parameters against the API reference.";
    InvalidHeader = 400 "invalid_header" "A header is missing or malformed" => "Send the header as described in the detail.";
    InvalidBody = 400 "invalid_body" "The request body does not match the schema" => "Check the body against the API reference; unknown fields are refused.";
    Unauthenticated = 401 "unauthenticated" "Credentials are missing, invalid, expired or revoked" => "Sign in again, or send a valid key as `Authorization: Bearer …`.";
    Forbidden = 403 "forbidden" "You do not have permission to do this" => "Ask an owner or administrator for a role with this permission; the reference of roles lists them.";
    SignInNeeded = 403 "sign_in_needed" "API keys cannot do this" => "Sign in as yourself and use the session's token: `gpuaas login`.";
    MfaRequired = 403 "mfa_required" "A second factor is required" => "Answer `challenge` with a code, a passkey or a recovery code: `POST /v1/sessions/mfa`.";
    MfaEnrollmentRequired = 403 "mfa_enrollment_required" "Policy requires a second factor, and the account has none" => "Add one, then continue: `gpuaas me mfa enroll`, or your account page in the console.";
    StepUpRequired = 403 "step_up_required" "The second factor must be confirmed again" => "Confirm it and retry: `gpuaas me mfa verify`, or the dialog in the console.";
    SignInAgain = 403 "sign_in_again" "A recent sign-in is required" => "Sign in again and retry: `gpuaas login`, or sign out of the console and in again.";
    ScopeExceeded = 403 "scope_exceeded" "The request grants more permissions than the caller has" => "Grant only permissions that you have yourself.";
    Suspended = 403 "organization_suspended" "The organization is suspended" => "You can still read, stop and release. Ask the platform's operators for the reason and how to resolve it.";
    AccessRefused = 403 "access_refused" "A policy does not allow this kind of access" => "Use a kind of access that the policy allows: the detail names the policy, and `gpuaas policies explain` shows where it is set.";
    SelfServiceOff = 403 "self_service_off" "This is not available without an invitation" => "Ask an operator or an administrator of your organization for an invitation.";
    NotFound = 404 "not_found" "Not found, or you do not have access" => "Check the id, and that you are in the right organization.";
    MethodNotAllowed = 405 "method_not_allowed" "The method is not allowed for this URL" => "Check the method against the API reference.";
    RequestTimeout = 408 "request_timeout" "The request body did not arrive in time" => "Retry over a faster connection.";
    Conflict = 409 "conflict" "The resource changed, or its state does not allow this" => "Read it again, then decide whether to retry.";
    NameTaken = 409 "name_taken" "The name is already in use" => "Choose another name.";
    LastOwner = 409 "last_owner" "An organization needs at least one owner" => "Make somebody else an owner first.";
    PaymentsOff = 409 "payments_off" "This installation does not accept payments" => "Ask its operators for credit, or to set up a payment provider (`docs/guides/payments.md`).";
    MailOff = 409 "mail_off" "This installation does not send mail" => "Ask its operators to do this with `gpuaasd admin`, or to set up mail (`docs/guides/notifications.md`).";
    NotPriced = 409 "not_priced" "The SKU has no price in the charged currency" => "Use another SKU, or ask an operator to set a price in that currency: `gpuaas prices set`; 0 makes it free.";
    ApprovalRequired = 409 "approval_required" "A second person must approve this" => "It was proposed and has not taken effect. Ask another member of staff to run the command in the detail.";
    InProgress = 409 "request_in_progress" "The same request is still in progress" => "Retry with the same key after the time in `Retry-After`.";
    PayloadTooLarge = 413 "payload_too_large" "The request body is too large" => "Send less; the detail names the limit.";
    UnsupportedMediaType = 415 "unsupported_media_type" "The request body is not JSON" => "Send `Content-Type: application/json`.";
    KeyReused = 422 "idempotency_key_reused" "The idempotency key was used for a different request" => "Use a new key for a new request.";
    InvalidValue = 422 "invalid_value" "A value is not accepted" => "Change the value as described in the detail.";
    InsufficientFunds = 402 "insufficient_funds" "Insufficient funds" => "Top up, or request less or a shorter lease; `gpuaas ledger balance` shows what is available and what is held.";
    LimitReached = 422 "limit_reached" "A limit set by policy is reached" => "Remove what you do not need, or ask for a higher limit; `gpuaas policies explain` shows where it is set.";
    TooManyRequests = 429 "too_many_requests" "Too many requests" => "Wait for the time in `Retry-After`, then send requests more slowly.";
    HeadersTooLarge = 431 "headers_too_large" "The headers or the URL are too large" => "Send fewer or shorter headers.";
    Internal = 500 "internal" "Internal server error" => "Retry with the same idempotency key. If it persists, report the correlation id.";
    Unavailable = 503 "unavailable" "A required dependency is unavailable" => "Retry after the time in `Retry-After`; `/readyz` names the dependency.";
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
