//! Wallets: whether there is money for what is asked for, and for how long.
//! What an allocation may cost is held when it is asked for, given up as it
//! runs, and held anew for as long as there is money.

mod hooks;
pub mod lifecycle;
mod plan;
#[cfg(test)]
mod plan_tests;
mod reconcile;
mod spenders;
mod store;

pub use hooks::MoneyHooks;
pub use reconcile::WalletReconciler;
pub use spenders::{Expected, Spender, Spenders};

use contract::{
    Timestamp,
    id::{OrganizationId, SkuId},
    prices::PriceKind,
    wallets::WalletState,
};
use jiff::SignedDuration;
use kernel::{
    Tx,
    lifecycle::Lifecycle,
    money::{Currency, Money, MoneyError, Rate},
    work,
};

use crate::{ledger, metering::Subject};
use fleet::prices::{self, PriceKey};
use lifecycle::WalletLifecycle;

use crate::MoneyArea;
use kernel::lifecycle::ParentEnd;
use platform::registry::{Registry, Retention};

pub fn register(registry: &mut Registry<MoneyArea>) {
    registry.lifecycle::<lifecycle::WalletLifecycle>();
    registry.reconciler(|_| WalletReconciler);
    registry.table("holds", ParentEnd::EndsToo("`metering::stop`, when its subject ends"));
    registry.retention(&["wallets"], Retention::Forever("one row for each organization and currency"));
    registry.retention(&["holds"], Retention::Removed("`metering::stop`, when what it is for ends"));
}

/// What is to be held, and for what.
#[derive(Debug, Clone, Copy)]
pub struct Hold {
    pub subject: Subject,
    pub sku: SkuId,
    pub price_kind: PriceKind,
    /// How many units at once.
    pub quantity: u32,
    pub currency: Currency,
    pub lasts: SignedDuration,
}

#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    #[error("the request needs {needed}, and {available} is available")]
    Insufficient { needed: Money, available: Money },
    #[error(transparent)]
    Money(#[from] MoneyError),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

/// Holds what a subject that is not metered yet may cost at worst, or says what
/// is missing. What is held for it already counts. Of several at once each sees
/// what the others hold: they take turns at the wallet.
pub async fn hold(tx: &mut Tx, hold: Hold) -> Result<(), HoldError> {
    let now = kernel::clock::now(tx).await?;
    let (unit, kind) = (hold.subject.meter.unit, hold.price_kind);
    let key = PriceKey { sku: hold.sku, unit, kind, currency: hold.currency };
    let Some(price) = prices::in_force(tx, key, now).await? else { return Ok(()) };
    let rate = Rate::from_micros_per_hour(price.price_micros, hold.currency).times(hold.quantity)?;
    let needed = rate.amount(i64::try_from(hold.lasts.as_micros()).map_err(|_| MoneyError::Overflow)?)?;
    if needed.is_zero() {
        return Ok(());
    }
    let organization = hold.subject.organization;
    let wallet = store::ensure(tx, organization, hold.currency).await?;
    store::lock(tx, wallet).await?;
    let own = Money::from_micros(store::waiting(tx, hold.subject).await?, hold.currency);
    let available = ledger::balance(tx, organization, hold.currency).await?.available.checked_add(own)?;
    if available.compare(needed)?.is_lt() {
        return Err(HoldError::Insufficient { needed, available });
    }
    store::hold(tx, &hold, rate).await?;
    Ok(())
}

/// The state of a wallet, and when its grace ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalletStatus {
    pub state: WalletState,
    /// When allocations end unless there is more money.
    pub grace_ends_at: Option<Timestamp>,
}

pub async fn status(tx: &mut Tx, organization: OrganizationId, currency: Currency) -> sqlx::Result<WalletStatus> {
    let found = store::status(tx, organization, currency).await?;
    let (state, ends) = found.unwrap_or((WalletLifecycle::INITIAL, None));
    Ok(WalletStatus { state, grace_ends_at: ends.filter(|_| state == WalletState::Grace) })
}

/// Looks at a wallet, because money came or went.
pub async fn changed(tx: &mut Tx, organization: OrganizationId, currency: Currency) -> sqlx::Result<()> {
    let id = store::ensure(tx, organization, currency).await?;
    work::wake(tx, WalletLifecycle::NAME, id.uuid());
    Ok(())
}

/// Looks at every wallet, because the rules changed.
pub async fn look_again(tx: &mut Tx) -> sqlx::Result<()> {
    store::look_again(tx, WalletLifecycle::NAME).await
}
