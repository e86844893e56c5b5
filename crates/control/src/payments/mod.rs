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
pub use store::{Held, count_drift, forget_old_events, get, lock};

use std::sync::Arc;

use crate::{
    http::{Failure, Trouble},
    ports::payments::PaymentProvider,
};
use contract::Code;

/// The provider, or what to say where there is none.
pub fn provider(payments: &Option<Arc<dyn PaymentProvider>>) -> Result<&Arc<dyn PaymentProvider>, Failure> {
    payments.as_ref().ok_or_else(|| Trouble::new(Code::PaymentsOff, NO_PROVIDER).into())
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

const NO_PROVIDER: &str = "no payment provider is set up here; wallets are filled by credit that operators give";
