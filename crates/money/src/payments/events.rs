//! Finds out which payment a provider's event is about, and has it looked at.
//! What the event said is not believed, and so its order does not matter.

use std::sync::Arc;

use contract::id::PaymentId;
use kernel::{
    Tx,
    lifecycle::Lifecycle,
    work::{self, Next, ReconcileError, Reconciler},
};
use uuid::Uuid;

use super::{
    in_full,
    lifecycle::PaymentLifecycle,
    store::{self, StoredEvent},
};
use platform::{
    policies::{Policies, settings},
    ports::payments::PaymentProvider,
};

pub const KIND: &str = "payment_event";

pub struct PaymentEventReconciler {
    pub provider: Option<Arc<dyn PaymentProvider>>,
    pub policies: Policies,
}

pub struct Snapshot {
    event: StoredEvent,
    payment: Option<Uuid>,
}

pub enum Verdict {
    Payment(Uuid),
    Unknown,
    /// The provider could not be asked.
    Later(String),
}

impl Reconciler for PaymentEventReconciler {
    const KIND: &'static str = KIND;
    const LANE: kernel::work::Lane = platform::lanes::MONEY;
    type Snapshot = Snapshot;
    type Observation = Verdict;
    type Verdict = Verdict;
    type Error = ReconcileError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Snapshot>, ReconcileError> {
        let Some(event) = store::waiting(tx, id).await? else { return Ok(None) };
        let (intent, object) = (event.intent_id.as_deref(), event.object_id.as_deref());
        let payment = store::whose(tx, &event.provider, event.named, intent, object).await?;
        Ok(Some(Snapshot { event, payment }))
    }

    async fn act(&self, seen: &Snapshot) -> Result<Verdict, ReconcileError> {
        if let Some(payment) = seen.payment {
            return Ok(Verdict::Payment(payment));
        }
        // A refund or a dispute may be told before we know whose money it is.
        let (Some(provider), Some(intent)) = (&self.provider, &seen.event.intent_id) else {
            return Ok(Verdict::Unknown);
        };
        Ok(match provider.intent(intent).await {
            Ok(found) => {
                let name = found.and_then(|it| it.payment).and_then(|it| it.parse::<PaymentId>().ok());
                name.map_or(Verdict::Unknown, |it| Verdict::Payment(it.uuid()))
            }
            Err(error) if error.is_final() => Verdict::Unknown,
            Err(error) => Verdict::Later(in_full(&error)),
        })
    }

    fn decide(&self, _: &Snapshot, found: Verdict) -> Verdict {
        found
    }

    async fn apply(&self, tx: &mut Tx, seen: Snapshot, verdict: Verdict) -> Result<Next, ReconcileError> {
        let event = &seen.event;
        let payment = match verdict {
            Verdict::Later(why) => {
                tracing::warn!(event = %event.id, why, "the payment provider could not be reached; trying again");
                return Ok(Next::After(settings::seconds(self.policies.number(settings::PAYMENTS_RETRY_SECONDS))));
            }
            // It may name a payment that is not here.
            Verdict::Payment(named) => store::get(tx, named).await?.map(|it| it.payment.id.uuid()),
            Verdict::Unknown => None,
        };
        store::processed(tx, event.id, payment).await?;
        match payment {
            Some(payment) => work::wake(tx, PaymentLifecycle::NAME, payment),
            None => {
                metrics::counter!("gpuaas_payment_events_unknown_total").increment(1);
                tracing::info!(event = %event.id, kind = event.kind, object = event.object_id,
                    "a provider's event refers to no object of this platform; it is stored");
            }
        }
        Ok(Next::Done)
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::unprocessed(tx, limit).await
    }
}
