//! Payments: money that people pay into a wallet through a provider. What is
//! wanted is written down first; a reconciler tells the provider, reads back
//! what became of it, and only then moves money in the ledger.

mod compare;
mod events;
pub mod intake;
pub mod lifecycle;
mod reconcile;
mod routes;
mod settle;
mod store;

pub use compare::PaymentComparison;
pub use events::PaymentEventReconciler;
pub use reconcile::PaymentReconciler;
pub use settle::SettleError;
pub use store::{StoredPayment, count_drift, forget_old_events, get, lock};

use std::sync::Arc;

use contract::Code;
use platform::{
    http::{Failure, ProblemBuilder},
    ports::payments::PaymentProvider,
};

use crate::MoneyArea;
use kernel::lifecycle::ParentEnd;
use platform::policies::settings;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<MoneyArea>) {
    registry.lifecycle::<lifecycle::PaymentLifecycle>();
    registry.table("disputes", ParentEnd::Stays("the record of money"));
    registry.reconciler(|area: &MoneyArea| PaymentReconciler {
        provider: area.payments.clone(),
        policies: area.policies.clone(),
    });
    registry.reconciler(|area: &MoneyArea| PaymentEventReconciler {
        provider: area.payments.clone(),
        policies: area.policies.clone(),
    });
    registry.reconciler(|area: &MoneyArea| PaymentComparison {
        provider: area.payments.clone(),
        policies: area.policies.clone(),
    });
    registry.gauge("gpuaas_payment_drift", |tx| Box::pin(count_drift(tx)));
    registry.expiry(&["payment_events"], |area, most| {
        Box::pin(async move {
            let retention = settings::days(area.policies.number(settings::PAYMENTS_EVENTS_DAYS));
            forget_old_events(&area.db, retention, most).await
        })
    });
    registry.retention(&["payments", "disputes", "payment_drift"], Retention::Forever("the record of money"));
}

/// The provider, or what to say where there is none.
pub fn provider(payments: &Option<Arc<dyn PaymentProvider>>) -> Result<&Arc<dyn PaymentProvider>, Failure> {
    payments.as_ref().ok_or_else(|| ProblemBuilder::new(Code::PaymentsOff, NO_PROVIDER).into())
}

/// Everything of an error, for people who look at what is stuck.
pub fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}

const NO_PROVIDER: &str = "no payment provider is configured; operators add funds as credit";
