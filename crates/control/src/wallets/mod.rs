//! Wallets: whether there is money for what is asked for. What an allocation
//! may cost at worst is held when it is asked for, and given up as it runs.

mod store;

use contract::id::{AllocationId, OrganizationId};
use jiff::SignedDuration;
use kernel::{
    Tx,
    money::{Currency, Money, MoneyError, Rate},
};

use crate::{ledger, prices};
use contract::id::SkuId;

/// What is to be held, and for what.
#[derive(Debug, Clone, Copy)]
pub struct Hold {
    pub organization: OrganizationId,
    pub allocation: AllocationId,
    pub sku: SkuId,
    /// Of all nodes together.
    pub gpus: u32,
    pub currency: Currency,
    pub lasts: SignedDuration,
}

#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    #[error("{needed} are needed for it, and {available} are available")]
    Insufficient { needed: Money, available: Money },
    #[error(transparent)]
    Money(#[from] MoneyError),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

/// Holds what an allocation may cost at worst, or says what is missing. Of
/// several at once each sees what the others hold: they take turns at the wallet.
pub async fn hold(tx: &mut Tx, hold: Hold) -> Result<(), HoldError> {
    let now = kernel::clock::now(tx).await?;
    let currency = crate::rows::text(hold.currency.as_str())?;
    let Some(price) = prices::in_force(tx, hold.sku, &currency, now).await? else { return Ok(()) };
    let rate = Rate::from_micros_per_hour(price.price_micros_per_gpu_hour, hold.currency).times(hold.gpus)?;
    let needed = rate.amount(i64::try_from(hold.lasts.as_micros()).map_err(|_| MoneyError::Overflow)?)?;
    if needed.is_zero() {
        return Ok(());
    }
    store::lock(tx, hold.organization, hold.currency).await?;
    let available = ledger::balance(tx, hold.organization, hold.currency).await?.available;
    if available.compare(needed)?.is_lt() {
        return Err(HoldError::Insufficient { needed, available });
    }
    store::insert(tx, &hold, rate).await?;
    Ok(())
}
