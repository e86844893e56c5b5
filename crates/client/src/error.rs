//! What can go wrong with a call, by what the caller can do about it.

use contract::{Code, Problem};
use thiserror::Error;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server refused; its advice says what to do.
    #[error("{0}")]
    Problem(Box<Problem>),

    /// No answer came. Whether the request had an effect is unknown, unless
    /// it can be repeated with the same key.
    #[error("no response from {address}; check the server URL and that the server is running")]
    Unreachable {
        address: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },

    /// The answer is not what the contract says; the other side may be
    /// another version, or not this server at all.
    #[error("unexpected response from {address} (status {status}): {what}")]
    Malformed {
        address: String,
        status: u16,
        /// Never quotes the answer, which may hold secrets.
        what: String,
    },

    /// The request was never sent, because of what was put into it.
    #[error("cannot send the request: {0}")]
    Unsendable(String),
}

impl ClientError {
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            ClientError::Problem(problem) => Some(problem),
            _ => None,
        }
    }

    pub fn is(&self, code: Code) -> bool {
        self.problem().is_some_and(|it| it.code == code.info().name)
    }
}
