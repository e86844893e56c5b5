//! When to ask again, and after how long. Pure: the caller waits.

use std::time::Duration;

use contract::{Code, Problem};

use crate::Options;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What is known about an attempt that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The request had no effect, and the cause may pass.
    NoEffect { retry_after: Option<Duration> },
    /// It was sent, and nobody knows what became of it.
    Unknown,
    /// Asking again would get the same answer.
    Final,
}

pub(crate) fn of_problem(problem: &Problem, retry_after: Option<Duration>) -> Outcome {
    let passes = [Code::TooManyRequests, Code::Unavailable, Code::InProgress];
    match Code::from_name(&problem.code) {
        Some(code) if passes.contains(&code) => Outcome::NoEffect { retry_after },
        _ => Outcome::Final,
    }
}

/// How long to wait before attempt `attempts_made + 1`; `None` gives up.
/// `jitter` is anything in 0 to 1.
pub(crate) fn pause(
    options: &Options,
    attempts_made: u32,
    outcome: Outcome,
    repeatable: bool,
    jitter: f64,
) -> Option<Duration> {
    if attempts_made >= options.attempts {
        return None;
    }
    let told = match outcome {
        Outcome::NoEffect { retry_after } => retry_after,
        Outcome::Unknown if repeatable => None,
        Outcome::Unknown | Outcome::Final => return None,
    };
    match told {
        // Asking sooner than told would only be refused again.
        Some(wait) => (wait <= options.longest_wait).then_some(wait),
        None => Some(backoff(attempts_made, jitter).min(options.longest_wait)),
    }
}

/// Doubles with each attempt; the jitter keeps many clients from coming back at once.
fn backoff(attempts_made: u32, jitter: f64) -> Duration {
    let doublings = attempts_made.saturating_sub(1).min(16);
    let pause = FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
    pause.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn options() -> Options {
        Options { attempts: 3, longest_wait: 10 * SECOND, ..Options::default() }
    }

    fn told(wait: Duration) -> Outcome {
        Outcome::NoEffect { retry_after: Some(wait) }
    }

    #[test]
    fn retry_attempts_are_bounded() {
        assert!(pause(&options(), 2, told(SECOND), true, 0.0).is_some());
        assert!(pause(&options(), 3, told(SECOND), true, 0.0).is_none());
    }

    #[test]
    fn retry_after_is_honored_and_a_long_wait_is_left_to_the_caller() {
        let after = |wait| pause(&options(), 1, told(wait), false, 0.0);
        assert_eq!(after(3 * SECOND), Some(3 * SECOND));
        assert_eq!(after(11 * SECOND), None);
    }

    #[test]
    fn an_unknown_outcome_is_retried_only_where_that_is_safe() {
        assert!(pause(&options(), 1, Outcome::Unknown, true, 0.0).is_some());
        assert!(pause(&options(), 1, Outcome::Unknown, false, 0.0).is_none());
        assert!(pause(&options(), 1, Outcome::Final, true, 0.0).is_none());
    }

    #[test]
    fn backoff_grows_to_a_bound() {
        let full = |attempt| backoff(attempt, 1.0);
        assert_eq!(full(1), FIRST_PAUSE);
        assert_eq!(full(2), 2 * FIRST_PAUSE);
        assert_eq!(full(u32::MAX), LONGEST_PAUSE);
        assert_eq!(backoff(1, 0.0), FIRST_PAUSE / 2);
    }

    #[test]
    fn only_transient_problems_are_retried() {
        for code in Code::ALL {
            let outcome = of_problem(&code.problem("", ""), None);
            let passes = matches!(outcome, Outcome::NoEffect { .. });
            let expected = matches!(code, Code::TooManyRequests | Code::Unavailable | Code::InProgress);
            assert_eq!(passes, expected, "{code:?}");
        }
    }
}
