//! Money: what ran, what it costs, who pays, and the books that prove it.

pub mod billing_profiles;
pub mod books;
pub mod budgets;
pub mod corrections;
pub mod invoices;
pub mod ledger;
pub mod metering;
pub mod payments;
pub mod refunds;
pub mod revenue;
pub mod usage;
pub mod wallets;

use std::{ops::Deref, sync::Arc};

use platform::{Platform, ports::payments::PaymentProvider, registry::Registry};

/// What the handlers of the area can reach.
pub struct MoneyArea {
    pub platform: Arc<Platform>,
    /// Who takes people's money, when somebody is configured.
    pub payments: Option<Arc<dyn PaymentProvider>>,
}

impl Deref for MoneyArea {
    type Target = Platform;

    fn deref(&self) -> &Platform {
        &self.platform
    }
}

/// Everything that the area's resources register.
pub fn registry() -> Registry<MoneyArea> {
    let mut registry = Registry::default();
    billing_profiles::register(&mut registry);
    books::register(&mut registry);
    budgets::register(&mut registry);
    corrections::register(&mut registry);
    invoices::register(&mut registry);
    ledger::register(&mut registry);
    metering::register(&mut registry);
    payments::register(&mut registry);
    refunds::register(&mut registry);
    revenue::register(&mut registry);
    usage::register(&mut registry);
    wallets::register(&mut registry);
    registry
}
