//! Makes the ledger say what the provider says of one payment. It compares
//! what was read with what is written, so that it does not matter how often or
//! in which order news came; every journal's reference is posted once.

use contract::{
    id::PaymentId,
    payments::PaymentState::{self, ChargedBack, Disputed, Succeeded},
};
use kernel::{
    Tx,
    lifecycle::{TransitionError, Versioned, transition},
    money::Money,
};

use super::{
    lifecycle::{Event, PaymentLifecycle},
    store::{self, StoredPayment},
};
use crate::{
    ledger::{self, AccountKind, Journal, LedgerError},
    refunds,
};
use platform::ports::payments::{
    Checkout, CheckoutStatus, DisputeStanding, Intent, IntentStatus, ProviderDispute, ProviderRefund,
};

/// What the provider has of one payment, read at one time.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    pub checkout: Option<Checkout>,
    pub intent: Option<Intent>,
    pub refunds: Vec<ProviderRefund>,
    pub disputes: Vec<ProviderDispute>,
}

#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    #[error(transparent)]
    Transition(#[from] TransitionError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

/// What a payment that has not arrived should become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Waits,
    Arrived {
        intent: String,
        amount: Money,
    },
    Failed(&'static str),
    Canceled(&'static str),
    /// It cannot be right, and nothing is posted for it.
    Wrong(&'static str),
}

/// Judges what was read of a payment that has not arrived.
pub fn judge(payment: PaymentId, asked: Money, reading: &Reading) -> Outcome {
    if let Some(intent) = &reading.intent {
        let is_ours = intent.payment.as_ref().is_none_or(|it| *it == payment.to_string());
        match intent.status {
            IntentStatus::Succeeded if !is_ours => {
                return Outcome::Wrong("the provider reports that the money belongs to another payment");
            }
            IntentStatus::Succeeded if intent.received.currency() != asked.currency() => {
                return Outcome::Wrong("the provider charged another currency than requested");
            }
            IntentStatus::Succeeded if intent.received.micros() <= 0 => {
                return Outcome::Wrong("the provider reports success but no amount received");
            }
            IntentStatus::Succeeded => {
                return Outcome::Arrived { intent: intent.id.clone(), amount: intent.received };
            }
            IntentStatus::Canceled => return Outcome::Canceled("canceled by the provider"),
            IntentStatus::NeedsPayer if is_complete(reading) => return Outcome::Failed("declined by the payer's bank"),
            IntentStatus::NeedsPayer | IntentStatus::Processing => (),
        }
    }
    match reading.checkout.as_ref().map(|it| it.status) {
        Some(CheckoutStatus::Expired) => Outcome::Canceled("it was not paid in time"),
        Some(CheckoutStatus::Open | CheckoutStatus::Complete) => Outcome::Waits,
        None => Outcome::Wrong("the provider does not know the payment; was the account changed?"),
    }
}

fn is_complete(reading: &Reading) -> bool {
    reading.checkout.as_ref().is_some_and(|it| it.status == CheckoutStatus::Complete)
}

/// Whether the wallet has, or had, the money of a payment in this state.
pub fn has_arrived(state: PaymentState) -> bool {
    match state {
        Succeeded | Disputed | ChargedBack => true,
        PaymentState::Created | PaymentState::Pending | PaymentState::Failed | PaymentState::Canceled => false,
    }
}

/// Brings the payment, its refunds and its disputes to what was read.
pub async fn settle(tx: &mut Tx, held: &StoredPayment, reading: &Reading) -> Result<PaymentState, SettleError> {
    let mut row = held.versioned();
    let id = held.payment.id;
    if !has_arrived(row.state) {
        match judge(id, held.amount, reading) {
            Outcome::Arrived { intent, amount } => row = arrived(tx, held, row, &intent, amount).await?,
            Outcome::Waits => store::set_last_error(tx, id, None).await?,
            Outcome::Wrong(why) => {
                tracing::error!(payment = %id, why, "a payment is not posted: see docs/runbooks/payments-differ.md");
                store::set_last_error(tx, id, Some(why)).await?;
            }
            Outcome::Failed(why) => row = over(tx, row, Event::Failed, why).await?,
            Outcome::Canceled(why) => row = over(tx, row, Event::Canceled, why).await?,
        }
    }
    // What could not be read says nothing of refunds and disputes.
    let is_read = reading.intent.as_ref().is_some_and(|it| it.status == IntentStatus::Succeeded);
    if has_arrived(row.state) && is_read {
        for refund in &reading.refunds {
            refunds::settle(tx, held, refund).await?;
        }
        row = settle_disputes(tx, held, row, &reading.disputes).await?;
    }
    Ok(row.state)
}

/// Ends a payment that nobody paid; one that is over stays as it is.
async fn over(
    tx: &mut Tx,
    row: Versioned<PaymentState>,
    event: Event,
    why: &str,
) -> Result<Versioned<PaymentState>, SettleError> {
    match row.state {
        PaymentState::Created | PaymentState::Pending => {
            store::set_last_error(tx, row.id.into(), Some(why)).await?;
            Ok(transition::<PaymentLifecycle>(tx, row, event, why).await?)
        }
        PaymentState::Failed | PaymentState::Canceled | Succeeded | Disputed | ChargedBack => Ok(row),
    }
}

async fn arrived(
    tx: &mut Tx,
    held: &StoredPayment,
    row: Versioned<PaymentState>,
    intent: &str,
    amount: Money,
) -> Result<Versioned<PaymentState>, SettleError> {
    let payment = &held.payment;
    store::received(tx, payment.id, intent, amount).await?;
    let moved = transition::<PaymentLifecycle>(tx, row, Event::Succeeded, "").await?;
    let journal =
        Journal::between(payment.organization_id, "top_up", AccountKind::Clearing, &payment.provider, amount)?
            .by(payment.created_by.as_str(), payment.id.to_string())
            .once(format!("{}:{intent}", payment.provider));
    ledger::post(tx, journal).await?;
    metrics::counter!("gpuaas_payments_succeeded_total").increment(1);
    Ok(moved)
}

/// What a bank took, by how a dispute stands.
fn taken(standing: DisputeStanding, amount: i64) -> i64 {
    match standing {
        DisputeStanding::Open | DisputeStanding::Lost => amount,
        DisputeStanding::Warned | DisputeStanding::Won => 0,
    }
}

async fn settle_disputes(
    tx: &mut Tx,
    held: &StoredPayment,
    mut row: Versioned<PaymentState>,
    disputes: &[ProviderDispute],
) -> Result<Versioned<PaymentState>, SettleError> {
    let payment = &held.payment;
    for dispute in disputes {
        if dispute.amount.currency() != held.amount.currency() || dispute.amount.micros() <= 0 {
            let why = "a dispute of the payment is in another currency";
            tracing::error!(payment = %payment.id, dispute = dispute.id, why, "a dispute is not posted");
            store::set_last_error(tx, payment.id, Some(why)).await?;
            continue;
        }
        // Against what the books say, not against what the provider said last:
        // amounts change while a dispute is open, and one that was won may open again.
        let booked = store::taken(tx, &payment.provider, &dispute.id).await?;
        let word = store::word(dispute.standing);
        let now = taken(dispute.standing, dispute.amount.micros());
        let moves = booked.moves + i32::from(now != booked.taken);
        let after = store::DisputeWithdrawals { taken: now, moves };
        store::dispute(tx, payment, &dispute.id, dispute.amount, dispute.standing, after).await?;
        if now != booked.taken {
            let money = Money::from_micros(booked.taken - now, dispute.amount.currency());
            let journal = Journal::between(payment.organization_id, "dispute", AccountKind::Disputes, "", money)?
                .by(tx.actor.as_str(), format!("{}: {word}", payment.id))
                .once(format!("{}:{}:{moves}", payment.provider, dispute.id));
            ledger::post(tx, journal).await?;
        }
    }
    for event in steps(row.state, disputes) {
        row = transition::<PaymentLifecycle>(tx, row, *event, "").await?;
    }
    Ok(row)
}

/// The moves that lead to what the disputes say.
fn steps(state: PaymentState, disputes: &[ProviderDispute]) -> &'static [Event] {
    let is_any = |standing| disputes.iter().any(|it| it.standing == standing);
    let target = if is_any(DisputeStanding::Open) {
        Disputed
    } else if is_any(DisputeStanding::Lost) {
        ChargedBack
    } else {
        Succeeded
    };
    match (state, target) {
        (Succeeded | ChargedBack, Disputed) => &[Event::DisputeOpened],
        (Succeeded, ChargedBack) => &[Event::DisputeOpened, Event::DisputeLost],
        (Disputed, ChargedBack) => &[Event::DisputeLost],
        (Disputed, Succeeded) => &[Event::DisputeWon],
        (ChargedBack, Succeeded) => &[Event::DisputeOpened, Event::DisputeWon],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use kernel::{lifecycle::Lifecycle, money::Currency};

    use super::*;

    fn usd(micros: i64) -> Money {
        Money::from_micros(micros, Currency::USD)
    }

    fn reading(checkout: CheckoutStatus, intent: Option<(IntentStatus, Money, Option<String>)>) -> Reading {
        let checkout = Checkout { id: "cs_1".into(), status: checkout, url: None, intent: None };
        let intent = intent.map(|(status, received, payment)| Intent { id: "pi_1".into(), status, received, payment });
        Reading { checkout: Some(checkout), intent, ..Reading::default() }
    }

    #[test]
    fn only_money_that_arrived_is_posted() {
        let id = PaymentId::generate();
        let asked = usd(50_000_000);
        let of = |checkout, intent| judge(id, asked, &reading(checkout, intent));
        let arrived = Outcome::Arrived { intent: "pi_1".into(), amount: asked };
        let named = Some(id.to_string());
        use CheckoutStatus::{Complete, Expired, Open};
        use IntentStatus::{Canceled, NeedsPayer, Processing, Succeeded};
        assert_eq!(of(Complete, Some((Succeeded, asked, named.clone()))), arrived);
        assert_eq!(of(Expired, Some((Succeeded, asked, None))), arrived, "money is money");
        assert_eq!(of(Open, None), Outcome::Waits);
        assert_eq!(of(Complete, None), Outcome::Waits);
        assert_eq!(of(Open, Some((NeedsPayer, usd(0), None))), Outcome::Waits, "the payer may try again");
        assert_eq!(of(Complete, Some((Processing, usd(0), None))), Outcome::Waits);
        assert!(matches!(of(Complete, Some((NeedsPayer, usd(0), None))), Outcome::Failed(_)));
        assert!(matches!(of(Open, Some((Canceled, usd(0), None))), Outcome::Canceled(_)));
        assert!(matches!(of(Expired, None), Outcome::Canceled(_)));
        let euro = Money::from_micros(50_000_000, Currency::EUR);
        let other = Some(PaymentId::generate().to_string());
        for (received, payment) in [(euro, named.clone()), (asked, other), (usd(0), named)] {
            assert!(matches!(of(Complete, Some((Succeeded, received, payment))), Outcome::Wrong(_)));
        }
        assert!(matches!(judge(id, asked, &Reading::default()), Outcome::Wrong(_)));
    }

    #[test]
    fn every_way_of_disputes_is_made_of_legal_moves() {
        let dispute = |standing| ProviderDispute { id: "dp_1".into(), intent: None, amount: usd(1), standing };
        let all = [DisputeStanding::Warned, DisputeStanding::Open, DisputeStanding::Won, DisputeStanding::Lost];
        for state in [Succeeded, Disputed, ChargedBack] {
            for standing in all {
                let end = steps(state, &[dispute(standing)])
                    .iter()
                    .fold(state, |from, event| PaymentLifecycle::next(from, *event).unwrap());
                let wanted = match standing {
                    DisputeStanding::Open => Disputed,
                    DisputeStanding::Lost => ChargedBack,
                    DisputeStanding::Warned | DisputeStanding::Won => Succeeded,
                };
                assert_eq!(end, wanted, "{state:?} {standing:?}");
            }
        }
    }
}
