//! Refunds of what was charged after a host was last heard. Each names the
//! interval and the moment in its reference, which its hash covers, so that the
//! proof can work out the same amount from the marks.

use contract::{
    Timestamp,
    id::{AllocationId, OrganizationId},
};
use kernel::{
    Tx,
    money::{Currency, Money},
};

use super::{AccountKind, Journal, LedgerError, post::post, store};

/// How the reference of such a refund begins; then the subject, the meter, the interval and the moment in µs.
pub const LOST_HOST: &str = "lost-host";

/// What an interval was charged, or will be, after a moment.
pub struct Excess {
    pub meter: String,
    pub interval: i64,
    pub currency: Currency,
    pub amount: i64,
}

/// Refunds what an allocation is charged beyond the moment at which a host of it
/// was last heard; how many refunds that took. Each interval once, however often it is asked for.
pub async fn refund_beyond(
    tx: &mut Tx,
    organization: OrganizationId,
    allocation: AllocationId,
    last_heard: Timestamp,
) -> Result<usize, LedgerError> {
    let found = store::excess(tx, organization, allocation.uuid(), last_heard).await?;
    let count = found.len();
    for excess in found {
        let amount = Money::from_micros(excess.amount, excess.currency);
        let actor = tx.actor.as_str().to_owned();
        let reason = format!("charged after a host of {allocation} was last seen, at {last_heard}");
        let reference = format!(
            "{LOST_HOST}:{}:{}:{}:{}",
            allocation.uuid(),
            excess.meter,
            excess.interval,
            last_heard.as_microsecond()
        );
        let journal = Journal::between(organization, "adjustment", AccountKind::WriteOffs, "", amount)?;
        post(tx, journal.by(actor, reason).once(reference)).await?;
    }
    Ok(count)
}

/// What was refunded for an allocation because a host of it was lost, in each currency.
pub async fn refunded(tx: &mut Tx, organization: OrganizationId, allocation: AllocationId) -> sqlx::Result<Vec<Money>> {
    store::refunded(tx, organization, &format!("{LOST_HOST}:{}:", allocation.uuid())).await
}
