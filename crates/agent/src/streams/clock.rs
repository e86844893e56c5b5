//! How long until a moment of the control plane's time.

use jiff::Timestamp;
use std::time::Duration;
use trust::ControlClock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(Duration);

impl Deadline {
    pub fn of(clock: &ControlClock, until: Timestamp) -> Self {
        let left = clock.now().map(|now| until.duration_since(now));
        Self(left.and_then(|left| left.try_into().ok()).unwrap_or(Duration::ZERO))
    }

    pub fn left(self) -> Duration {
        self.0
    }

    pub fn is_over(self) -> bool {
        self.0.is_zero()
    }
}
