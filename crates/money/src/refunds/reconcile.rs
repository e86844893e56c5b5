//! Tells the provider of a refund, once. What becomes of it is read with the
//! payment that it is of.

use std::sync::Arc;

use contract::{id::RefundId, refunds::RefundState};
use kernel::{
    Tx,
    lifecycle::{Lifecycle, transition},
    work::{self, Next, ReconcileError, Reconciler},
};
use uuid::Uuid;

use super::{
    lifecycle::{Event, RefundLifecycle},
    store::{self, StoredRefund},
};
use crate::payments::{self, in_full};
use platform::{
    policies::{Policies, settings},
    ports::payments::{PaymentError, PaymentProvider, ProviderRefund, RefundOrder},
};

pub struct RefundReconciler {
    pub provider: Option<Arc<dyn PaymentProvider>>,
    pub policies: Policies,
}

pub struct Snapshot {
    held: StoredRefund,
    intent: Option<String>,
}

pub enum Observation {
    NobodyToAsk,
    Accepted(ProviderRefund),
    Failed(PaymentError),
}

impl Reconciler for RefundReconciler {
    const KIND: &'static str = RefundLifecycle::NAME;
    const LANE: kernel::work::Lane = platform::lanes::MONEY;
    type Snapshot = Snapshot;
    type Observation = Observation;
    type Verdict = Observation;
    type Error = ReconcileError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Snapshot>, ReconcileError> {
        let Some(held) = store::get(tx, id).await?.filter(|it| it.state == RefundState::Requested) else {
            return Ok(None);
        };
        let payment = payments::get(tx, held.refund.payment_id.uuid()).await?;
        Ok(Some(Snapshot { held, intent: payment.and_then(|it| it.intent) }))
    }

    async fn act(&self, seen: &Snapshot) -> Result<Observation, ReconcileError> {
        let (Some(provider), Some(intent)) = (&self.provider, &seen.intent) else {
            return Ok(Observation::NobodyToAsk);
        };
        Ok(ask(provider.as_ref(), seen.held.refund.id, intent, &seen.held)
            .await
            .map_or_else(Observation::Failed, Observation::Accepted))
    }

    fn decide(&self, _: &Snapshot, found: Observation) -> Observation {
        found
    }

    async fn apply(&self, tx: &mut Tx, seen: Snapshot, found: Observation) -> Result<Next, ReconcileError> {
        let id = seen.held.refund.id;
        // The payment's own visits move refunds too: they take turns.
        payments::lock(tx, seen.held.refund.payment_id.uuid()).await?;
        let Some(held) = store::get(tx, id.uuid()).await?.filter(|it| it.state == RefundState::Requested) else {
            return Ok(Next::Done);
        };
        let rest = settings::seconds(self.policies.number(settings::PAYMENTS_RETRY_SECONDS));
        match found {
            Observation::Accepted(refund) => {
                store::accepted(tx, id, &refund.id).await?;
                transition::<RefundLifecycle>(tx, held.versioned(), Event::Accepted, "").await?;
                work::wake(tx, crate::payments::lifecycle::PaymentLifecycle::NAME, held.refund.payment_id.uuid());
                Ok(Next::Done)
            }
            Observation::Failed(error) if error.is_final() => {
                let why = in_full(&error);
                store::set_last_error(tx, id, &why).await?;
                transition::<RefundLifecycle>(tx, held.versioned(), Event::Failed, &why).await?;
                Ok(Next::Done)
            }
            Observation::Failed(error) => {
                let why = in_full(&error);
                tracing::warn!(refund = %id, why, "the payment provider could not be reached; trying again");
                store::set_last_error(tx, id, &why).await?;
                Ok(Next::After(rest))
            }
            Observation::NobodyToAsk => {
                store::set_last_error(tx, id, "the payment provider is no longer configured: see `stripe.secret_key`")
                    .await?;
                Ok(Next::After(rest))
            }
        }
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::requested(tx, limit).await
    }
}

/// Looks first: providers know a name for a day only, and this may be later.
async fn ask(
    provider: &dyn PaymentProvider,
    id: RefundId,
    intent: &str,
    held: &StoredRefund,
) -> Result<ProviderRefund, PaymentError> {
    let name = id.to_string();
    let made = provider.refunds(intent).await?.into_iter().find(|it| it.refund.as_ref() == Some(&name));
    match made {
        Some(made) => Ok(made),
        None => provider.refund(&RefundOrder { refund: name, intent: intent.to_owned(), amount: held.amount }).await,
    }
}
