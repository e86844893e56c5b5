//! Usage of a month interval by interval, and then what else it cost, in parts of bounded size. All parts
//! end at the same moment, so that they sum to what was posted until then.

use contract::{
    Code,
    id::OrganizationId,
    usage::{ExportAnyUsage, ExportPlace, ExportRange, ExportUsage, UsageExport},
};
use jiff::Timestamp;

use super::{
    others,
    store::{self, ChargeKey},
};
use crate::{MoneyArea, billing_profiles, invoices::Period, ledger};
use people::organizations;
use platform::http::{Call, Failure, Handle, ProblemBuilder, Request};

// bound: intervals of one part, and journals
const MOST: usize = 1_000;

impl Handle<ExportUsage> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ExportUsage>) -> Result<UsageExport, Failure> {
        let organization = call.organization();
        part(call, organization, request.query).await
    }
}

impl Handle<ExportAnyUsage> for MoneyArea {
    async fn handle(&self, call: &mut Call, request: Request<ExportAnyUsage>) -> Result<UsageExport, Failure> {
        let organization = ledger::existing(call, request.path.organization_id).await?;
        part(call, organization, request.query).await
    }
}

async fn part(call: &mut Call, organization: OrganizationId, range: ExportRange) -> Result<UsageExport, Failure> {
    let wrong = |field: &str, detail: &str| Failure::from(ProblemBuilder::new(Code::InvalidValue, detail).at(field));
    let period = Period::of(&range.month).ok_or_else(|| wrong("month", "no such month"))?;
    let place = match &range.after {
        None => None,
        Some(after) => {
            let place = ExportPosition::read(after.as_str());
            Some(place.ok_or_else(|| {
                wrong("after", "not a position in an export; send `next_after` of an earlier response")
            })?)
        }
    };
    let name = organizations::get(&mut call.tx, organization).await?.map(|it| it.name.to_string());
    let seller = billing_profiles::seller(&mut call.tx).await?.map(|it| it.party.legal_name);
    let posted_to = store::posted_to(&mut call.tx, organization).await?;
    // A place names an end that a part before had; later ones are not for the asker to choose.
    let posted_to = place.as_ref().map_or(posted_to, |it| it.posted_to.min(posted_to));
    let until = period.end.min(posted_to);
    let reached = place.map_or(ExportStage::Start, |it| it.reached);
    let (mut charges, mut next) = (Vec::new(), None);
    if until > period.start && !matches!(reached, ExportStage::Journal(_)) {
        let span = Period { start: period.start, end: until };
        let (found, last) = store::charges(&mut call.tx, organization, span, reached.charge(), MOST).await?;
        (charges, next) = (found, last.map(ExportStage::Charge));
    }
    let mut other_charges = Vec::new();
    if next.is_none() {
        let found = others::of(&mut call.tx, organization, period, posted_to, reached.journal(), MOST).await?;
        other_charges = found.charges;
        next = found.last.map(ExportStage::Journal);
    }
    let next_after = next.map(|reached| ExportPosition { posted_to, reached }.text());
    Ok(UsageExport {
        organization_id: organization,
        organization: name.unwrap_or_default(),
        seller,
        period_start: period.start,
        period_end: period.end,
        posted_to,
        charges,
        other_charges,
        next_after: next_after.transpose()?,
    })
}

/// How far an export got, and at which moment it ends.
#[derive(Debug, PartialEq, Eq)]
struct ExportPosition {
    posted_to: Timestamp,
    reached: ExportStage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ExportStage {
    Start,
    Charge(ChargeKey),
    Journal(i64),
}

const JOURNAL: &str = "journal";

impl ExportStage {
    fn charge(&self) -> Option<&ChargeKey> {
        match self {
            ExportStage::Charge(key) => Some(key),
            ExportStage::Start | ExportStage::Journal(_) => None,
        }
    }

    fn journal(&self) -> i64 {
        match self {
            ExportStage::Journal(number) => *number,
            ExportStage::Start | ExportStage::Charge(_) => 0,
        }
    }
}

impl ExportPosition {
    fn text(&self) -> sqlx::Result<ExportPlace> {
        let end = self.posted_to.as_microsecond();
        let text = match &self.reached {
            ExportStage::Start => end.to_string(),
            ExportStage::Charge(ChargeKey { subject, meter, number }) => {
                format!("{end}.{}.{number}.{meter}", subject.simple())
            }
            ExportStage::Journal(number) => format!("{end}.{JOURNAL}.{number}"),
        };
        platform::rows::text(&text)
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let posted_to = Timestamp::from_microsecond(parts.next()?.parse().ok()?).ok()?;
        let (of, number) = (parts.next()?, parts.next()?.parse().ok()?);
        let reached = if of == JOURNAL {
            ExportStage::Journal(number)
        } else {
            ExportStage::Charge(ChargeKey { subject: of.parse().ok()?, number, meter: parts.next()?.to_owned() })
        };
        parts.next().is_none().then_some(Self { posted_to, reached })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use uuid::Uuid;

    #[test]
    fn places_are_read_as_they_were_written() {
        let posted_to = "2026-11-15T12:00:00.123456Z".parse().unwrap();
        let key = ChargeKey { subject: Uuid::from_u128(77), meter: "gpu_time".to_owned(), number: 3 };
        for reached in [ExportStage::Charge(key), ExportStage::Journal(5)] {
            let place = ExportPosition { posted_to, reached };
            assert_eq!(ExportPosition::read(place.text().unwrap().as_str()), Some(place));
        }
        for bad in [
            "",
            "1",
            "1.2.3",
            "x.y.z",
            "1.00000000000000000000000000000001.3",
            "1.00000000000000000000000000000001.3.m.4",
        ] {
            assert_eq!(ExportPosition::read(bad), None, "{bad}");
        }
    }
}
