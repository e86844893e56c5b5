//! The control plane's time, as it was last told and as the monotonic clock has
//! run since. The host's own clock decides nothing.

use crate::locked;
use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::UnixTime;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Shared by everything that judges expiry.
#[derive(Clone, Debug, Default)]
pub struct ControlClock(Arc<Mutex<Option<(Timestamp, Instant)>>>);

impl ControlClock {
    pub fn learn(&self, now: Timestamp) {
        *locked(&self.0) = Some((now, Instant::now()));
    }

    /// None before the control plane was heard for the first time.
    pub fn now(&self) -> Option<Timestamp> {
        let (told, at) = (*locked(&self.0))?;
        let passed = SignedDuration::try_from(at.elapsed()).ok()?;
        told.checked_add(passed).ok()
    }
}

impl TimeProvider for ControlClock {
    /// Certificates are judged by the same clock; the host's serves until it is known.
    fn current_time(&self) -> Option<UnixTime> {
        match self.now() {
            Some(now) => Some(UnixTime::since_unix_epoch(Duration::from_secs(now.as_second().try_into().ok()?))),
            None => DefaultTimeProvider.current_time(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_unknown_until_told_and_runs_from_there() {
        let clock = ControlClock::default();
        assert_eq!(clock.now(), None);
        let told: Timestamp = "2001-01-01T00:00:00Z".parse().unwrap();
        clock.learn(told);
        let now = clock.now().unwrap();
        assert!(now >= told && now < told + SignedDuration::from_mins(1));
    }
}
