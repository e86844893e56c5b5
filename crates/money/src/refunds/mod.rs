//! Refunds: money of a payment that goes back to the payer. One is written
//! down, told to the provider under its own name, and posted once the provider
//! confirmed it; what somebody gave back elsewhere is taken in the same way.

pub mod lifecycle;
mod reconcile;
mod routes;
mod settle;
mod store;

pub use reconcile::RefundReconciler;
pub use routes::{By, create};
pub use settle::settle;

use crate::MoneyArea;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<MoneyArea>) {
    registry.lifecycle::<lifecycle::RefundLifecycle>();
    registry.reconciler(|area: &MoneyArea| RefundReconciler {
        provider: area.payments.clone(),
        policies: area.policies.clone(),
    });
    registry.retention(&["refunds"], Retention::Forever("the record of money"));
}
