//! The second part of a proof: every interval costs what was asked for when it
//! began, and was charged what it came to.

use std::collections::{HashMap, HashSet};

use contract::id::OrganizationId;
use futures_util::TryStreamExt;
use kernel::{Tx, money::Currency};
use uuid::Uuid;

use super::{
    Discrepancy, ProofCounts, ProveError, Span, Step,
    fold::{Charged, Count, Frozen, Interval, Price, Window, check_counts, check_interval, check_price, check_refund},
    place::{Part, ProofPosition},
    store::{self, ChargedRow, MarkRow, PriceName},
};
use crate::metering::{SubjectId, subject_text};

// bound: marks of one step, twice as many as intervals
const MARKS: i64 = 50_000;

/// Usage at one price, with what it is compared by.
struct Run {
    subject: SubjectId,
    /// The number of its first mark.
    number: i64,
    sku: Uuid,
    currency: Currency,
    usage: Usage,
}

enum Usage {
    Measured(Interval),
    Counted { counts: Vec<Count>, price: Frozen },
}

impl Run {
    fn started_us(&self) -> i64 {
        match &self.usage {
            Usage::Measured(interval) => interval.start_us,
            Usage::Counted { counts, .. } => counts.first().map_or(i64::MAX, |it| it.at_us),
        }
    }

    fn check(
        &self,
        windows: &[Window],
        charged: &[Charged],
        posted_to: Option<i64>,
    ) -> Result<(), (Option<i64>, String)> {
        match &self.usage {
            Usage::Measured(interval) => check_interval(interval, windows, charged, posted_to),
            Usage::Counted { counts, price } => {
                check_counts(counts, (price.price_micros, price.per_units), windows, charged, posted_to)
            }
        }
    }

    fn found(&self, journal: Option<i64>, what: String) -> Discrepancy {
        Discrepancy { journal, subject: Some(subject_text(&self.subject.kind, self.subject.id)), what }
    }
}

pub async fn step(
    tx: &mut Tx,
    organization: OrganizationId,
    after: Option<Uuid>,
    month: Option<Span>,
    counted: &mut ProofCounts,
) -> Result<Step, ProveError> {
    let book = store::book(tx, organization).await?;
    let (mut marks, is_last) = page(tx, organization, after).await?;
    let until = if is_last { None } else { marks.last().map(|it| it.subject_id) };
    let prices = store::prices(tx, &skus(&marks)).await?;
    let runs = match paired(&mut marks, &prices) {
        Ok(runs) => runs,
        Err(found) => return Ok(Step::Differs(found)),
    };
    counted.intervals += runs.len() as u64;
    let Some((first, last)) = store::numbers(tx, organization, &book, month).await? else {
        return Ok(onward(organization, until));
    };
    let earliest = runs.iter().map(Run::started_us).min().unwrap_or(i64::MAX);
    let windows = store::windows(tx, organization, (first, last), earliest).await?;
    let posted_to = month.is_none().then(|| book.posted_to.to_jiff().as_microsecond());
    let found = match refunds(tx, organization, (after, until), (first, last), &runs).await? {
        Some(found) => Some(found),
        None => compare(tx, organization, (after, until), (first, last), &runs, &windows, posted_to, counted).await?,
    };
    Ok(match found {
        Some(found) => Step::Differs(found),
        None => onward(organization, until),
    })
}

fn onward(organization: OrganizationId, until: Option<Uuid>) -> Step {
    match until {
        None => Step::Over,
        Some(after) => Step::Went(ProofPosition { organization, part: Part::Intervals { after: Some(after) } }),
    }
}

/// Whole subjects only; says whether these are the last.
async fn page(tx: &mut Tx, organization: OrganizationId, after: Option<Uuid>) -> sqlx::Result<(Vec<MarkRow>, bool)> {
    let mut marks = store::usage(tx, organization, after, None, MARKS + 1).await?;
    if (marks.len() as i64) <= MARKS {
        return Ok((marks, true));
    }
    let cut = marks.last().map(|it| it.subject_id);
    let first = marks.first().map(|it| it.subject_id);
    if cut == first {
        marks = store::usage(tx, organization, after, first, i64::MAX).await?;
        return Ok((marks, false));
    }
    marks.retain(|it| Some(it.subject_id) != cut);
    Ok((marks, false))
}

fn skus(marks: &[MarkRow]) -> Vec<Uuid> {
    let mut skus: Vec<Uuid> = marks.iter().map(|it| it.sku_id).collect();
    skus.sort_unstable();
    skus.dedup();
    skus
}

type Prices = HashMap<PriceName, Vec<Price>>;

