//! The second part of a proof: every interval costs what was asked for when it
//! began, and was charged what it came to.

use std::collections::{HashMap, HashSet};

use contract::id::OrganizationId;
use futures_util::TryStreamExt;
use kernel::{Tx, money::Currency};
use uuid::Uuid;

use super::{
    Counted, Found, ProveError, Span, Step,
    fold::{Charged, Interval, Price, Window, check_interval, check_price, check_refund},
    place::{Part, Place},
    store::{self, ChargedRow, MarkRow},
};

// bound: marks of one step, twice as many as intervals
const MARKS: i64 = 50_000;

/// An interval with what it is compared by.
struct Run {
    allocation: Uuid,
    number: i64,
    sku: Uuid,
    interval: Interval,
}

pub async fn step(
    tx: &mut Tx,
    organization: OrganizationId,
    after: Option<Uuid>,
    month: Option<Span>,
    counted: &mut Counted,
) -> Result<Step, ProveError> {
    let book = store::book(tx, organization).await?;
    let (mut marks, is_last) = page(tx, organization, after).await?;
    let until = if is_last { None } else { marks.last().map(|it| it.allocation_id) };
    let prices = store::prices(tx, &skus(&marks)).await?;
    let runs = match paired(&mut marks, &prices) {
        Ok(runs) => runs,
        Err(found) => return Ok(Step::Differs(found)),
    };
    counted.intervals += runs.len() as u64;
    let Some((first, last)) = store::numbers(tx, organization, &book, month).await? else {
        return Ok(onward(organization, until));
    };
    let earliest = runs.iter().map(|it| it.interval.start_us).min().unwrap_or(i64::MAX);
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
        Some(after) => Step::Went(Place { organization, part: Part::Intervals { after: Some(after) } }),
    }
}

/// Whole allocations only; says whether these are the last.
async fn page(tx: &mut Tx, organization: OrganizationId, after: Option<Uuid>) -> sqlx::Result<(Vec<MarkRow>, bool)> {
    let mut marks = store::usage(tx, organization, after, None, MARKS + 1).await?;
    if (marks.len() as i64) <= MARKS {
        return Ok((marks, true));
    }
    let cut = marks.last().map(|it| it.allocation_id);
    let first = marks.first().map(|it| it.allocation_id);
    if cut == first {
        marks = store::usage(tx, organization, after, first, i64::MAX).await?;
        return Ok((marks, false));
    }
    marks.retain(|it| Some(it.allocation_id) != cut);
    Ok((marks, false))
}

fn skus(marks: &[MarkRow]) -> Vec<Uuid> {
    let mut skus: Vec<Uuid> = marks.iter().map(|it| it.sku_id).collect();
    skus.sort_unstable();
    skus.dedup();
    skus
}

type Prices = HashMap<(Uuid, String), Vec<Price>>;

/// Puts starts and ends together, and checks that each start was priced right.
fn paired(marks: &mut Vec<MarkRow>, prices: &Prices) -> Result<Vec<Run>, Found> {
    let mut runs: Vec<Run> = Vec::with_capacity(marks.len() / 2 + 1);
    let mut open: Option<MarkRow> = None;
    let mut before: Option<(Uuid, i64)> = None;
    for mark in marks.drain(..) {
        let wrong = |what: String| Found { journal: None, allocation: Some(mark.allocation_id.into()), what };
        if before.is_some_and(|(allocation, at)| allocation == mark.allocation_id && mark.at_us < at) {
            return Err(wrong(format!("mark {} lies before the one that it follows", mark.version)));
        }
        before = Some((mark.allocation_id, mark.at_us));
        match (mark.kind.as_str(), open.take().filter(|it| it.allocation_id == mark.allocation_id)) {
            ("start", Some(_)) => return Err(wrong(format!("mark {} starts what runs already", mark.version))),
            ("start", None) => {
                let known = prices.get(&(mark.sku_id, mark.currency.clone())).map_or(&[][..], Vec::as_slice);
                check_price(known, mark.price_id, mark.at_us, mark.gpus, mark.micros_per_hour)
                    .map_err(|what| wrong(format!("interval {}: {what}", mark.version)))?;
                let currency: Currency = mark.currency.parse().map_err(|_| wrong("its currency is none".into()))?;
                let interval =
                    Interval { start_us: mark.at_us, end_us: None, micros_per_hour: mark.micros_per_hour, currency };
                runs.push(Run { allocation: mark.allocation_id, number: mark.version, sku: mark.sku_id, interval });
                open = Some(mark);
            }
            ("end", Some(start)) if start.is_ended_by(&mark) => {
                if let Some(run) = runs.last_mut() {
                    run.interval.end_us = Some(mark.at_us);
                }
            }
            _ => return Err(wrong(format!("mark {} ends what it did not start", mark.version))),
        }
    }
    Ok(runs)
}

