//! Budgets: what projects may use in a period. What was used is computed from
//! the marks of usage, and what was asked for from the subjects themselves,
//! so that nothing here can disagree with the ledger.

mod check;
mod explain;
mod period;
mod reconcile;
mod routes;
mod store;

pub use check::{BudgetError, BudgetedRequest, check};
pub use reconcile::BudgetReconciler;
pub use store::KIND;

use crate::MoneyArea;
use kernel::lifecycle::ParentEnd;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<MoneyArea>) {
    registry.table("budgets", ParentEnd::Stays("a deleted project has no charges"));
    registry.table("budget_notices", ParentEnd::Stays("a deleted project has no charges"));
    registry.reconciler(|_| BudgetReconciler);
    registry.retention(&["budgets", "budget_notices"], Retention::Removed("when the budget is deleted"));
}
