//! Issues what is due for an organization, one month at a visit. The sweep
//! finds those whose month ended; taking usage back wakes it at once.

use std::time::Duration;

use kernel::{
    Tx,
    work::{Next, Reconciler},
};
use uuid::Uuid;

use super::{InvoiceError, issue::issue_due, store};

pub const KIND: &str = "invoices";

pub struct InvoicesReconciler;

impl Reconciler for InvoicesReconciler {
    const KIND: &'static str = KIND;
    const LANE: kernel::work::Lane = platform::lanes::DATABASE;
    type Snapshot = Uuid;
    type Observation = ();
    type Verdict = ();
    type Error = InvoiceError;

    async fn load(&self, _: &mut Tx, id: Uuid) -> Result<Option<Uuid>, InvoiceError> {
        Ok(Some(id))
    }

    async fn act(&self, _: &Uuid) -> Result<(), InvoiceError> {
        Ok(())
    }

    fn decide(&self, _: &Uuid, (): ()) {}

    async fn apply(&self, tx: &mut Tx, organization: Uuid, (): ()) -> Result<Next, InvoiceError> {
        let has_more = issue_due(tx, organization.into()).await?;
        Ok(if has_more { Next::After(Duration::ZERO) } else { Next::Done })
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::overdue(tx, limit).await
    }
}
