//! Tells the provider of a payment, once, and reads back what became of it.
//! It is visited when somebody asked for it, when the provider told something,
//! and now and then while nobody paid.

use std::{sync::Arc, time::Duration};

use contract::{Timestamp, payments::PaymentState};
use kernel::{
    Tx,
    lifecycle::{Lifecycle, transition},
    work::{Next, Reconciler},
};
use uuid::Uuid;

use super::{
    in_full,
    lifecycle::{Event, PaymentLifecycle},
    settle::{self, Reading, SettleError},
    store::{self, StoredPayment},
};
use platform::{
    policies::{Policies, settings},
    ports::payments::{Checkout, CheckoutOrder, IntentStatus, PaymentError, PaymentProvider},
};

pub struct PaymentReconciler {
    pub provider: Option<Arc<dyn PaymentProvider>>,
    pub policies: Policies,
}

pub struct Snapshot {
    held: StoredPayment,
    now: Timestamp,
}

#[derive(Debug)]
pub enum Observation {
    /// There is no provider to ask, or another one than it was made with.
    NobodyToAsk,
    Opened(Checkout),
    Read(Box<Reading>),
    /// A second page could be opened now where there may be a first one.
    TooLate,
    Failed(PaymentError),
}

// bound: providers know a name for a day; after that the same order would open a second page
const NAMES_HOLD: Duration = Duration::from_secs(20 * 3600);

impl Reconciler for PaymentReconciler {
    const KIND: &'static str = PaymentLifecycle::NAME;
    const LANE: kernel::work::Lane = platform::lanes::MONEY;
    type Snapshot = Snapshot;
    type Observation = Observation;
    type Verdict = Observation;
    type Error = SettleError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Snapshot>, SettleError> {
        let now = kernel::clock::now(tx).await?;
        Ok(store::get(tx, id).await?.map(|held| Snapshot { held, now }))
    }

    async fn act(&self, seen: &Snapshot) -> Result<Observation, SettleError> {
        let held = &seen.held;
        let Some(provider) = self.provider.as_ref().filter(|it| it.name() == held.payment.provider) else {
            return Ok(Observation::NobodyToAsk);
        };
        if held.checkout.is_none() {
            let age = seen.now.duration_since(held.payment.created_at);
            // One that is over opens no page, however it is woken.
            if held.state != PaymentState::Created || Duration::try_from(age).is_ok_and(|it| it > NAMES_HOLD) {
                return Ok(Observation::TooLate);
            }
            let order = CheckoutOrder { payment: held.payment.id.to_string(), amount: held.amount };
            return Ok(provider.open(&order).await.map_or_else(Observation::Failed, Observation::Opened));
        }
        Ok(match read(provider.as_ref(), held).await {
            Ok(reading) => Observation::Read(Box::new(reading)),
            Err(error) => Observation::Failed(error),
        })
    }

    fn decide(&self, _: &Snapshot, found: Observation) -> Observation {
        found
    }

    async fn apply(&self, tx: &mut Tx, seen: Snapshot, found: Observation) -> Result<Next, SettleError> {
        // Refunds count what is left of it: they wait until this is written.
        let Some(held) = store::lock(tx, seen.held.payment.id.uuid()).await? else { return Ok(Next::Done) };
        let id = held.payment.id;
        if held.payment.version != seen.held.payment.version {
            return Ok(Next::After(Duration::ZERO));
        }
        let state = match found {
            Observation::NobodyToAsk => {
                store::set_last_error(
                    tx,
                    id,
                    Some("the payment provider is no longer configured: see `stripe.secret_key`"),
                )
                .await?;
                held.state
            }
            Observation::TooLate if held.state == PaymentState::Created => {
                give_up(tx, &held, Event::Canceled, "the provider could not be reached in time").await?
            }
            Observation::TooLate => held.state,
            Observation::Opened(checkout) => {
                store::opened(tx, id, &checkout.id, checkout.url.as_deref()).await?;
                match held.state {
                    PaymentState::Created => {
                        transition::<PaymentLifecycle>(tx, held.versioned(), Event::Opened, "").await?.state
                    }
                    other => other,
                }
            }
            Observation::Read(reading) => settle::settle(tx, &held, &reading).await?,
            Observation::Failed(error) => return self.note_error(tx, &held, &error).await,
        };
        Ok(match state {
            PaymentState::Created | PaymentState::Pending => {
                Next::After(settings::minutes(self.policies.number(settings::PAYMENTS_LOOK_MINUTES)))
            }
            PaymentState::Succeeded
            | PaymentState::Failed
            | PaymentState::Canceled
            | PaymentState::Disputed
            | PaymentState::ChargedBack => Next::Done,
        })
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::underway(tx, limit).await
    }
}

impl PaymentReconciler {
    async fn note_error(&self, tx: &mut Tx, held: &StoredPayment, error: &PaymentError) -> Result<Next, SettleError> {
        let (id, why) = (held.payment.id, in_full(error));
        if error.is_final() && held.state == PaymentState::Created {
            give_up(tx, held, Event::Failed, &why).await?;
            return Ok(Next::Done);
        }
        if held.payment.last_error.as_deref() != Some(why.as_str()) {
            tracing::warn!(payment = %id, why, "the payment provider could not be reached; trying again");
        }
        store::set_last_error(tx, id, Some(&why)).await?;
        let rest = settings::seconds(self.policies.number(settings::PAYMENTS_RETRY_SECONDS));
        Ok(Next::After(match error {
            PaymentError::Busy { after: Some(after) } => rest.max(*after),
            _ => rest,
        }))
    }
}

async fn give_up(tx: &mut Tx, held: &StoredPayment, event: Event, why: &str) -> Result<PaymentState, SettleError> {
    store::set_last_error(tx, held.payment.id, Some(why)).await?;
    Ok(transition::<PaymentLifecycle>(tx, held.versioned(), event, why).await?.state)
}

/// Reads what the provider has of a payment: only what our own page led to.
async fn read(provider: &dyn PaymentProvider, held: &StoredPayment) -> Result<Reading, PaymentError> {
    let mut reading = Reading::default();
    let mut intent = held.intent.clone();
    if let Some(checkout) = held.checkout.as_ref().filter(|_| intent.is_none()) {
        reading.checkout = provider.checkout(checkout).await?;
        intent = reading.checkout.as_ref().and_then(|it| it.intent.clone());
    }
    let Some(intent) = intent else { return Ok(reading) };
    reading.intent = provider.intent(&intent).await?;
    if reading.intent.as_ref().is_some_and(|it| it.status == IntentStatus::Succeeded) {
        reading.refunds = provider.refunds(&intent).await?;
        reading.disputes = provider.disputes(&intent).await?;
    }
    Ok(reading)
}
