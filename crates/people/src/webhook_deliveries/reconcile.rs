//! Sends deliveries, again and more slowly while they fail, until they arrive
//! or policy gives them up.

use std::{sync::Arc, time::Duration};

use contract::{Timestamp, webhook_deliveries::WebhookDeliveryState as State, webhooks::WebhookState};
use kernel::{
    Tx,
    lifecycle::{Lifecycle, TransitionError, transition},
    secrets::{Keyring, SecretsError},
    work::{self, Next, Reconciler},
};
use uuid::Uuid;

use super::{
    lifecycle::{Event, WebhookDeliveryLifecycle},
    send::{SendError, Sender},
    store::{self, Attempt, StoredDelivery},
};
use crate::webhooks::{self, Secrets, Target};
use platform::policies::{Policies, settings};

pub struct DeliveryReconciler {
    pub sender: Sender,
    pub keyring: Arc<Keyring>,
    pub policies: Policies,
}

#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    #[error(transparent)]
    Transition(#[from] TransitionError),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("the secret of a webhook cannot be decrypted: configure the key that sealed it, see `secrets.keys`")]
    Sealed(#[from] SecretsError),
}

/// A delivery, where it goes, and whether it may be sent now.
pub struct Snapshot {
    held: StoredDelivery,
    target: Target,
    secrets: Secrets,
    is_behind: bool,
    now: Timestamp,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Observation {
    NotTried,
    /// As many calls to this webhook are under way as it may have.
    Busy,
    Tried(Result<u16, SendError>),
}

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    Wait(Duration),
    /// Wait as long as the line before it may take.
    Queue,
    GiveUp(&'static str),
    Arrived(u16),
    Failed(SendError),
}

// bound: how soon a delivery looks again that waits for another; it is woken, too
const WAIT: Duration = Duration::from_secs(1);
// bound: how many of a line are counted, and what each adds to the wait
const LINE: i32 = 1_000;
const LINE_STEP: Duration = Duration::from_millis(10); // bound: as above

impl Reconciler for DeliveryReconciler {
    const KIND: &'static str = WebhookDeliveryLifecycle::NAME;
    const LANE: kernel::work::Lane = platform::lanes::WEBHOOKS;
    type Snapshot = Snapshot;
    type Observation = Observation;
    type Verdict = Verdict;
    type Error = DeliveryError;

    async fn load(&self, tx: &mut Tx, id: Uuid) -> Result<Option<Snapshot>, DeliveryError> {
        let Some(held) = store::get(tx, id).await? else { return Ok(None) };
        let webhook = held.delivery.webhook_id.uuid();
        let Some(target) = webhooks::target(tx, webhook).await? else { return Ok(None) };
        let secrets = Secrets::open(&self.keyring, webhook, &target.secrets)?;
        let is_behind = held.delivery.attempts == 0 && store::is_behind(tx, &held).await?;
        let now = kernel::clock::now(tx).await?;
        Ok(Some(Snapshot { held, target, secrets, is_behind, now }))
    }

    async fn act(&self, seen: &Snapshot) -> Result<Observation, DeliveryError> {
        if obstacle(seen).is_some() {
            return Ok(Observation::NotTried);
        }
        let Some(_turn) = self.sender.turn(seen.held.organization, seen.held.delivery.webhook_id) else {
            return Ok(Observation::Busy);
        };
        let outcome = self.sender.send(&seen.held, &seen.target.url, &seen.secrets, seen.now).await;
        let label = if outcome.is_ok() { "arrived" } else { "failed" };
        metrics::counter!("gpuaas_webhook_attempts_total", "outcome" => label).increment(1);
        Ok(Observation::Tried(outcome))
    }

    fn decide(&self, seen: &Snapshot, found: Observation) -> Verdict {
        match (obstacle(seen), found) {
            (Some(verdict), _) => verdict,
            (None, Observation::NotTried | Observation::Busy) => Verdict::Queue,
            (None, Observation::Tried(Ok(status))) => Verdict::Arrived(status),
            (None, Observation::Tried(Err(error))) => Verdict::Failed(error),
        }
    }

    async fn apply(&self, tx: &mut Tx, seen: Snapshot, verdict: Verdict) -> Result<Next, DeliveryError> {
        let delivery = &seen.held.delivery;
        match verdict {
            Verdict::Nothing => return Ok(Next::Done),
            Verdict::Wait(rest) => return Ok(Next::After(rest)),
            Verdict::Queue => {
                let line = store::untried(tx, delivery.webhook_id, LINE).await?;
                return Ok(Next::After(WAIT + LINE_STEP * u32::try_from(line).unwrap_or(0)));
            }
            Verdict::GiveUp(why) => {
                store::note_unsent(tx, delivery.id, why).await?;
                transition::<WebhookDeliveryLifecycle>(tx, seen.held.versioned(None)?, Event::Exhausted, why).await?;
            }
            Verdict::Arrived(status) => {
                store::record(tx, delivery.id, Attempt { status: Some(status), error: None, again: None }).await?;
                transition::<WebhookDeliveryLifecycle>(tx, seen.held.versioned(None)?, Event::Delivered, "").await?;
                webhooks::arrived(tx, delivery.webhook_id.uuid()).await?;
            }
            Verdict::Failed(error) => {
                let again = self.failed(tx, &seen.held, &error).await?;
                self.wake_next(tx, &seen.held).await?;
                return Ok(again);
            }
        }
        self.wake_next(tx, &seen.held).await?;
        Ok(Next::Done)
    }

    async fn overdue(&self, tx: &mut Tx, limit: i64) -> sqlx::Result<Vec<Uuid>> {
        store::overdue(tx, limit).await
    }
}

/// Why a delivery is not sent now, if it is not.
fn obstacle(seen: &Snapshot) -> Option<Verdict> {
    let delivery = &seen.held.delivery;
    if delivery.state != State::Pending {
        return Some(Verdict::Nothing);
    }
    match seen.target.state {
        WebhookState::Active => (),
        WebhookState::Disabled if delivery.is_test => (),
        WebhookState::Disabled => return Some(Verdict::GiveUp("was not sent: the webhook is disabled")),
        WebhookState::Deleted => return Some(Verdict::GiveUp("was not sent: the webhook is deleted")),
    }
    let left = delivery.next_attempt_at.map(|it| it.duration_since(seen.now));
    match left.and_then(|it| Duration::try_from(it).ok()) {
        Some(left) if !left.is_zero() => Some(Verdict::Wait(left)),
        _ if seen.is_behind => Some(Verdict::Queue),
        _ => None,
    }
}

impl DeliveryReconciler {
    async fn failed(&self, tx: &mut Tx, held: &StoredDelivery, error: &SendError) -> Result<Next, DeliveryError> {
        let (delivery, status) = (&held.delivery, error.status());
        let text = error.to_string();
        let attempts = u64::try_from(delivery.attempts).unwrap_or(0) + 1;
        if !delivery.is_test && attempts < self.policies.number(settings::WEBHOOK_ATTEMPTS) {
            let rest = self.rest(attempts);
            store::record(tx, delivery.id, Attempt { status, error: Some(&text), again: Some(rest) }).await?;
            return Ok(Next::After(rest));
        }
        store::record(tx, delivery.id, Attempt { status, error: Some(&text), again: None }).await?;
        transition::<WebhookDeliveryLifecycle>(tx, held.versioned(None)?, Event::Exhausted, &text).await?;
        if !delivery.is_test {
            webhooks::gave_up(tx, &self.policies, delivery.webhook_id.uuid(), &text).await?;
        }
        Ok(Next::Done)
    }

    /// The pause after so many failures: twice as long each time, up to a bound.
    fn rest(&self, failures: u64) -> Duration {
        let first = settings::seconds(self.policies.number(settings::WEBHOOK_RETRY_SECONDS));
        let most = settings::seconds(self.policies.number(settings::WEBHOOK_RETRY_MAX_SECONDS));
        let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
        first.saturating_mul(1 << doublings).min(most)
    }

    /// Whatever waited for this one's first turn has its own now.
    async fn wake_next(&self, tx: &mut Tx, held: &StoredDelivery) -> Result<(), DeliveryError> {
        if held.delivery.attempts == 0
            && let Some(next) = store::next_in_line(tx, held).await?
        {
            work::wake(tx, Self::KIND, next);
        }
        Ok(())
    }
}
