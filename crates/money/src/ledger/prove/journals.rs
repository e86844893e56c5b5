//! The first part of a proof: journals follow one another without a gap, each
//! balances, and its hash covers what stands there now.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{Context, SHA256, digest};
use contract::id::OrganizationId;
use futures_util::TryStreamExt;
use kernel::Tx;

use crate::metering::subject_text;

use super::{
    BUDGET, Discrepancy, ProofCounts, ProveError, Span, Step,
    place::{Part, ProofPosition},
    store::{self, Book, EntryRow, JournalRow},
};

/// The version of the form in which journals are hashed; its other half is `journal_hash`.
const FORM: u8 = 1;

/// What the rows of a journal come to.
struct Read {
    entries: Hashed,
    marks: Hashed,
    sums: BTreeMap<String, i128>,
    lines: i32,
}

/// A hash over texts, each on a line of its own.
struct Hashed {
    context: Context,
    is_begun: bool,
}

impl Hashed {
    fn new() -> Self {
        Self { context: Context::new(&SHA256), is_begun: false }
    }

    fn add(&mut self, text: &str) {
        if self.is_begun {
            self.context.update(b"\n");
        }
        self.context.update(text.as_bytes());
        self.is_begun = true;
    }
}

pub async fn step(
    tx: &mut Tx,
    organization: OrganizationId,
    after: Option<i64>,
    month: Option<Span>,
    counted: &mut ProofCounts,
) -> Result<Step, ProveError> {
    let book = store::book(tx, organization).await?;
    let Some((first, last)) = store::numbers(tx, organization, &book, month).await? else {
        return Ok(match nothing_follows(tx, organization, &book, None, month).await? {
            Some(found) => Step::Differs(found),
            None => Step::Went(ProofPosition { organization, part: Part::Intervals { after: None } }),
        });
    };
    let after = after.unwrap_or(first - 1);
    let page = store::journals(tx, organization, after, last, BUDGET).await?;
    let before = store::before(tx, organization, after).await?;
    if let Some(found) = check(tx, organization, after, &before, &page, counted).await? {
        return Ok(Step::Differs(found));
    }
    let reached = page.last().map_or(after, |it| it.number);
    if reached < last && !page.is_empty() {
        return Ok(Step::Went(ProofPosition { organization, part: Part::Journals { after: Some(reached) } }));
    }
    if reached < last {
        return Ok(Step::Differs(at(reached + 1, format!("journal {} is missing", reached + 1))));
    }
    let hash = page.last().map_or(&before.hash, |it| &it.hash);
    if month.is_none() && *hash != book.hash {
        return Ok(Step::Differs(at(reached, "the newest journal does not match the head of the books".into())));
    }
    let closed_to = page.iter().rev().find_map(|it| it.to_at).or(before.closed_to);
    Ok(match nothing_follows(tx, organization, &book, closed_to, month).await? {
        Some(found) => Step::Differs(found),
        None => Step::Went(ProofPosition { organization, part: Part::Intervals { after: None } }),
    })
}

fn at(number: i64, what: String) -> Discrepancy {
    Discrepancy { journal: Some(number), subject: None, what }
}

/// Checks what lies behind the last journal, and the balances that were kept.
async fn nothing_follows(
    tx: &mut Tx,
    organization: OrganizationId,
    book: &Book,
    closed_to: Option<jiff_sqlx::Timestamp>,
    month: Option<Span>,
) -> sqlx::Result<Option<Discrepancy>> {
    if month.is_some() {
        return Ok(None);
    }
    if let Some((kind, id)) = store::loose_mark(tx, organization, closed_to, book).await? {
        let what = "a mark is in a posted period, but no journal covers it".into();
        return Ok(Some(Discrepancy { journal: None, subject: Some(subject_text(&kind, id)), what }));
    }
    if let Some((id, meter)) = store::wrong_open_interval(tx, organization).await? {
        let what = format!("the open intervals of {meter} do not match its started and ended intervals");
        return Ok(Some(Discrepancy { journal: None, subject: Some(id.to_string()), what }));
    }
    if let Some(number) = store::beyond(tx, organization, book).await? {
        return Ok(Some(at(number, format!("journal {number} is unknown to the books"))));
    }
    if let Some(number) = store::unattested(tx, organization).await? {
        return Ok(Some(at(number, format!("journal {number} does not match the audit log"))));
    }
    let wrong = store::wrong_checkpoint(tx, organization).await?;
    Ok(wrong.map(|number| at(number, "a stored balance is not the sum of its entries".into())))
}

