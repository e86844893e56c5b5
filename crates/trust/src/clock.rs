//! The control plane's time, as it was last told and as the monotonic clock has
//! run since. The machine's own clock decides nothing once that is known.

use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::UnixTime;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shared by everything that judges expiry.
#[derive(Clone, Debug, Default)]
pub struct ControlClock(Arc<Mutex<Option<(Timestamp, Instant)>>>);

impl ControlClock {
    pub fn learn(&self, now: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, Instant::now()));
    }

    /// None before the control plane was heard for the first time.
    pub fn now(&self) -> Option<Timestamp> {
        let (told, at) = (*self.0.lock().unwrap_or_else(PoisonError::into_inner))?;
        let passed = SignedDuration::try_from(at.elapsed()).ok()?;
        told.checked_add(passed).ok()
    }

    /// How long until then; nothing while the time is not known.
    pub fn until(&self, then: Timestamp) -> Option<Duration> {
        let now = self.now()?;
        Some(Duration::try_from(then.duration_since(now)).unwrap_or_default())
    }
}

impl TimeProvider for ControlClock {
    /// Certificates are judged by the same clock; the machine's serves until it is known.
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
    fn time_is_unknown_until_set_and_runs_from_there() {
        let clock = ControlClock::default();
        let told: Timestamp = "2001-01-01T00:00:00Z".parse().unwrap();
        assert_eq!((clock.now(), clock.until(told)), (None, None));
        clock.learn(told);
        assert!(clock.now().unwrap() >= told);
        assert_eq!(clock.until(told - SignedDuration::from_secs(1)), Some(Duration::ZERO));
        assert!(clock.until(told + SignedDuration::from_secs(60)).unwrap() > Duration::from_secs(50));
    }
}
