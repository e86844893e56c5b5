//! What a month cost besides usage: credit, corrections, rounding and tax.

use contract::{
    Timestamp,
    id::OrganizationId,
    usage::{OtherCharge, OtherChargeKind},
};
use jiff::tz::TimeZone;
use kernel::Tx;

use super::store::{self, OtherRow};
use crate::invoices::Period;

/// A part of them.
pub struct Others {
    pub charges: Vec<OtherCharge>,
    /// The journal to go on after, if there are more.
    pub last: Option<i64>,
}

pub async fn of(
    tx: &mut Tx,
    organization: OrganizationId,
    period: Period,
    posted_to: Timestamp,
    after: i64,
    most: usize,
) -> sqlx::Result<Others> {
    let mut numbers = store::other_journals(tx, organization, period, posted_to, after, most as i64 + 1).await?;
    let has_more = numbers.len() > most;
    numbers.truncate(most);
    let mut charges = Vec::new();
    for row in store::other_charges(tx, organization, &numbers).await? {
        charges.extend(split(row)?);
    }
    Ok(Others { charges, last: numbers.last().copied().filter(|_| has_more) })
}

/// Tax apart from the rest, each only where it is something.
fn split(row: OtherRow) -> sqlx::Result<Vec<OtherCharge>> {
    let kind = if row.kind == "credit" { OtherChargeKind::Credit } else { OtherChargeKind::Adjustment };
    let parts = [(kind, -row.wallet - row.tax), (OtherChargeKind::Tax, row.tax)];
    let at = row.at.to_jiff();
    let span = row.from_at.zip(row.to_at).map(|(from, to)| (from.to_jiff(), to.to_jiff()));
    let (from, to) = span.or_else(|| day(at)).unwrap_or((at, at));
    let charge = |(kind, amount_micros): (OtherChargeKind, i64)| {
        Ok(OtherCharge {
            journal_id: row.id.into(),
            kind: kind.into(),
            is_correction: row.is_correction,
            reason: row.reason.clone(),
            from,
            to,
            currency: platform::rows::text(&row.currency)?,
            amount_micros,
            invoice: row.invoice.clone(),
        })
    };
    parts.into_iter().filter(|it| it.1 != 0).map(charge).collect()
}

/// The day of a moment, in UTC.
fn day(at: Timestamp) -> Option<(Timestamp, Timestamp)> {
    let first = at.to_zoned(TimeZone::UTC).start_of_day().ok()?;
    Some((first.timestamp(), first.tomorrow().ok()?.timestamp()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_one_of_utc() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!(
            day(at("2026-12-01T00:30:00+01:00")),
            Some((at("2026-11-30T00:00:00Z"), at("2026-12-01T00:00:00Z")))
        );
    }
}
