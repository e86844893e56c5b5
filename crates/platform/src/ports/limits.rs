//! A count of requests that several processes share.

use std::time::Duration;

use kernel::bus::BoxFuture;

/// Why the shared count gave no answer.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SharedLimitsError(pub Box<dyn std::error::Error + Send + Sync>);

/// Whether one more passes, or how long to wait.
pub type Verdict = Result<(), Duration>;

pub trait SharedLimits: Send + Sync {
    /// Whether one more passes in a lane that allows so many a minute; it is counted if it `counts`.
    fn judge<'a>(
        &'a self,
        lane: &'a str,
        who: &'a str,
        per_minute: u64,
        counts: bool,
    ) -> BoxFuture<'a, Result<Verdict, SharedLimitsError>>;
}
