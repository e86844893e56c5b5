//! Why a request was not answered with success: what a caller may read, and
//! what only we may read, kept apart.

use std::{fmt, time::Duration};

use axum::response::{IntoResponse, Response};
use contract::{Code, Problem, mfa::MfaChallenge};
use http::{HeaderValue, StatusCode, header};
use kernel::lifecycle::TransitionError;

use crate::identity::passwords::PasswordError;

#[derive(Debug)]
pub enum Failure {
    /// Told to the caller; what the handler wrote is rolled back.
    Problem(ProblemBuilder),
    /// Told to the caller; what the handler wrote is committed.
    Refused(ProblemBuilder),
    /// Told as a problem of ours; logged in full.
    Database(sqlx::Error),
    Internal(Box<dyn std::error::Error + Send + Sync>),
}

/// A problem before it is rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemBuilder {
    pub code: Code,
    pub detail: String,
    pub field: Option<String>,
    pub retry_after: Option<Duration>,
    /// What asks for the second factor; not logged.
    pub challenge: Option<Box<MfaChallenge>>,
}

impl ProblemBuilder {
    pub fn new(code: Code, detail: impl fmt::Display) -> Self {
        Self { code, detail: detail.to_string(), field: None, retry_after: None, challenge: None }
    }

    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    pub fn asking(mut self, challenge: MfaChallenge) -> Self {
        self.challenge = Some(Box::new(challenge));
        self
    }

    pub fn after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }
}

impl Failure {
    pub fn new(code: Code, detail: impl fmt::Display) -> Self {
        Failure::Problem(ProblemBuilder::new(code, detail))
    }

    pub fn not_found(what: &str) -> Self {
        Failure::new(Code::NotFound, format_args!("no such {what}"))
    }

    /// The caller's side of the failure. Logs what stays on ours.
    pub fn into_builder(self) -> ProblemBuilder {
        match self {
            Failure::Problem(builder) | Failure::Refused(builder) => builder,
            Failure::Database(error) if kernel::tx::is_contended(&error) => {
                tracing::warn!(%error, "a transaction was rolled back because of concurrent changes");
                metrics::counter!("gpuaas_database_contended_total").increment(1);
                unavailable("the same records are being changed concurrently; the request had no effect, retry it")
            }
            Failure::Database(error) if kernel::tx::is_unavailable(&error) => {
                tracing::warn!(%error, "the database is unavailable");
                metrics::counter!("gpuaas_database_unavailable_total").increment(1);
                unavailable("the database does not respond")
            }
            Failure::Database(error) => {
                tracing::error!(%error, "a statement failed");
                ProblemBuilder::new(Code::Internal, "the server failed; the request had no effect")
            }
            Failure::Internal(error) => {
                tracing::error!(%error, source = error.source().map(tracing::field::display), "a handler failed");
                ProblemBuilder::new(Code::Internal, "the server failed; the request had no effect")
            }
        }
    }
}

// bound: how soon a caller may look again while a dependency is away
pub const AWAY_RETRY: Duration = Duration::from_secs(2);

pub fn unavailable(detail: &str) -> ProblemBuilder {
    ProblemBuilder::new(Code::Unavailable, detail).after(AWAY_RETRY)
}

impl From<ProblemBuilder> for Failure {
    fn from(builder: ProblemBuilder) -> Self {
        Failure::Problem(builder)
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Failure::Database(error)
    }
}

impl From<TransitionError> for Failure {
    fn from(error: TransitionError) -> Self {
        match error {
            TransitionError::Illegal { .. } | TransitionError::Stale { .. } => Failure::new(Code::Conflict, error),
            TransitionError::Database(error) => Failure::Database(error),
        }
    }
}

impl From<PasswordError> for Failure {
    fn from(error: PasswordError) -> Self {
        match error {
            PasswordError::Busy => Failure::Problem(unavailable("too many sign-ins in progress; try again shortly")),
            PasswordError::Hash(_) | PasswordError::Interrupted(_) => Failure::Internal(Box::new(error)),
        }
    }
}

impl From<kernel::vault::VaultError> for Failure {
    fn from(error: kernel::vault::VaultError) -> Self {
        match error {
            kernel::vault::VaultError::Database(error) => Failure::Database(error),
            other @ kernel::vault::VaultError::Sealed { .. } => Failure::Internal(Box::new(other)),
        }
    }
}

/// The body of a problem.
pub fn problem(builder: &ProblemBuilder, correlation_id: &str) -> Problem {
    Problem {
        field: builder.field.clone(),
        challenge: builder.challenge.as_deref().cloned(),
        ..builder.code.problem(&builder.detail, correlation_id)
    }
}

/// Renders a problem as the one error shape that leaves the server.
pub fn render(builder: ProblemBuilder, correlation_id: &str) -> Response {
    let problem = problem(&builder, correlation_id);
    let status = StatusCode::from_u16(problem.status).expect("catalog statuses are valid");
    metrics::counter!("gpuaas_http_problems_total", "code" => builder.code.info().name).increment(1);
    let body = serde_json::to_vec(&problem).expect("problems serialize");
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(contract::PROBLEM_JSON));
    if let Some(wait) = builder.retry_after {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    }
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
