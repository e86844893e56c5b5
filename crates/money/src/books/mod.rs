//! The books: usage becomes money here, a window at a time. What a window adds
//! is counted from the start of each interval, so that it does not matter when,
//! how often, or by whom windows are closed.

mod reconcile;
mod store;

pub use reconcile::{BooksReconciler, KIND};
pub use store::PostingOutcome;

use contract::id::OrganizationId;
use kernel::Tx;

use crate::ledger;

use crate::MoneyArea;
use kernel::lifecycle::ParentEnd;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<MoneyArea>) {
    registry.table("books", ParentEnd::Stays("the record of money"));
    registry.reconciler(|area: &MoneyArea| BooksReconciler { policies: area.policies.clone() });
    registry.retention(&["books"], Retention::Forever("the record of money"));
}

// bound: months of one posting, more than a hundred years
const MOST_MONTHS: usize = 1_500;

/// Posts an organization's usage up to now, month by month. Nothing when it has no books.
pub async fn close(tx: &mut Tx, organization: OrganizationId) -> sqlx::Result<Option<PostingOutcome>> {
    let mut lines = 0;
    for _ in 0..MOST_MONTHS {
        let Some(closed) = store::close(tx, organization).await? else { return Ok(None) };
        if let (Some(number), Some(hash)) = (closed.number, &closed.hash) {
            ledger::checkpoint(tx, organization, number).await?;
            // Each hash covers all before it, so that one now and then will do.
            if closed.is_first_of_hour {
                ledger::attest(tx, organization, number, hash);
            }
        }
        lines += closed.lines;
        if !closed.is_behind {
            return Ok(Some(PostingOutcome { lines, ..closed }));
        }
    }
    Ok(None)
}