/// Puts the marks of each interval together, and checks that each was priced right.
fn paired(marks: &mut Vec<MarkRow>, prices: &Prices) -> Result<Vec<Run>, Discrepancy> {
    let mut runs: Vec<Run> = Vec::with_capacity(marks.len() / 2 + 1);
    let mut previous: Option<MarkRow> = None;
    for mark in marks.drain(..) {
        let before = previous.take().filter(|it| (it.subject_id, &it.meter) == (mark.subject_id, &mark.meter));
        let wrong = |what: String| mark.found(what);
        if before.as_ref().is_some_and(|it| mark.at_us < it.at_us) {
            return Err(wrong(format!("mark {} is earlier than the one before it", mark.number)));
        }
        if mark.number != before.as_ref().map_or(0, |it| it.number) + 1 {
            return Err(wrong(format!("a mark before mark {} is missing", mark.number)));
        }
        let is_open = before.as_ref().is_some_and(|it| it.kind == "start");
        match (mark.kind.as_str(), &before) {
            ("start", _) if is_open => {
                return Err(wrong(format!("mark {} starts an interval that is already open", mark.number)));
            }
            ("start", _) => runs.push(mark.started(prices)?),
            ("end", Some(start)) if start.is_ended_by(&mark) => {
                if let Some(Run { usage: Usage::Measured(interval), .. }) = runs.last_mut() {
                    interval.end_us = Some(mark.at_us);
                }
            }
            ("count", _) if !is_open => {
                let price = mark.price(prices)?;
                let counts = match runs.last_mut() {
                    Some(Run { usage: Usage::Counted { counts, price: first }, .. })
                        if before.as_ref().is_some_and(|it| mark.continues(it)) && price == *first =>
                    {
                        counts
                    }
                    _ if mark.of_interval == mark.number => {
                        let usage = Usage::Counted { counts: Vec::new(), price };
                        runs.push(Run { usage, ..mark.run()? });
                        let Some(Run { usage: Usage::Counted { counts, .. }, .. }) = runs.last_mut() else { continue };
                        counts
                    }
                    _ => return Err(wrong(format!("mark {} counts for an interval with another price", mark.number))),
                };
                let (at_us, quantity, amount) = (mark.at_us, mark.quantity, mark.amount);
                counts.push(Count { at_us, quantity, total: mark.total.unwrap_or(0), amount });
            }
            _ => return Err(wrong(format!("mark {} ends an interval that is not open", mark.number))),
        }
        previous = Some(mark);
    }
    Ok(runs)
}

#[expect(clippy::too_many_arguments, reason = "the bounds of two ranges, and the compared values")]
async fn compare(
    tx: &mut Tx,
    organization: OrganizationId,
    subjects: (Option<Uuid>, Option<Uuid>),
    numbers: (i64, i64),
    runs: &[Run],
    windows: &[Window],
    posted_to: Option<i64>,
    counted: &mut ProofCounts,
) -> sqlx::Result<Option<Discrepancy>> {
    let mut rows = store::charged(tx, organization, subjects, numbers);
    let mut next: Option<ChargedRow> = rows.try_next().await?;
    for run in runs {
        let key = (run.subject.id, run.subject.meter.as_str(), run.number);
        let mut charged = Vec::new();
        while let Some(row) = next.take() {
            if row.key() != key {
                next = Some(row);
                break;
            }
            counted.lines += 1;
            if row.account != run.sku.to_string() || row.currency != run.currency.as_str() {
                let what = "a line has another SKU or currency than the usage".into();
                return Ok(Some(run.found(Some(row.number), what)));
            }
            charged.push(Charged { number: row.number, amount: row.amount });
            next = rows.try_next().await?;
        }
        if let Some(row) = next.as_ref().filter(|it| it.key() < key) {
            return Ok(Some(unused(row)));
        }
        if let Err((journal, what)) = run.check(windows, &charged, posted_to) {
            return Ok(Some(run.found(journal, format!("interval {} of {}: {what}", run.number, run.subject.meter))));
        }
    }
    Ok(next.as_ref().map(unused))
}

