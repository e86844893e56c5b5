//! The periods of budgets, in UTC. Pure.

use contract::{Timestamp, budgets::BudgetPeriod};
use jiff::{ToSpan, civil::Date, tz::TimeZone};

/// A period with its begin and without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// None: as long as there is usage.
    pub since: Option<Timestamp>,
    /// None: it never ends.
    pub until: Option<Timestamp>,
}

/// The period of a budget in which a moment lies.
pub fn around(period: BudgetPeriod, moment: Timestamp) -> Span {
    let months = match period {
        BudgetPeriod::Month => 1,
        BudgetPeriod::Quarter => 3,
        BudgetPeriod::Year => 12,
        BudgetPeriod::Total => return Span { since: None, until: None },
    };
    let day = moment.to_zoned(TimeZone::UTC).date();
    let first_month = (day.month() - 1) / months * months + 1;
    let first = Date::new(day.year(), first_month, 1).ok();
    // Past the end of all calendars nothing begins anew.
    let next = first.and_then(|it| it.checked_add(i32::from(months).months()).ok());
    let begin = |day: Date| day.to_zoned(TimeZone::UTC).ok().map(|it| it.timestamp());
    Span { since: first.and_then(begin), until: next.and_then(begin) }
}

/// In words, as a part of a sentence.
pub fn wording(period: BudgetPeriod) -> &'static str {
    match period {
        BudgetPeriod::Month => "per month",
        BudgetPeriod::Quarter => "per quarter",
        BudgetPeriod::Year => "per year",
        BudgetPeriod::Total => "in total",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(period: BudgetPeriod, moment: &str) -> (String, String) {
        let Span { since, until } = around(period, moment.parse().unwrap());
        (since.unwrap().to_string(), until.unwrap().to_string())
    }

    #[test]
    fn periods_begin_and_end_at_midnight_utc() {
        use BudgetPeriod::*;
        let cases = [
            (Month, "2026-11-15T12:00:00Z", "2026-11-01", "2026-12-01"),
            (Month, "2026-12-31T23:59:59.999999Z", "2026-12-01", "2027-01-01"),
            (Month, "2027-01-01T00:00:00Z", "2027-01-01", "2027-02-01"),
            (Month, "2026-12-01T00:30:00+01:00", "2026-11-01", "2026-12-01"),
            (Month, "2028-02-29T12:00:00Z", "2028-02-01", "2028-03-01"),
            (Quarter, "2026-11-15T12:00:00Z", "2026-10-01", "2027-01-01"),
            (Quarter, "2026-03-31T23:59:59Z", "2026-01-01", "2026-04-01"),
            (Year, "2026-11-15T12:00:00Z", "2026-01-01", "2027-01-01"),
        ];
        for (period, moment, since, until) in cases {
            let expected = (format!("{since}T00:00:00Z"), format!("{until}T00:00:00Z"));
            assert_eq!(span(period, moment), expected, "{period} of {moment}");
        }
        let total = around(Total, "2026-11-15T12:00:00Z".parse().unwrap());
        assert_eq!(total, Span { since: None, until: None });
    }
}