#[expect(clippy::too_many_arguments, reason = "the ends of two ranges, and what is compared")]
async fn compare(
    tx: &mut Tx,
    organization: OrganizationId,
    allocations: (Option<Uuid>, Option<Uuid>),
    numbers: (i64, i64),
    runs: &[Run],
    windows: &[Window],
    posted_to: Option<i64>,
    counted: &mut Counted,
) -> sqlx::Result<Option<Found>> {
    let mut rows = store::charged(tx, organization, allocations, numbers);
    let mut next: Option<ChargedRow> = rows.try_next().await?;
    for run in runs {
        let key = (run.allocation, run.number);
        let mut charged = Vec::new();
        while let Some(row) = next.take() {
            if (row.allocation_id, row.of_interval) != key {
                next = Some(row);
                break;
            }
            counted.lines += 1;
            if row.subject != run.sku.to_string() || row.currency != run.interval.currency.as_str() {
                let what = "a line is for another SKU or currency than was used".into();
                return Ok(Some(Found { journal: Some(row.number), allocation: Some(run.allocation.into()), what }));
            }
            charged.push(Charged { number: row.number, amount: row.amount });
            next = rows.try_next().await?;
        }
        if let Some(row) = next.as_ref().filter(|it| (it.allocation_id, it.of_interval) < key) {
            return Ok(Some(unused(row)));
        }
        if let Err((journal, what)) = check_interval(&run.interval, windows, &charged, posted_to) {
            let what = format!("interval {}: {what}", run.number);
            return Ok(Some(Found { journal, allocation: Some(run.allocation.into()), what }));
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
) -> sqlx::Result<Option<Found>> {
    let mut seen = HashSet::new();
    for row in store::refunds(tx, organization, numbers).await? {
        let wrong = |allocation: Option<Uuid>, what: String| {
            Ok(Some(Found { journal: Some(row.number), allocation: allocation.map(Into::into), what }))
        };
        let Some((allocation, number, last_heard_us)) = refund_of(&row.reference) else {
            return wrong(None, "its reference names no interval".into());
        };
        // Others are looked at with the page that they are on.
        if after.is_some_and(|it| allocation <= it) || until.is_some_and(|it| allocation > it) {
            continue;
        }
        if !seen.insert((allocation, number)) {
            return wrong(Some(allocation), format!("interval {number} was refunded before"));
        }
        let run = runs.iter().find(|it| (it.allocation, it.number) == (allocation, number));
        let Some(run) = run.filter(|it| it.interval.currency.as_str() == row.currency) else {
            return wrong(Some(allocation), format!("it refunds an interval {number} that never was"));
        };
        if let Err(what) = check_refund(&run.interval, last_heard_us, row.amount) {
            return wrong(Some(allocation), format!("interval {number}: {what}"));
        }
    }
    Ok(None)
}

/// The allocation, the interval and the moment that a reference names.
fn refund_of(reference: &str) -> Option<(Uuid, i64, i64)> {
    let mut pieces = reference.split(':').skip(1);
    let found = (pieces.next()?.parse().ok()?, pieces.next()?.parse().ok()?, pieces.next()?.parse().ok()?);
    pieces.next().is_none().then_some(found)
}

fn unused(row: &ChargedRow) -> Found {
    let what = format!("a line of {} is for an interval {} that never was", row.amount, row.of_interval);
    Found { journal: Some(row.number), allocation: Some(row.allocation_id.into()), what }
}

impl MarkRow {
    /// Whether `end` ends the interval that this starts, and copies what it was.
    fn is_ended_by(&self, end: &MarkRow) -> bool {
        end.of_interval == self.version
            && (end.sku_id, end.gpus, end.price_id, end.micros_per_hour)
                == (self.sku_id, self.gpus, self.price_id, self.micros_per_hour)
            && end.currency == self.currency
            && end.at_us >= self.at_us
    }
}
