//! Reading what came back: a success, a problem, or something else.

use std::time::Duration;

use contract::{Payload, Problem, Raw};
use http::{HeaderMap, StatusCode, header};

use crate::{
    ClientError,
    request::Prepared,
    retry::{self, Outcome},
};

/// No answer of the API comes near it; a stranger's might.
const LARGEST_ANSWER_BYTES: usize = 64 << 20;

/// A success whose body was received but not yet understood.
pub(crate) struct Answer {
    status: StatusCode,
    body: Vec<u8>,
    file_name: String,
}

impl Answer {
    pub async fn receive(mut response: reqwest::Response, prepared: &Prepared) -> Result<Self, Failure> {
        let status = response.status();
        let retry_after = retry_after(response.headers());
        let file_name = file_name(response.headers());
        let is_replay = response.headers().contains_key(contract::IDEMPOTENT_REPLAY);
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| Failure::unreachable(prepared, error))? {
            if body.len() + chunk.len() > LARGEST_ANSWER_BYTES {
                let what = "the response exceeds the size limit of the API".to_owned();
                return Err(Failure::last(malformed(prepared, status, what)));
            }
            body.extend_from_slice(&chunk);
        }
        if status.is_success() {
            return Ok(Self { status, body, file_name });
        }
        Err(refusal(prepared, status, retry_after, is_replay, &body))
    }

    pub fn read<T: Payload>(self, prepared: &Prepared) -> Result<T, ClientError> {
        let raw = Raw { bytes: self.body, file_name: self.file_name };
        let raw = match raw.into_payload() {
            Ok(payload) => return Ok(payload),
            Err(raw) => raw,
        };
        serde_json::from_slice(&raw.bytes).map_err(|error| {
            let what = format!(
                "the body does not match {} at line {} column {}; the server may run a different version",
                prepared.operation,
                error.line(),
                error.column()
            );
            malformed(prepared, self.status, what)
        })
    }
}

pub(crate) struct Failure {
    pub error: ClientError,
    pub outcome: Outcome,
}

impl Failure {
    pub fn last(error: ClientError) -> Self {
        Self { error, outcome: Outcome::Final }
    }

    pub fn unreachable(prepared: &Prepared, error: reqwest::Error) -> Self {
        let outcome = if error.is_connect() { Outcome::NoEffect { retry_after: None } } else { Outcome::Unknown };
        Self {
            error: ClientError::Unreachable {
                address: prepared.address(),
                // The address is named above; with its query it could name people.
                source: Box::new(error.without_url()),
            },
            outcome,
        }
    }
}

fn refusal(
    prepared: &Prepared,
    status: StatusCode,
    retry_after: Option<Duration>,
    is_replay: bool,
    body: &[u8],
) -> Failure {
    if let Ok(problem) = serde_json::from_slice::<Problem>(body) {
        let problem = Problem { is_replay, ..problem };
        let outcome = retry::of_problem(&problem, retry_after);
        let error = ClientError::Problem(Box::new(problem));
        return Failure { error, outcome };
    }
    // A proxy in between speaks no problems.
    let outcome = match status {
        StatusCode::TOO_MANY_REQUESTS => Outcome::NoEffect { retry_after },
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => Outcome::Unknown,
        _ => Outcome::Final,
    };
    let what = "the body is not an error of this API; check the server URL".to_owned();
    Failure { error: malformed(prepared, status, what), outcome }
}

pub(crate) fn malformed(prepared: &Prepared, status: StatusCode, what: String) -> ClientError {
    ClientError::Malformed { address: prepared.address(), status: status.as_u16(), what }
}

/// What the server calls a document; a name only, never a path.
fn file_name(headers: &HeaderMap) -> String {
    let said = headers.get(header::CONTENT_DISPOSITION).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let name = said.split_once("filename=\"").and_then(|(_, rest)| rest.split_once('"')).map_or("", |it| it.0);
    let is_name = !name.starts_with('.') && name.bytes().all(|it| it.is_ascii_alphanumeric() || b"._-".contains(&it));
    if is_name { name.to_owned() } else { String::new() }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}
