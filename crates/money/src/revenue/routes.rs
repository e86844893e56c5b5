//! Showing revenue and utilization.

use contract::{
    Code, Timestamp,
    revenue::{DayRange, GetRevenue, GetUtilization, Revenue, Utilization},
};
use jiff::{ToSpan, tz::TimeZone};
use kernel::clock;

use super::store;
use crate::MoneyArea;
use platform::http::{Call, Failure, Handle, ProblemBuilder, Request};

// bound: days of one answer, more than a year
const MOST_DAYS: i64 = 400;
// bound: days that are shown when nothing is said
const USUAL_DAYS: i64 = 30;
// bound: lines of one answer
const MOST_LINES: usize = 20_000;

impl Handle<GetRevenue> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<GetRevenue>) -> Result<Revenue, Failure> {
        let (since, until) = period(clock::now(&mut call.tx).await?, &request.query)?;
        let lines = store::revenue(&mut call.tx, since, until, MOST_LINES as i64 + 1).await?;
        if lines.len() > MOST_LINES {
            return Err(wrong("since", "the result would exceed 20,000 lines; request a shorter period"));
        }
        Ok(Revenue { since, until, lines })
    }
}

impl Handle<GetUtilization> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<GetUtilization>) -> Result<Utilization, Failure> {
        let (since, until) = period(clock::now(&mut call.tx).await?, &request.query)?;
        let lines = store::utilization(&mut call.tx, since, until).await?;
        Ok(Utilization { since, until, lines })
    }
}

fn period(now: Timestamp, range: &DayRange) -> Result<(Timestamp, Timestamp), Failure> {
    let until = range.until.unwrap_or(now);
    let since = range.since.unwrap_or_else(|| usual_start(until));
    if since > until {
        return Err(wrong("since", "the period ends before it begins"));
    }
    if until.duration_since(since).as_secs() / 86_400 > MOST_DAYS {
        return Err(wrong("since", "the period may have at most 400 days; request a shorter one"));
    }
    Ok((since, until))
}

/// The beginning of a day in UTC, so that the first is whole.
fn usual_start(until: Timestamp) -> Timestamp {
    let day = until.to_zoned(TimeZone::UTC).date().checked_sub(USUAL_DAYS.days());
    day.and_then(|it| it.to_zoned(TimeZone::UTC)).map_or(until, |it| it.timestamp())
}

fn wrong(field: &str, detail: &str) -> Failure {
    ProblemBuilder::new(Code::InvalidValue, detail).at(field).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn thirty_days_are_shown_when_nothing_is_said() {
        let shown = period(at("2026-11-15T12:30:00Z"), &DayRange::default()).ok();
        assert_eq!(shown, Some((at("2026-10-16T00:00:00Z"), at("2026-11-15T12:30:00Z"))));
    }

    #[test]
    fn a_period_is_neither_backwards_nor_endless() {
        let range = |since: &str| DayRange { since: Some(at(since)), until: Some(at("2026-11-15T00:00:00Z")) };
        let now = at("2026-11-16T00:00:00Z");
        assert!(period(now, &range("2026-11-15T00:00:01Z")).is_err());
        assert!(period(now, &range("2025-01-01T00:00:00Z")).is_err());
        assert!(period(now, &range("2025-12-01T00:00:00Z")).is_ok());
    }
}