/// Compares each refund that a lost host caused with the interval that it names.
async fn refunds(
    tx: &mut Tx,
    organization: OrganizationId,
    (after, until): (Option<Uuid>, Option<Uuid>),
    numbers: (i64, i64),
    runs: &[Run],
) -> sqlx::Result<Option<Discrepancy>> {
    let mut seen = HashSet::new();
    for row in store::refunds(tx, organization, numbers).await? {
        let wrong = |subject: Option<Uuid>, what: String| {
            let run = runs.iter().find(|it| Some(it.subject.id) == subject);
            let subject = subject.map(|id| run.map_or(id.to_string(), |it| subject_text(&it.subject.kind, id)));
            Ok(Some(Discrepancy { journal: Some(row.number), subject, what }))
        };
        let Some((subject, meter, number, last_heard_us)) = refund_of(&row.reference) else {
            return wrong(None, "its reference does not name an interval".into());
        };
        // Others are looked at with the page that they are on.
        if after.is_some_and(|it| subject <= it) || until.is_some_and(|it| subject > it) {
            continue;
        }
        if !seen.insert((subject, meter.to_owned(), number)) {
            return wrong(Some(subject), format!("interval {number} was already refunded"));
        }
        let run =
            runs.iter().find(|it| (it.subject.id, it.subject.meter.as_str(), it.number) == (subject, meter, number));
        let Some(Usage::Measured(interval)) = run.filter(|it| it.currency.as_str() == row.currency).map(|it| &it.usage)
        else {
            return wrong(Some(subject), format!("it refunds interval {number}, which does not exist"));
        };
        if let Err(what) = check_refund(interval, last_heard_us, row.amount) {
            return wrong(Some(subject), format!("interval {number}: {what}"));
        }
    }
    Ok(None)
}

/// The subject, the meter, the interval and the moment that a reference names.
fn refund_of(reference: &str) -> Option<(Uuid, &str, i64, i64)> {
    let mut pieces = reference.split(':').skip(1);
    let (subject, meter) = (pieces.next()?.parse().ok()?, pieces.next()?);
    let found = (subject, meter, pieces.next()?.parse().ok()?, pieces.next()?.parse().ok()?);
    pieces.next().is_none().then_some(found)
}

fn unused(row: &ChargedRow) -> Discrepancy {
    let what = format!(
        "a line with the amount {} is for interval {} of {}, which does not exist",
        row.amount, row.of_interval, row.meter
    );
    Discrepancy { journal: Some(row.number), subject: Some(row.subject_id.to_string()), what }
}

impl ChargedRow {
    fn key(&self) -> (Uuid, &str, i64) {
        (self.subject_id, &self.meter, self.of_interval)
    }
}

impl MarkRow {
    fn found(&self, what: String) -> Discrepancy {
        Discrepancy { journal: None, subject: Some(subject_text(&self.subject_kind, self.subject_id)), what }
    }

    fn run(&self) -> Result<Run, Discrepancy> {
        let currency = self.currency.parse().map_err(|_| self.found("its currency is unknown".into()))?;
        let (kind, meter) = (self.subject_kind.clone(), self.meter.clone());
        Ok(Run {
            subject: SubjectId { kind, id: self.subject_id, meter },
            number: self.number,
            sku: self.sku_id,
            currency,
            usage: Usage::Measured(Interval {
                start_us: self.at_us,
                end_us: None,
                micros_per_hour: self.micros_per_hour,
                currency,
            }),
        })
    }

    /// The price that it names, if that was in force.
    fn price(&self, prices: &Prices) -> Result<Frozen, Discrepancy> {
        let name = (self.sku_id, self.unit.clone(), self.price_kind.clone(), self.currency.clone());
        let known = prices.get(&name).map_or(&[][..], Vec::as_slice);
        let frozen = Frozen { price: self.price_id, price_micros: self.price_micros, per_units: self.per_units };
        check_price(known, frozen, self.at_us)
            .map_err(|what| self.found(format!("interval {}: {what}", self.number)))?;
        Ok(frozen)
    }

    fn started(&self, prices: &Prices) -> Result<Run, Discrepancy> {
        let price = self.price(prices)?;
        if price.price_micros.checked_mul(self.quantity) != Some(self.micros_per_hour)
            || self.of_interval != self.number
        {
            let (quantity, rate) = (self.quantity, self.micros_per_hour);
            let what = format!(
                "interval {}: it has a rate of {rate} per hour; {quantity} at {} each were requested",
                self.number, price.price_micros
            );
            return Err(self.found(what));
        }
        self.run()
    }

    /// Whether `end` ends the interval that this starts, and copies what it was.
    fn is_ended_by(&self, end: &MarkRow) -> bool {
        self.kind == "start"
            && end.of_interval == self.number
            && (end.sku_id, end.quantity, end.price_id, end.price_micros, end.micros_per_hour)
                == (self.sku_id, self.quantity, self.price_id, self.price_micros, self.micros_per_hour)
            && (&end.currency, &end.unit, &end.price_kind) == (&self.currency, &self.unit, &self.price_kind)
    }

    /// Whether this counts on where another count was.
    fn continues(&self, before: &MarkRow) -> bool {
        before.kind == "count"
            && self.of_interval == before.of_interval
            && (self.sku_id, &self.currency, &self.unit) == (before.sku_id, &before.currency, &before.unit)
    }
}
