//! Times as people read them.

use contract::Timestamp;

/// Like `5m ago` or `in 29d`: one unit is enough to find a row by.
pub fn relative(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - at.as_second();
    if seconds >= 0 {
        return format!("{} ago", distance(seconds.unsigned_abs(), false));
    }
    // To the nearest, so that what was just made for 30 days says so.
    format!("in {}", distance(seconds.unsigned_abs(), true))
}

fn distance(seconds: u64, to_nearest: bool) -> String {
    let count = |unit: u64| if to_nearest { (seconds + unit / 2) / unit } else { seconds / unit };
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", count(60)),
        3_600..86_400 => format!("{}h", count(3_600)),
        _ => format!("{}d", count(86_400)),
    }
}

/// To the second and in UTC, with the distance from now.
pub fn exact(at: Timestamp, now: Timestamp) -> String {
    format!("{} ({})", at.strftime("%Y-%m-%d %H:%M:%S UTC"), relative(at, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn relative_times_use_one_unit() {
        let now = at(1_000_000);
        let said = |distance: i64| relative(at(1_000_000 - distance), now);
        assert_eq!(said(0), "0s ago");
        assert_eq!(said(59), "59s ago");
        assert_eq!(said(60), "1m ago");
        assert_eq!(said(7_199), "1h ago");
        assert_eq!(said(10 * 86_400), "10d ago");
        assert_eq!(said(-80), "in 1m");
        assert_eq!(said(-(30 * 86_400 - 1)), "in 30d");
    }

    #[test]
    fn an_exact_time_is_in_utc() {
        assert_eq!(exact(at(86_400), at(86_460)), "1970-01-02 00:00:00 UTC (1m ago)");
    }
}
