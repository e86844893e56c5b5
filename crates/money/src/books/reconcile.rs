//! Closes the window of an organization now and then, for as long as it has
//! something that runs or ended since. A mark puts it into the queue.

use kernel::{
    Tx,
    work::{Next, ReconcileError, Reconciler},
};
use uuid::Uuid;

use super::store;
use platform::policies::{Policies, settings};

pub const KIND: &str = crate::metering::BOOKS;

pub struct BooksReconciler {
    pub policies: Policies,
}

impl Reconciler for BooksReconciler {
    const KIND: &'static str = KIND;
    const LANE: kernel::work::Lane = platform::lanes::DATABASE;
    type Snapshot = Uuid;
    type Observation = ();
    type Verdict = ();
    type Error = ReconcileError;

    async fn load(&self, _: &mut Tx, id: Uuid) -> Result<Option<Uuid>, ReconcileError> {
        Ok(Some(id))
    }

    async fn act(&self, _: &Uuid) -> Result<(), ReconcileError> {
        Ok(())
    }

    fn decide(&self, _: &Uuid, (): ()) {}

    async fn apply(&self, tx: &mut Tx, organization: Uuid, (): ()) -> Result<Next, ReconcileError> {
        let Some(closed) = super::close(tx, organization.into()).await? else { return Ok(Next::Done) };
        metrics::counter!("gpuaas_ledger_usage_lines_total").increment(closed.lines.unsigned_abs());
        // The lock is held until the commit: a mark that comes now puts it back.
        if closed.open == 0 {
            return Ok(Next::Done);
        }
        Ok(Next::After(settings::seconds(self.policies.number(settings::BILLING_WINDOW_SECONDS))))
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::overdue(tx, limit).await
    }
}