async fn check(
    tx: &mut Tx,
    organization: OrganizationId,
    after: i64,
    before: &store::Before,
    page: &[JournalRow],
    counted: &mut ProofCounts,
) -> sqlx::Result<Option<Discrepancy>> {
    for (expected, journal) in (after + 1..).zip(page) {
        if journal.number != expected {
            return Ok(Some(at(expected, format!("journal {expected} is missing"))));
        }
    }
    let Some(last) = page.last().map(|it| it.number) else { return Ok(None) };
    let new = || Read { entries: Hashed::new(), marks: Hashed::new(), sums: BTreeMap::new(), lines: 0 };
    let mut read: Vec<Read> = page.iter().map(|_| new()).collect();
    {
        let mut rows = store::entries(tx, organization, after, last);
        while let Some(row) = rows.try_next().await? {
            counted.entries += 1;
            let index = usize::try_from(row.number - after - 1).unwrap_or(usize::MAX);
            let (Some(journal), Some(read)) = (page.get(index), read.get_mut(index)) else { continue };
            if let Some(what) = misplaced(journal, read, &row) {
                return Ok(Some(at(row.number, what)));
            }
            *read.sums.entry(row.currency).or_default() += i128::from(row.amount);
            read.entries.add(&row.text);
        }
    }
    read_marks(tx, organization, before, page, &mut read).await?;
    let mut previous = before.hash.clone();
    let mut closed_to = before.closed_to.map(|it| it.to_jiff());
    for (journal, read) in page.iter().zip(read) {
        counted.journals += 1;
        if let Some((currency, sum)) = read.sums.iter().find(|(_, sum)| **sum != 0) {
            return Ok(Some(at(
                journal.number,
                format!("it does not balance: its entries in {currency} sum to {sum}"),
            )));
        }
        if let (Some(from), Some(to)) = (journal.from_at.map(|it| it.to_jiff()), journal.to_at.map(|it| it.to_jiff())) {
            if from > to || closed_to.is_some_and(|it| from < it) {
                return Ok(Some(at(journal.number, "its window overlaps an earlier one".into())));
            }
            closed_to = Some(to);
        }
        if chain(&previous, &journal.head, read) != journal.hash[..] {
            return Ok(Some(at(journal.number, "it, its entries or the marks of its window were changed".into())));
        }
        previous.clone_from(&journal.hash);
    }
    Ok(None)
}

/// What is wrong with where an entry stands.
fn misplaced(journal: &JournalRow, read: &mut Read, row: &EntryRow) -> Option<String> {
    read.lines += 1;
    if row.line != read.lines {
        return Some(format!("line {} is missing", read.lines));
    }
    let fits = match (journal.kind.as_str(), row.is_of_usage) {
        ("usage", true) => row.account.as_deref() == Some("revenue"),
        ("usage", false) => row.account.as_deref() == Some("wallet"),
        (_, is_of_usage) => !is_of_usage && row.account.is_some(),
    };
    (!fits).then(|| format!("line {} has an account that its kind does not allow", row.line))
}

async fn read_marks(
    tx: &mut Tx,
    organization: OrganizationId,
    before: &store::Before,
    page: &[JournalRow],
    read: &mut [Read],
) -> sqlx::Result<()> {
    let closing: Vec<(usize, jiff::Timestamp)> =
        page.iter().enumerate().filter_map(|(index, it)| Some((index, it.to_at?.to_jiff()))).collect();
    let Some((_, until)) = closing.last() else { return Ok(()) };
    let mut rows = store::marks(tx, organization, before.closed_to, kernel::clock::bind(*until));
    let mut at = 0;
    while let Some((moment, text)) = rows.try_next().await? {
        // Journals and marks are both in the order of time.
        while closing.get(at).is_some_and(|(_, to)| moment.to_jiff() >= *to) {
            at += 1;
        }
        let Some((index, _)) = closing.get(at) else { break };
        read[*index].marks.add(&text);
    }
    Ok(())
}

fn chain(before: &[u8], head: &str, read: Read) -> Vec<u8> {
    let mut bytes = vec![FORM];
    bytes.extend_from_slice(before);
    bytes.extend_from_slice(digest(&SHA256, head.as_bytes()).as_ref());
    bytes.extend_from_slice(read.entries.context.finish().as_ref());
    bytes.extend_from_slice(read.marks.context.finish().as_ref());
    digest(&SHA256, &bytes).as_ref().to_vec()
}
