//! Units of time that settings count in.

use std::time::Duration;

pub fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

pub fn minutes(number: u64) -> Duration {
    Duration::from_secs(number * 60)
}

pub fn hours(number: u64) -> Duration {
    Duration::from_secs(number * 3600)
}

pub fn days(number: u64) -> Duration {
    Duration::from_secs(number * 86400)
}

pub fn milliseconds(number: u64) -> Duration {
    Duration::from_millis(number)
}
