//! Showing usage.

use contract::{
    Code,
    id::OrganizationId,
    usage::{GetAnyUsage, GetUsage, Usage, UsageBy, UsageRange},
};
use jiff::{Timestamp, tz::TimeZone};
use kernel::clock;

use super::store::{self, UsageGrouping};
use crate::MoneyArea;
use people::organizations;
use platform::http::{Call, Failure, Handle, ProblemBuilder, Request};

// bound: lines of one answer
const MOST_LINES: usize = 1_000;
// bound: days of one answer, more than two years
const MOST_DAYS: i64 = 800;

impl Handle<GetUsage> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<GetUsage>) -> Result<Usage, Failure> {
        let organization = call.organization();
        report(call, organization, request.query).await
    }
}

impl Handle<GetAnyUsage> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<GetAnyUsage>) -> Result<Usage, Failure> {
        let organization = request.path.organization_id;
        if organizations::get(&mut call.tx, organization).await?.is_none() {
            return Err(Failure::not_found("organization"));
        }
        call.about_organization(organization);
        report(call, organization, request.query).await
    }
}

async fn report(call: &mut Call, organization: OrganizationId, range: UsageRange) -> Result<Usage, Failure> {
    let now = clock::now(&mut call.tx).await?;
    let until = range.until.unwrap_or(now);
    let since = range.since.unwrap_or_else(|| month_of(until));
    let by = range.by.unwrap_or(UsageBy::Project);
    let wrong = |field: &str, detail: &str| Err(ProblemBuilder::new(Code::InvalidValue, detail).at(field).into());
    if since > until {
        return wrong("since", "the period ends before it begins");
    }
    if by == UsageBy::Day && until.duration_since(since).as_secs() / 86_400 > MOST_DAYS {
        return wrong("since", "by day, the period may have at most 800 days; request a shorter one");
    }
    if by == UsageBy::Tag && range.tag.is_none() {
        return wrong("tag", "give the tag, as in `tag=team`");
    }
    let cut = UsageGrouping { by, tag: range.tag.as_ref(), project: range.project_id, since, until };
    let lines = store::lines(&mut call.tx, organization, cut, MOST_LINES as i64 + 1).await?;
    if lines.len() > MOST_LINES {
        return wrong("by", "the result has more than 1000 lines; request a project or a shorter period");
    }
    Ok(Usage { by: by.into(), since, until, lines })
}

/// The beginning of the month of a moment, in UTC.
fn month_of(moment: Timestamp) -> Timestamp {
    let day = moment.to_zoned(TimeZone::UTC).date().first_of_month();
    day.to_zoned(TimeZone::UTC).map_or(moment, |it| it.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_begin_in_utc() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!(month_of(at("2026-11-15T12:00:00Z")), at("2026-11-01T00:00:00Z"));
        assert_eq!(month_of(at("2026-12-01T00:30:00+01:00")), at("2026-11-01T00:00:00Z"));
    }
}
