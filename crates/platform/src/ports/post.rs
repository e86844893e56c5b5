//! Whoever carries mail away. A letter counts as sent when somebody else
//! accepted responsibility for it, and not before.

use std::time::Duration;

use contract::Timestamp;
use futures_util::future::BoxFuture;

/// A mail as it leaves: one recipient, the same text twice.
#[derive(Clone, PartialEq, Eq)]
pub struct Letter {
    pub to: String,
    pub subject: String,
    pub text: String,
    pub html: String,
    /// The part before the `@`; the same however often the letter is sent.
    pub message_id: String,
    /// Where one request stops mails of this kind, where that is possible.
    pub unsubscribe: Option<String>,
    pub at: Timestamp,
}

/// Why a letter was not accepted. What the other side said never names the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    #[error("the mail server cannot be reached: {0}")]
    Away(String),
    #[error("the mail server asked to retry later: {text}")]
    Later { code: u16, text: String },
    /// It will never take mail for this address.
    #[error("the mail server rejected the address: {text}")]
    Address { code: u16, text: String },
    /// It will never take this mail.
    #[error("the mail server rejected the message: {text}")]
    Letter { code: u16, text: String },
    /// It takes no mail of ours, whoever it is for: somebody must look at `mail.url` and `mail.from`.
    #[error("the mail server rejects this sender: {text}")]
    Sender { code: u16, text: String },
}

impl PostError {
    pub fn code(&self) -> Option<u16> {
        match self {
            PostError::Away(_) => None,
            PostError::Later { code, .. }
            | PostError::Address { code, .. }
            | PostError::Letter { code, .. }
            | PostError::Sender { code, .. } => Some(*code),
        }
    }
}

pub trait Post: Send + Sync {
    fn send<'a>(&'a self, letter: &'a Letter, patience: Duration) -> BoxFuture<'a, Result<(), PostError>>;
    /// What stands behind the `@` of message ids.
    fn domain(&self) -> &str;
}

// A letter holds an address and what somebody is told: it must not be printed.
impl std::fmt::Debug for Letter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Letter {}", self.message_id)
    }
}
