//! Proving the books: usage and price versions are folded again, by other code
//! than that which posted, and compared with every line to the micro-unit. It
//! goes in parts of bounded size, so that any number of years can be proven.

mod fold;
mod intervals;
mod journals;
mod place;
mod store;

pub use fold::{Charged, Count, Interval, Price, Window, check_counts, check_interval, check_price};

use contract::{
    id::OrganizationId,
    ledger::{Difference, Month, Proof, ProofPlace},
};
use kernel::Tx;
use place::{Part, ProofPosition};

/// What is proven: everybody's books or one organization's, all or one month of them.
#[derive(Debug, Clone)]
pub struct Range {
    pub organization: Option<OrganizationId>,
    pub month: Option<Month>,
    pub after: Option<ProofPlace>,
}

#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    #[error("not a position in this proof; send `next_after` of an earlier response, with the same range")]
    BadPlace,
    #[error("no such month")]
    BadMonth,
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

/// A month, from its beginning on and before the next.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    since: jiff::Timestamp,
    until: jiff::Timestamp,
}

impl Span {
    fn of(month: &Month) -> Option<Self> {
        let first: jiff::civil::Date = format!("{month}-01").parse().ok()?;
        let next = first.checked_add(jiff::Span::new().months(1)).ok()?;
        let moment = |day: jiff::civil::Date| day.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|it| it.timestamp());
        Some(Self { since: moment(first)?, until: moment(next)? })
    }
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discrepancy {
    pub journal: Option<i64>,
    /// The kind and the id of what was metered.
    pub subject: Option<String>,
    pub what: String,
}

/// How much of a part was gone through.
#[derive(Debug, Default)]
pub struct ProofCounts {
    pub organizations: u64,
    pub journals: u64,
    pub entries: u64,
    pub intervals: u64,
    /// Entries that were compared with their intervals, after they were counted.
    pub lines: u64,
}

impl ProofCounts {
    fn rows(&self) -> u64 {
        // Looking at an organization costs something too, however small its books.
        self.organizations * 100 + self.journals + self.entries + self.intervals + self.lines
    }
}

// bound: rows of one part; a request must end in time
const BUDGET: u64 = 100_000;

/// How far one step of a proof got.
enum Step {
    Went(ProofPosition),
    Differs(Discrepancy),
    Over,
}

/// Checks the next part.
pub async fn prove(tx: &mut Tx, range: &Range) -> Result<Proof, ProveError> {
    let mut counted = ProofCounts::default();
    let month = range.month.as_ref().map(|it| Span::of(it).ok_or(ProveError::BadMonth)).transpose()?;
    let mut place = match &range.after {
        Some(after) => ProofPosition::parse(after).ok_or(ProveError::BadPlace)?,
        None => match store::next_organization(tx, None, range.organization).await? {
            Some(first) => ProofPosition::start(first),
            None => return Ok(proof(counted, None, None)),
        },
    };
    if range.organization.is_some_and(|it| it != place.organization) {
        return Err(ProveError::BadPlace);
    }
    loop {
        let organization = place.organization;
        let step = match &place.part {
            Part::Journals { after } => journals::step(tx, organization, *after, month, &mut counted).await?,
            Part::Intervals { after } => intervals::step(tx, organization, *after, month, &mut counted).await?,
        };
        match step {
            Step::Went(next) => place = next,
            Step::Differs(found) => {
                let difference = Difference {
                    organization_id: organization,
                    journal: found.journal,
                    subject: found.subject,
                    what: found.what,
                };
                return Ok(proof(counted, Some(difference), None));
            }
            Step::Over => {
                counted.organizations += 1;
                let next = store::next_organization(tx, Some(organization), range.organization).await?;
                match next {
                    None => return Ok(proof(counted, None, None)),
                    Some(next) => place = ProofPosition::start(next),
                }
            }
        }
        if counted.rows() >= BUDGET {
            return Ok(proof(counted, None, Some(place.text())));
        }
    }
}

fn proof(counted: ProofCounts, difference: Option<Difference>, next_after: Option<ProofPlace>) -> Proof {
    Proof {
        organizations: counted.organizations,
        journals: counted.journals,
        entries: counted.entries,
        intervals: counted.intervals,
        difference,
        next_after,
    }
}
