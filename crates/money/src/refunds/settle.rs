//! Makes the ledger say what the provider says of one refund.

use contract::{id::RefundId, refunds::RefundState};
use kernel::{Tx, lifecycle::transition};

use super::{
    lifecycle::{Event, RefundLifecycle},
    store::{self, New},
};
use crate::{
    ledger::{self, AccountKind, Journal},
    payments::{SettleError, StoredPayment},
};
use platform::ports::payments::{ProviderRefund, RefundStatus};

/// Whoever gave back what we did not ask for.
const ELSEWHERE: &str = "refunded by the provider";

/// Brings a refund to what was read of it; one that we did not ask for is taken in.
pub async fn settle(tx: &mut Tx, payment: &StoredPayment, said: &ProviderRefund) -> Result<(), SettleError> {
    let of = &payment.payment;
    if said.amount.currency() != payment.amount.currency() || said.amount.micros() <= 0 {
        tracing::error!(payment = %of.id, refund = said.id, "a refund in another currency is not posted");
        return Ok(());
    }
    let ours = said.refund.as_ref().and_then(|it| it.parse::<RefundId>().ok()).map(|it| it.uuid());
    let held = match store::named(tx, of.id, &said.id, ours).await? {
        Some(held) => held,
        None => {
            let actor = format!("provider:{}", of.provider);
            store::insert(tx, New { payment: of, micros: said.amount.micros(), reason: ELSEWHERE, actor: &actor })
                .await?
        }
    };
    if held.amount != said.amount {
        let why = "the provider refunded another amount than requested";
        tracing::error!(refund = %held.refund.id, why, "a refund is not posted: see docs/runbooks/payments-differ.md");
        store::set_last_error(tx, held.refund.id, why).await?;
        return Ok(());
    }
    if held.refund.provider_id.is_none() {
        store::accepted(tx, held.refund.id, &said.id).await?;
    }
    let (event, sign, ending) = match (held.state, said.status) {
        (RefundState::Requested, RefundStatus::Pending) => (Event::Accepted, 0, ""),
        (RefundState::Requested | RefundState::Pending, RefundStatus::Succeeded) => (Event::Succeeded, -1, ""),
        (RefundState::Requested | RefundState::Pending, RefundStatus::Failed) => (Event::Failed, 0, ""),
        // The payer's bank sent it back: the wallet has it again.
        (RefundState::Succeeded, RefundStatus::Failed) => (Event::Failed, 1, ":failed"),
        (RefundState::Pending | RefundState::Succeeded | RefundState::Failed, RefundStatus::Pending)
        | (RefundState::Succeeded | RefundState::Failed, RefundStatus::Succeeded)
        | (RefundState::Failed, RefundStatus::Failed) => return Ok(()),
    };
    transition::<RefundLifecycle>(tx, held.versioned(), event, "").await?;
    if sign == 0 {
        return Ok(());
    }
    let money = if sign < 0 { said.amount.checked_neg().map_err(ledger::LedgerError::from)? } else { said.amount };
    let journal = Journal::between(of.organization_id, "refund", AccountKind::Refunds, "", money)?
        .by(held.refund.created_by.as_str(), format!("{}: {}", held.refund.id, held.refund.reason))
        .once(format!("{}:{}{ending}", of.provider, said.id));
    ledger::post(tx, journal).await?;
    Ok(())
}
